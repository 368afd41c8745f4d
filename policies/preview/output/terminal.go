package output

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const indent = "         "

// terminal lays text out in a number of columns.
type terminal struct {
	out   strings.Builder
	color bool
	width int
	// pending is a heading that is printed before the first line below it.
	pending string
}

// cell is text that is not painted yet, so that its width can be told.
type cell struct{ text, color string }

// paint colours text with the parameter of an SGR sequence.
func (t *terminal) paint(color, text string) string {
	if !t.color || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// lead is a badge's word at the beginning of a line, as wide as indent.
func (t *terminal) lead(b badge) string {
	return t.paint(b.Color, b.Word) + strings.Repeat(" ", max(0, len(indent)-1-len(b.Word)))
}

func (t *terminal) line(s string) {
	if t.pending != "" {
		t.out.WriteString("\n" + t.paint("1", t.pending) + "\n")
		t.pending = ""
	}
	t.out.WriteString(strings.TrimRight(s, " ") + "\n")
}

// heading begins a part; it is not shown if nothing follows.
func (t *terminal) heading(s string) { t.pending = s }

// paragraph breaks words into lines that begin with prefix. The lead, which may be painted, stands before them and is not
// broken; a word that is too long has a line of its own. Without a prefix, what goes on is indented as far as the lead.
func (t *terminal) paragraph(prefix, lead, said string) {
	hanging := prefix
	if prefix == "" {
		hanging = strings.Repeat(" ", visible(lead)+1)
	}
	words := strings.Fields(plain(said))
	if lead != "" {
		words = append([]string{lead}, words...)
	}
	line, width := "", 0
	for _, word := range words {
		long := visible(word)
		if width > 0 && len(prefix)+width+1+long > t.width {
			t.line(prefix + line)
			prefix, line, width = hanging, "", 0
		}
		if width > 0 {
			line, width = line+" ", width+1
		}
		line, width = line+word, width+long
	}
	if width > 0 {
		t.line(prefix + line)
	}
}

// visible counts the characters that are not part of a colour.
func visible(s string) int {
	return utf8.RuneCountInString(painted.ReplaceAllString(s, ""))
}

var painted = regexp.MustCompile("\x1b\\[[^m]*m")

// grid prints columns. A line that is too long for the terminal is left to it.
func (t *terminal) grid(rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(plain(c.text)))
		}
	}
	for _, row := range rows {
		line := ""
		for i, c := range row {
			text := plain(c.text)
			line += t.paint(c.color, text) + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+3)
		}
		t.line(line)
	}
}
