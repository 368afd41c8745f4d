package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// row is what the CRDs of a pair of releases amount to, compared one by one.
type row struct {
	pair
	crds, differ                       int
	added, removed, flipped            int // versions
	fieldsAdded, fieldsGone, defaulted int
	errors, warnings, infos            int
}

// count adds what one CRD has.
func (r *row) count(crd crddiff.Diff) {
	r.differ++
	for _, c := range crd.Changes {
		switch c.Severity {
		case finding.Error:
			r.errors++
		case finding.Warning:
			r.warnings++
		case finding.Info:
			r.infos++
		}
		switch c.Rule { //nolint:exhaustive // the others are only counted
		case crddiff.VersionAdded:
			r.added++
		case crddiff.VersionRemoved:
			r.removed++
		case crddiff.StorageFlipped:
			r.flipped++
		case crddiff.FieldAdded:
			r.fieldsAdded++
		case crddiff.FieldRemoved, crddiff.FieldLost:
			r.fieldsGone++
		case crddiff.DefaultAdded, crddiff.DefaultChanged, crddiff.DefaultRemoved:
			r.defaulted++
		}
	}
}

// table is one of the page's.
type table[R any] struct {
	// name stands in the line before it, and target is what writes it.
	name, target string
	// head is its first line, and row one of a result.
	head string
	row  func(R) string
}

var comparisons = table[result]{
	name: "what differs", target: "real",
	head: "| project | releases | CRDs | differ | versions +/−/flipped | fields +/− | defaults | errors | warnings | infos |",
	row: func(r result) string {
		return fmt.Sprintf("| %s | %s → %s | %d | %d | %d / %d / %d | %d / %d | %d | %d | %d | %d |", r.project, r.from.version, r.to.version,
			r.crds, r.differ, r.added, r.removed, r.flipped, r.fieldsAdded, r.fieldsGone, r.defaulted, r.errors, r.warnings, r.infos)
	},
}

var previews = table[result]{
	name: "previews", target: "real",
	head: "| project | releases | CRDs in files | verdict | blocked / unknown / warned | refused: fresh / aged | lines | time | memory |",
	row: func(r result) string {
		return fmt.Sprintf("| %s | %s → %s | %d | %s | %d / %d / %d | %d / %d | %d | %.1f s | %d MB |", r.project, r.from.version, r.to.version,
			r.answer.seen, r.answer.report.Verdict,
			r.judged(preview.Blocked), r.judged(preview.Unknown), r.judged(preview.Warned), r.refusedFresh(), r.refusedAged(),
			r.answer.visible, r.answer.took.Seconds(), r.answer.memory>>20)
	},
}

var tables = []table[result]{comparisons, previews}

// of is the table in Markdown.
func (t table[R]) of(results []R) string {
	var b strings.Builder
	b.WriteString(t.head + "\n" + strings.Repeat("|---", strings.Count(t.head, "|")-1) + "|\n")
	for _, r := range results {
		b.WriteString(t.row(r) + "\n")
	}
	return b.String()
}

// measured are the cells that are not the same twice.
var measured = regexp.MustCompile(`\| [0-9.]+ s \| \d+ MB \|\n`)

// lasting is a table without what varies.
func lasting(table string) string { return measured.ReplaceAllString(table, "|\n") }

// The line after each table.
const end = "<!-- end of the table -->\n"

// begin is the line before a table in its page.
func (t table[R]) begin() string {
	return fmt.Sprintf("<!-- `make %s ARGS=-write` writes this table: %s -->\n", t.target, t.name)
}

// replaced puts the table into a page; what was there is returned, too.
func (t table[R]) replaced(page, with string) (was, page2 string, err error) {
	before, rest, ok := strings.Cut(page, t.begin())
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", fmt.Errorf("the page has no lines %q and %q", strings.TrimSpace(t.begin()), strings.TrimSpace(end))
	}
	return was, before + t.begin() + with + end + after, nil
}
