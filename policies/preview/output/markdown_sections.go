package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// section is one part of the details.
type section struct {
	// title is what it is called when it is left out.
	title string
	body  string
}

// gravest is how many CRDs come before everything else.
const gravest = 2

// sections are the details, the most important first.
func (o MarkdownOptions) sections(r preview.Report) []section {
	all := o.findings(r)
	crds := gravestFirst(r)
	grave := slices.IndexFunc(crds, func(c preview.ChangedCRD) bool { return worst(c) <= preview.Warned.Weight() })
	if grave < 0 {
		grave = len(crds)
	}
	grave = min(grave, gravest) // what is rolled out when is more than the same change of one more CRD
	for _, crd := range crds[:grave] {
		all = append(all, o.changes(crd)...)
	}
	for _, c := range r.Clusters {
		all = append(all, o.rollout(r, c)...)
	}
	all = append(all, o.manifests(r)...)
	for _, crd := range crds[grave:] {
		all = append(all, o.changes(crd)...)
	}
	return append(all, o.stored(r)...)
}

// folded is a section. Its summary is HTML, its content Markdown.
func folded(title, summary, content string) []section {
	return []section{{title: title, body: "<details><summary>" + summary + "</summary>\n\n" + strings.TrimRight(content, "\n") + "\n\n</details>\n"}}
}

func (o MarkdownOptions) findings(r preview.Report) []section {
	if len(r.Findings) == 0 {
		return nil
	}
	said := newItems(sectionBytes, sectionLines)
	for _, g := range findingsTogether(r.Findings) {
		f, b := g.one, badgeOfSeverity(g.one.Severity)
		line := fmt.Sprintf("- %s %s **%s**", b.Symbol, b.Word, text(f.Rule, nameWidth))
		if whose := whose(g); whose != "" {
			line += " (" + text(whose, sentenceWidth) + ")"
		}
		if len(g.places) > 0 {
			line += " at " + g.at(o.place)
		}
		line += ": " + text(f.Why, sentenceWidth) + "."
		if fix := plain(f.Remediation); fix != "" {
			line += " To fix it: " + text(fix, sentenceWidth) + "."
		}
		said.add(line)
	}
	return folded("findings", "Findings: "+tally(severitiesOf(r.Findings)), said.String()+said.more("finding", o))
}

func (o MarkdownOptions) changes(crd preview.ChangedCRD) []section {
	if len(crd.Changes) == 0 {
		return nil
	}
	var content strings.Builder
	for _, g := range byVersion(crd.Changes) {
		t := newTable(sectionBytes-content.Len(), sectionLines-strings.Count(content.String(), "\n"), "Severity", "What", "Field", "Base", "Head", "What it means")
		for _, c := range g.Shown() {
			b := badgeOfSeverity(c.Severity)
			t.add(b.Symbol+" "+b.Word, text(string(c.Rule), nameWidth), CodeSpan(c.Field, valueWidth),
				CodeSpan(c.From, valueWidth), CodeSpan(c.To, valueWidth), text(c.Why, sentenceWidth))
		}
		content.WriteString("**" + text(g.Title(), nameWidth) + "**\n\n" + t.String() + t.more("change", o) + "\n")
		if more := g.More(); more != "" {
			content.WriteString(more + "; the JSON report has them all\n\n")
		}
		if content.Len() > sectionBytes || strings.Count(content.String(), "\n") > sectionLines {
			content.WriteString("and more versions that do not fit here\n")
			break
		}
	}
	return folded("the changes of "+CodeSpan(crd.Name, nameWidth), "Changes of "+htmlCode(crd.Name)+": "+tally(severitiesOfChanges(crd.Changes)), content.String())
}

func (o MarkdownOptions) rollout(r preview.Report, c preview.Cluster) []section {
	waves := timeline(r, c)
	if len(waves) == 0 {
		return nil
	}
	t := newTable(sectionBytes, sectionLines, "Order", "Step", "Waits for", "What is applied")
	for _, w := range waves {
		for _, s := range w.Steps {
			t.add(fmt.Sprint(w.Order), text(s.Title(), nameWidth), text(s.Waits(), nameWidth), o.applied(s))
		}
	}
	return folded("the roll-out in "+text(clusterName(c.Name), nameWidth), "Roll-out in "+htmlCode(clusterName(c.Name)), t.String()+t.more("step", o))
}

// applied says in one cell what a step applies.
func (o MarkdownOptions) applied(s step) string {
	const most = 5
	var said []string
	for _, i := range s.Items[:min(most, len(s.Items))] {
		one := i.Label() + " " + CodeSpan(i.Name, nameWidth)
		if about := i.About(); about != "" {
			one += " " + text(about, sentenceWidth)
		}
		if waits := i.Waits(); waits != "" {
			one += ": **" + text(waits, sentenceWidth) + "**"
		}
		said = append(said, one)
	}
	if others := s.Others + max(0, len(s.Items)-most); others > 0 {
		said = append(said, count(others, "other object"))
	}
	return strings.Join(said, "<br>")
}

func (o MarkdownOptions) manifests(r preview.Report) []section {
	if len(r.Manifests) == 0 {
		return nil
	}
	t := newTable(sectionBytes, sectionLines, "Where", "Object", "Written at", "Rewritten by")
	for _, m := range r.Manifests {
		t.add(o.place(m.Place), text(m.Object, nameWidth), CodeSpan(m.Version, nameWidth), rewriter(m))
	}
	return folded("the manifests at versions that leave", "Manifests still written at a version that leaves: "+grouped(int64(len(r.Manifests))),
		t.String()+t.more("manifest", o))
}

// rewriter says who can rewrite a manifest.
func rewriter(m preview.Manifest) string {
	if m.Rewritable {
		return "moult rewrite"
	}
	return "a person"
}

// stored is the evidence: what each cluster said.
func (o MarkdownOptions) stored(r preview.Report) []section {
	t := newTable(sectionBytes, sectionLines, "CRD", "Cluster", "storedVersions", "Objects", "Proved", "Gate in the cluster")
	seen := 0
	for _, row := range rows(r) {
		if len(row.in.StoredVersions) == 0 && row.in.Objects == nil && row.in.Gate == "" {
			continue
		}
		seen++
		t.add(CodeSpan(row.crd.Name, nameWidth), text(row.cluster(), nameWidth), codes(row.in.StoredVersions, 6),
			objects(row.in), map[bool]string{true: "yes", false: "no"}[row.in.Proved], text(gate(row.in), nameWidth))
	}
	if seen == 0 {
		return nil
	}
	return folded("what the clusters store", "What the clusters store", t.String()+t.more("row", o))
}

func objects(in preview.InCluster) string {
	if in.Objects == nil {
		return "not known"
	}
	return grouped(*in.Objects)
}

// gate is the VersionRemoval that is in the cluster already.
func gate(in preview.InCluster) string {
	switch {
	case in.Gate == "":
		return "none"
	case in.GateReady:
		return plain(in.Gate) + ", Ready"
	}
	return plain(in.Gate) + ", not Ready"
}

// leftOutBytes and leftOutLines are room for leftOut.
const (
	leftOutBytes = 4_000
	leftOutLines = 2
)

// leftOut names the details that did not fit.
func (o MarkdownOptions) leftOut(dropped []section) string {
	if len(dropped) == 0 {
		return ""
	}
	titles := words.Of(dropped, func(s section) string { return s.title })
	said := "\nLeft out, as a comment may not be longer: " + words.Few(titles, 4) + "."
	if full := o.full(); full != "" {
		said += " All of it is in " + full + "."
	}
	return said + "\n"
}
