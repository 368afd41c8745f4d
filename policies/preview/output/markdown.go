package output

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// MarkdownOptions are what a comment needs to know beyond the Report.
type MarkdownOptions struct {
	// Name distinguishes this comment from those of other previews on the same pull request; empty is "default".
	Name string
	// Full is where the whole report is to be found, an address or the name of an artifact.
	Full string
	// Links is where files can be read; without it, they are only named.
	Links Links
}

// CommentLimit is what a comment stays below, in bytes: GitHub takes 65,536 characters, and no count of characters is
// greater than that of bytes.
const CommentLimit = 65_000

// How much of the comment its parts may take at most, so that together they leave room for details.
const (
	tableBytes   = 24_000
	taskBytes    = 8_000
	sectionBytes = 12_000

	nameWidth     = 120 // characters of a name
	placeWidth    = 200
	linkBytes     = 1_000
	sentenceWidth = 300
	valueWidth    = 160
)

// How many lines a comment has at most, so that it can be read, without the empty ones. 35 are not folded, of which ten are always
// there or say what was left out, and 200 are all.
const (
	commentLines = 200
	tableLines   = 10
	taskLines    = 7
	sectionsMost = 8
	sectionLines = 40
)

// Markdown is the comment on a pull request: the verdict, a table of what stands in the way where, what to do next, and
// details to unfold. Its first line, a comment, is Marker, by which it is found again to be updated. If it gets too long,
// details are left out, the least important first, and the comment says which.
func Markdown(r preview.Report, o MarkdownOptions) string {
	head := Marker(o.Name) + "\n" + quietly(r) + headline(r) + "\n" + verdictTable(r, o) + "\n" + nextSteps(r, o)
	foot := o.footer(r)
	left := CommentLimit - len(head) - len(foot) - leftOutBytes - 1
	all := o.sections(r)
	kept := 0
	var details strings.Builder
	lines := strings.Count(head, "\n") + strings.Count(foot, "\n") + leftOutLines
	for _, s := range all {
		lines += strings.Count(s.body, "\n") + 1
		if details.Len()+len(s.body)+1 > left || lines > commentLines || kept == sectionsMost {
			break
		}
		details.WriteString("\n" + s.body)
		kept++
	}
	return head + details.String() + o.leftOut(all[kept:]) + foot
}

// Marker is the first line of the comment of that name.
func Marker(name string) string {
	name = notInMarker.ReplaceAllString(clip(plain(name), nameWidth), "-")
	return "<!-- moult preview: " + cmp.Or(severalDashes.ReplaceAllString(name, "-"), "default") + " -->"
}

// Quiet is the second line of a comment that no person has to be shown: no CRD changes, and nothing else is to be read.
const Quiet = "<!-- moult preview has nothing to say -->"

func quietly(r preview.Report) string {
	read := slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Severity != finding.Info })
	if len(r.CRDs) > 0 || r.Verdict != preview.Safe || read || len(r.Manifests) > 0 {
		return ""
	}
	return Quiet + "\n"
}

// notInMarker is what might be read as something else, and severalDashes what might end the comment.
var notInMarker, severalDashes = regexp.MustCompile(`[^A-Za-z0-9._/ -]+`), regexp.MustCompile(`-{2,}`)

func headline(r preview.Report) string {
	b := badgeOfVerdict(r.Verdict)
	said := fmt.Sprintf("## %s %s", b.Symbol, capital(b.Word))
	if sentence := plain(r.Sentence); sentence != "" {
		said += ": " + text(sentence, sentenceWidth)
	}
	return fmt.Sprintf("%s\n\n%s → %s: %s.\n", said, revision(r.Base), revision(r.Head), scope(r))
}

func revision(s string) string {
	if plain(s) == "" {
		return "(nothing)"
	}
	return CodeSpan(s, nameWidth)
}

// verdictTable has a row for all CRDs of which the same is to be said, and a column for clusters that have names. What to do
// stands below it, once.
func verdictTable(r preview.Report, o MarkdownOptions) string {
	all := rowsTogether(r)
	if len(all) == 0 {
		return ""
	}
	headings := []string{"CRD", "Cluster", "Removed", "Verdict", reasonsHeading(r, "Why")}
	named := slices.ContainsFunc(all, func(g rowGroup) bool { return !g.one.delivered || g.one.in.Cluster != "" })
	if !named {
		headings = slices.Delete(headings, 1, 2)
	}
	t := newTable(tableBytes, tableLines, headings...)
	for _, g := range all {
		b := g.one.badge()
		cells := []string{g.names(func(name string) string { return CodeSpan(name, nameWidth) }), text(g.where(), sentenceWidth),
			cmp.Or(codes(g.one.crd.Removed, 6), "–"), b.Symbol + " " + b.Word, sentences(g.one.reasons())}
		if !named {
			cells = slices.Delete(cells, 1, 2)
		}
		t.add(cells...)
	}
	return t.String() + t.more("row", o)
}

// reasons is the table's word on what stands in the way.
func (r row) reasons() []string {
	if r.delivered && r.in.Verdict == preview.Safe && len(r.inTheWay) == 0 {
		return []string{"nothing"}
	}
	return r.inTheWay
}

// sentences are at most three, in one cell.
func sentences(said []string) string {
	return cmp.Or(words.FewClauses(words.Of(said, func(s string) string { return text(s, sentenceWidth) }), 3), "–")
}

func nextSteps(r preview.Report, o MarkdownOptions) string {
	all := tasks(r)
	if len(all) == 0 {
		return "**What to do next:** " + nothingToDo(r) + "\n"
	}
	said := newItems(taskBytes, taskLines)
	for i, t := range all {
		line := fmt.Sprintf("%d. %s", i+1, text(capital(t.What), sentenceWidth))
		if whose := t.Whose(); whose != "" {
			line += " (" + text(whose, sentenceWidth) + ")"
		}
		for i, p := range t.places[:min(3, len(t.places))] {
			line += []string{": ", ", ", ", "}[i] + o.place(p)
		}
		if beyond := len(t.places) - 3; beyond > 0 {
			line += fmt.Sprintf(" and %d more", beyond)
		}
		said.add(line)
	}
	return "**What to do next**\n\n" + said.String() + said.more("task", o)
}

func (o MarkdownOptions) footer(r preview.Report) string {
	said := "\n<sub>moult preview"
	if full := o.full(); full != "" {
		said += " · the full report: " + full
	}
	for _, c := range r.Clusters {
		if c.Source == "" {
			continue
		}
		next := " · " + text(clusterName(c.Name), nameWidth) + ": " + text(c.Source, nameWidth) + taken(c)
		if len(said)+len(next) > 2_000 {
			said += " · …"
			break
		}
		said += next
	}
	return said + "</sub>\n"
}

func taken(c preview.Cluster) string {
	if c.TakenAt == nil {
		return ""
	}
	return c.TakenAt.UTC().Format(", 2006-01-02 15:04 UTC")
}

// full points to the whole report.
func (o MarkdownOptions) full() string {
	full := plain(o.Full)
	if len(full) <= linkBytes && linkable.MatchString(full) {
		return "<" + full + ">"
	}
	return CodeSpan(full, placeWidth)
}

var linkable = regexp.MustCompile(`^https?://[^\s<>]+$`)
