package ci_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const bot = "github-actions[bot]"

// gitHub answers as the API does.
func gitHub(t *testing.T) *host {
	t.Helper()
	return open(t, func(h *host, w http.ResponseWriter, r *http.Request) {
		said := struct{ Body string }{}
		if r.Method != http.MethodGet {
			if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
				answer(w, http.StatusBadRequest, map[string]any{"message": "Problems parsing JSON"})
				return
			}
		}
		show := func(c remark) map[string]any {
			return map[string]any{"id": c.id, "body": c.body, "user": map[string]any{"login": c.author, "id": 1}, "html_url": "the comment"}
		}
		switch route := r.Method + " " + r.URL.Path; {
		case route == "GET /repos/example/fleet/issues/7/comments":
			list := []any{}
			for _, c := range h.page(r) {
				list = append(list, show(c))
			}
			answer(w, http.StatusOK, list)
		case route == "POST /repos/example/fleet/issues/7/comments":
			answer(w, http.StatusCreated, show(h.add(bot, said.Body)))
		case strings.HasPrefix(route, "PATCH /repos/example/fleet/issues/comments/"):
			for i, c := range h.remarks {
				if strings.HasSuffix(route, "/"+jsonNumber(c.id)) {
					h.remarks[i].body = said.Body
					answer(w, http.StatusOK, show(h.remarks[i]))
					return
				}
			}
			fallthrough
		default:
			answer(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
		}
	})
}

func jsonNumber(n int) string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func onGitHub(h *host) map[string]string {
	return map[string]string{"GITHUB_API_URL": h.URL, "GITHUB_REPOSITORY": "example/fleet", "PULL_REQUEST": "7", "GITHUB_TOKEN": "s3cret"}
}

func TestGitHubGetsOneCommentThatIsUpdated(t *testing.T) {
	for name, others := range map[string]int{"nobody else has said anything": 0, "exactly a page of others": 100, "several pages of others": 250} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := gitHub(t)
			h.talk(others)
			got := script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", report))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(h.bodies(bot)).To(Equal([]string{report}))
			g.Expect(h.tokens).To(HaveEach("Bearer s3cret"))

			h.talk(others)
			second := strings.ReplaceAll(report, "Blocked", "Safe")
			got = script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", second))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(h.bodies(bot)).To(Equal([]string{second}), "the same comment says what is the case now")
			g.Expect(h.bodies("somebody")).To(HaveLen(2 * others))
			g.Expect(strings.Count(strings.Join(h.bodies("somebody"), ""), "I like")).To(Equal(2 * others))

			other := strings.ReplaceAll(report, "default", "another")
			got = script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", other))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(h.bodies(bot)).To(Equal([]string{second, other}), "another preview has a comment of its own")
		})
	}
}

func TestGitHubsOtherCommentsAreNotChanged(t *testing.T) {
	g := NewWithT(t)
	h := gitHub(t)
	h.add("mallory", report)
	h.add(bot, "> "+report)
	got := script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", report))
	g.Expect(got.code).To(BeZero(), got.errOut)
	g.Expect(h.asked).NotTo(ContainElement(HavePrefix("PATCH")))
	g.Expect(h.bodies(bot)).To(Equal([]string{"> " + report, report}))
}

func TestGitHubKeepsLineEndsOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	h := gitHub(t)
	h.add(bot, strings.ReplaceAll(report, "\n", "\r\n"))
	got := script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", report))
	g.Expect(got.code).To(BeZero(), got.errOut)
	g.Expect(h.bodies(bot)).To(Equal([]string{report}))
}

// A fork's job may read and not write.
func TestGitHubsForksGetASummary(t *testing.T) {
	for name, c := range map[string]struct {
		token  string
		refuse func(*http.Request) (int, string)
	}{
		"there is no token": {},
		"the token may only read": {"s3cret", func(r *http.Request) (int, string) {
			if r.Method == http.MethodGet {
				return 0, ""
			}
			return http.StatusForbidden, `{"message": "Resource not accessible by integration"}`
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := gitHub(t)
			h.refuse = c.refuse
			summary := filepath.Join(t.TempDir(), "summary")
			env := onGitHub(h)
			env["GITHUB_TOKEN"], env["GITHUB_STEP_SUMMARY"] = c.token, summary
			got := script(t, ".", "comment-github.sh", env, written(t, "preview.md", report))
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(got.out).To(HavePrefix("::notice::"))
			g.Expect(os.ReadFile(summary)).To(BeEquivalentTo(report))
		})
	}
}

func TestGitHubsFaultsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		code       int
		said, says string
	}{
		"it is down":           {http.StatusBadGateway, "<html>Unicorn!</html>", "GitHub answered 502 to GET "},
		"no such pull request": {http.StatusNotFound, `{"message": "Not Found"}`, ": Not Found"},
		"a wrong token":        {http.StatusUnauthorized, `{"message": "Bad credentials"}`, "GitHub answered 401 to GET"},
		"something else":       {http.StatusOK, `<html>log in</html>`, "is no list of comments"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := gitHub(t)
			h.refuse = func(*http.Request) (int, string) { return c.code, c.said }
			got := script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", report))
			g.Expect(got.code).To(Equal(1))
			g.Expect(got.errOut).To(And(HavePrefix("comment-github.sh: "), ContainSubstring(c.says)))
			g.Expect(got.errOut + got.out).NotTo(ContainSubstring("s3cret"))
		})
	}
	t.Run("it cannot be reached", func(t *testing.T) {
		g := NewWithT(t)
		h := gitHub(t)
		h.Close()
		got := script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", report))
		g.Expect(got.code).To(Equal(1))
		g.Expect(got.errOut).To(ContainSubstring("comment-github.sh: GitHub cannot be reached"))
	})
	t.Run("it takes no comment", func(t *testing.T) {
		g := NewWithT(t)
		h := gitHub(t)
		h.refuse = func(r *http.Request) (int, string) {
			if r.Method == http.MethodGet {
				return 0, ""
			}
			return http.StatusUnprocessableEntity, `{"message": "Body is too long"}`
		}
		got := script(t, ".", "comment-github.sh", onGitHub(h), written(t, "preview.md", report))
		g.Expect(got.code).To(Equal(1))
		g.Expect(got.errOut).To(ContainSubstring("GitHub answered 422 to POST " + h.URL + "/repos/example/fleet/issues/7/comments: Body is too long"))
	})
}
