package main

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
)

// row is what a pair of releases amounts to.
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

// table is Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| project | releases | CRDs | differ | versions +/−/flipped | fields +/− | defaults | errors | warnings | infos |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s → %s | %d | %d | %d / %d / %d | %d / %d | %d | %d | %d | %d |\n", r.project, r.from.version, r.to.version,
			r.crds, r.differ, r.added, r.removed, r.flipped, r.fieldsAdded, r.fieldsGone, r.defaulted, r.errors, r.warnings, r.infos)
	}
	return b.String()
}

// The table stands between these in docs/previews.md.
const (
	begin = "<!-- `make test-real ARGS=-write` writes this table -->\n"
	end   = "<!-- end of the table -->\n"
)

// replaced puts the table into a page; what was there is returned, too.
func replaced(page, with string) (was, page2 string, err error) {
	before, rest, ok := strings.Cut(page, begin)
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", fmt.Errorf("the page has no lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return was, before + begin + with + end + after, nil
}
