// The switch between light and dark, and the search. Nothing is asked of another server.
const page = document.documentElement;
try { page.dataset.theme = localStorage.theme || ""; } catch {} // before the first paint

document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").onclick = () => {
    const dark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    page.dataset.theme = dark ? "light" : "dark";
    try { localStorage.theme = page.dataset.theme; } catch {}
  };

  const input = document.getElementById("search"), list = document.getElementById("found");
  const source = document.querySelector("link[rel=search]").href;
  let index;

  // A section is found if it has every word. A heading counts ten times as much as the text, and the order of
  // the navigation decides between equals.
  const find = async () => {
    const sections = await (index ??= fetch(source).then(answer => answer.json()));
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length === 0 ? [] : sections.map(section => {
      const head = (section.page + " " + section.head).toLowerCase(), text = section.text.toLowerCase();
      const scores = words.map(word => 10 * head.includes(word) + Math.min(3, text.split(word).length - 1));
      return {section, score: Math.min(...scores) && scores.reduce((a, b) => a + b)};
    }).filter(each => each.score).sort((a, b) => b.score - a.score).slice(0, 10);
    list.replaceChildren(...found.map(({section}) => {
      const link = document.createElement("a"), head = document.createElement("b"), text = document.createElement("span");
      const at = Math.max(0, section.text.toLowerCase().indexOf(words[0]) - 40);
      link.href = new URL(section.url, source);
      head.textContent = section.page === section.head ? section.page : section.page + " › " + section.head;
      text.textContent = (at ? "…" : "") + section.text.slice(at, at + 140);
      link.append(head, text);
      return link;
    }));
    if (words.length && !found.length) list.textContent = "No section has all of these words.";
    list.hidden = !words.length;
  };
  input.oninput = find;
  input.onkeydown = event => {
    if (event.key === "Enter") list.querySelector("a")?.click();
    if (event.key === "Escape") { input.value = ""; find(); }
  };
  list.onclick = () => { list.hidden = true; };
  document.addEventListener("keydown", event => {
    if (event.key === "/" && event.target === document.body) { event.preventDefault(); input.focus(); }
  });
});
