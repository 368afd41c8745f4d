package unpacking

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A parser takes memory and time for all of a text before it hands over anything. So a text is scanned first: each character that may
// begin a node counts as one that does, and each line that may have a comment as one that has.

// commentTakes is what a comment takes: parsers keep four places of each until they end.
const commentTakes = 512

// mostSteps is how many steps parsers may take through comments, which is about a second.
const mostSteps = 1 << 28

// parsing is what it takes to parse a text, at most.
type parsing struct {
	bytes, comments int64
	// columns are those at which lists and mappings in blocks may begin. Each level has one of its own, so there are no more levels. Of
	// more than deepest, one more is known.
	columns map[int]bool
}

// parsingOf scans a text.
func parsingOf(s string) parsing {
	p := parsing{bytes: parserTakes + 3*int64(len(s)), columns: map[int]bool{}}
	if isWide(s) {
		s = narrow(s)
	}
	for more := true; more; {
		line := s
		end := strings.IndexFunc(s, isBreak)
		if more = end >= 0; more {
			line = s[:end]
			_, size := utf8.DecodeRuneInString(s[end:])
			s = s[end+size:]
			if size == 1 {
				s = strings.TrimPrefix(s, "\n") // of \r\n, or the next line is empty
			}
		}
		p.line(line)
	}
	return p
}

// steps are those of a parser that goes through all comments at each level.
func (p *parsing) steps() int64 { return p.comments * int64(len(p.columns)) }

// bounded is ErrTooLarge if the levels are too many, or the comments are for so many levels.
func (p *parsing) bounded() error {
	if len(p.columns) > deepest {
		return fmt.Errorf("%w: its lines begin at more than %d columns", ErrTooLarge, deepest)
	}
	if p.steps() > mostSteps {
		return fmt.Errorf("%w: it has %d lines with comments, at %d levels", ErrTooLarge, p.comments, len(p.columns))
	}
	return nil
}

// line adds what one line takes. It has at most one comment, which ends with it.
func (p *parsing) line(line string) {
	p.bytes += nodeTakes
	if strings.Contains(line, "#") {
		p.bytes += commentTakes
		p.comments++
	}
	for i := range len(line) {
		switch line[i] {
		case ',', '[', ':', '&', '*', '!':
			p.bytes += nodeTakes
		case '-':
			if i+1 == len(line) || isBlank(line[i+1]) {
				p.bytes += nodeTakes
			}
		case '{', '?':
			p.bytes += nodeTakes + mappingTakes
		}
	}
	p.begins(line)
}

// begins adds the columns at which blocks may begin: that of the first character, and those behind the indicators there.
func (p *parsing) begins(line string) {
	line = strings.Replace(line, "\ufeff", " ", 1)
	for column := 0; len(p.columns) <= deepest; {
		rest := strings.TrimLeft(line, " \t")
		column += len(line) - len(rest)
		if rest == "" {
			return
		}
		p.columns[column] = true
		if !strings.ContainsAny(rest[:1], "-?:") || len(rest) > 1 && !isBlank(rest[1]) {
			return
		}
		line = rest[1:]
		column++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isBreak is whether parsers end a line there (is_break in yamlprivateh.go).
func isBreak(c rune) bool {
	switch c {
	case '\n', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// isWide is whether a text is in UTF-16.
func isWide(s string) bool {
	return strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff")
}

// narrow is a text in UTF-16 as one in UTF-8, as far as a scan has to know it.
func narrow(s string) string {
	low, narrowed := int(s[0]-0xfe)^1, strings.Builder{}
	narrowed.Grow(len(s))
	for i := 0; i+1 < len(s); i += 2 {
		narrowed.WriteRune(rune(s[i+low]) | rune(s[i+1-low])<<8)
	}
	return narrowed.String()
}
