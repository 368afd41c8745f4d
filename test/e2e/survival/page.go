package survival

import (
	"fmt"
	"strings"
)

// Row is what was seen once.
type Row struct {
	// Tool, with its version, delivers the CRD, in the Mode.
	Tool, Mode string
	// Label tells how the label came onto the CRD.
	Label string
	// Done is what was done then.
	Done string
	// Survived: the label was on the CRD afterwards.
	Survived bool
	// Owner is whose field managers owned it then.
	Owner string
	// Said is what Moult had said of it before.
	Said string
}

// marks are the lines of the page between which a tool's table is written.
func marks(tool string) (begin, end string) {
	return "<!-- " + tool + ": the tests write from here (make label-survival) -->\n", "<!-- " + tool + ": to here. -->\n"
}

// Page is the page with the rows of one tool in place of those it has. Everything outside of the tool's two marks stays.
func Page(page, tool string, rows []Row) (string, error) {
	begin, end := marks(tool)
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the page lacks the lines %q and %q, between which the table is written", begin, end)
	}
	return before + begin + table(rows) + "\n" + end + after, nil
}

// table has the tool with its version above it.
func table(rows []Row) string {
	var out strings.Builder
	for i, row := range rows {
		if i == 0 {
			fmt.Fprintf(&out, "\n### %s\n\n| mode | the label | then | it survives | its owner at the end | Moult had said |\n|---|---|---|---|---|---|\n", row.Tool)
		}
		survives := "yes"
		if !row.Survived {
			survives = "**no**"
		}
		cells := []string{row.Mode, row.Label, row.Done, survives, row.Owner, row.Said}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
	}
	return out.String()
}
