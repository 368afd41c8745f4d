package output

import (
	"fmt"
	"strings"
)

// items are a list that stays below a number of bytes and of lines. Its first item is always there.
type items struct {
	out            strings.Builder
	budget, most   int
	shown, omitted int
}

func newItems(budget, most int) *items { return &items{budget: budget, most: most} }

func (l *items) add(line string) {
	if l.omitted > 0 || l.shown > 0 && (l.out.Len()+len(line) > l.budget || l.shown >= l.most) {
		l.omitted++
		return
	}
	l.out.WriteString(line + "\n")
	l.shown++
}

func (l *items) String() string { return l.out.String() }

// more says how many did not fit.
func (l *items) more(noun string, o MarkdownOptions) string {
	if l.omitted == 0 {
		return ""
	}
	said := fmt.Sprintf("\nand %s that do not fit here", count(l.omitted, "more "+noun))
	if l.omitted == 1 {
		said = fmt.Sprintf("\nand 1 more %s that does not fit here", noun)
	}
	if full := o.full(); full != "" {
		said += "; all are in " + full
	}
	return said + "\n"
}

// table is a Markdown table, whose items are its rows.
type table struct {
	*items
	columns int
}

func newTable(budget, most int, headings ...string) *table {
	t := &table{items: newItems(budget, most), columns: len(headings)}
	t.out.WriteString("| " + strings.Join(headings, " | ") + " |\n|" + strings.Repeat("---|", len(headings)) + "\n")
	return t
}

// add appends a row of cells that are escaped already. Cells that are missing stay empty.
func (t *table) add(cells ...string) {
	cells = append(cells, make([]string, max(0, t.columns-len(cells)))...)
	t.items.add("| " + strings.Join(cells, " | ") + " |")
}
