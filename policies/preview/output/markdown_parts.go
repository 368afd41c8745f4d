package output

import (
	"fmt"
	"strings"
)

// table is a Markdown table that stays below a number of bytes. Its first row is always there.
type table struct {
	out            strings.Builder
	budget         int
	columns        int
	shown, omitted int
}

func newTable(budget int, headings ...string) *table {
	t := &table{budget: budget, columns: len(headings)}
	t.out.WriteString("| " + strings.Join(headings, " | ") + " |\n|" + strings.Repeat("---|", len(headings)) + "\n")
	return t
}

// add appends a row of cells that are escaped already. Cells that are missing stay empty.
func (t *table) add(cells ...string) {
	cells = append(cells, make([]string, max(0, t.columns-len(cells)))...)
	line := "| " + strings.Join(cells, " | ") + " |\n"
	if t.omitted > 0 || t.shown > 0 && t.out.Len()+len(line) > t.budget {
		t.omitted++
		return
	}
	t.out.WriteString(line)
	t.shown++
}

func (t *table) String() string { return t.out.String() }

func (t *table) more(noun string, o MarkdownOptions) string { return moreOf(t.omitted, noun, o) }

// items are a list that stays below a number of bytes. Its first item is always there.
type items struct {
	out            strings.Builder
	budget         int
	shown, omitted int
}

func newItems(budget int) *items { return &items{budget: budget} }

func (l *items) add(line string) {
	if l.omitted > 0 || l.shown > 0 && l.out.Len()+len(line) > l.budget {
		l.omitted++
		return
	}
	l.out.WriteString(line + "\n")
	l.shown++
}

func (l *items) String() string { return l.out.String() }

func (l *items) more(noun string, o MarkdownOptions) string { return moreOf(l.omitted, noun, o) }

// moreOf says how many did not fit.
func moreOf(omitted int, noun string, o MarkdownOptions) string {
	if omitted == 0 {
		return ""
	}
	said := fmt.Sprintf("\nand %s that do not fit here", count(omitted, "more "+noun))
	if omitted == 1 {
		said = fmt.Sprintf("\nand 1 more %s that does not fit here", noun)
	}
	if full := o.full(); full != "" {
		said += "; all are in " + full
	}
	return said + "\n"
}
