package survival

import (
	"fmt"
	"strings"
)

// Row is what was seen once.
type Row struct {
	// Tool delivers the CRD, in the Mode.
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

// What is written stands between these two lines of the page.
const (
	begin = "<!-- The tests write from here (make label-survival) -->\n"
	end   = "<!-- to here. -->\n"
)

// Page is the page with the rows in place of those it has. Everything outside of the two marks stays.
func Page(page string, rows []Row) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the page lacks the lines %q and %q, between which the tables are written", begin, end)
	}
	return before + begin + tables(rows) + "\n" + end + after, nil
}

// tables are one for each tool, in the order of the rows.
func tables(rows []Row) string {
	var out strings.Builder
	tool := ""
	for _, row := range rows {
		if row.Tool != tool {
			tool = row.Tool
			fmt.Fprintf(&out, "\n### %s\n\n| mode | the label | then | it survives | its owner at the end | Moult had said |\n|---|---|---|---|---|---|\n", tool)
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
