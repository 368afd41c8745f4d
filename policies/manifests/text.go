package manifests

import (
	"bytes"
	"unicode/utf8"
)

// text is a file, or what a literal block of YAML (|) holds. Lines and columns count from 1, as the YAML parser's do.
type text struct {
	content []byte
	starts  []int // where each line begins
	ends    []int // where it ends, without its break

	parent *text // the text that has the block, nil for a file
	above  int   // the line of the parent above the block's first line
}

// mark is the byte order mark, which some editors begin a file with.
var mark = []byte("\ufeff")

func newText(content []byte) *text {
	t := &text{content: content}
	start := len(content) - len(bytes.TrimPrefix(content, mark))
	for at := start; at < len(content); {
		width := breakAt(content, at)
		if width == 0 {
			at++
			continue
		}
		t.add(start, at)
		at += width
		start = at
	}
	t.add(start, len(content))
	return t
}

func (t *text) add(start, end int) {
	t.starts, t.ends = append(t.starts, start), append(t.ends, end)
}

// breakAt is how long the line break is that begins there. YAML 1.1, which Kubernetes' parsers follow, knows more of
// them than editors do.
func breakAt(content []byte, at int) int {
	for _, ending := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(content[at:], []byte(ending)) {
			return len(ending)
		}
	}
	return 0
}

// block is the text of a literal block that begins in a line.
func (t *text) block(value string, line int) *text {
	inner := newText([]byte(value))
	inner.parent, inner.above = t, line
	return inner
}

// fileLine is the line in the file.
func (t *text) fileLine(line int) int {
	for t.parent != nil {
		line, t = line+t.above, t.parent
	}
	return line
}

func (t *text) line(n int) []byte {
	if n < 1 || n > len(t.starts) {
		return nil
	}
	return t.content[t.starts[n-1]:t.ends[n-1]]
}

// offset is where in the file a line's column stands. It fails if the text does not stand in the file as it is, for
// example in a block that is folded.
func (t *text) offset(line, column int) (int, bool) {
	here := t.line(line)
	at := 0
	for range column - 1 {
		if at >= len(here) {
			return 0, false
		}
		_, width := utf8.DecodeRune(here[at:])
		at += width
	}
	for t.parent != nil {
		around := t.parent.line(line + t.above)
		if !bytes.HasSuffix(around, here) {
			return 0, false
		}
		at += len(around) - len(here)
		here, line, t = around, line+t.above, t.parent
	}
	if line < 1 || line > len(t.starts) {
		return 0, false
	}
	return t.starts[line-1] + at, true
}
