package output

import (
	"html"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// entities are what stands for a character that Markdown, HTML or GitHub would read something into. An entity never
// counts as structure. A zero-width space parts what would become a mention or a reference to an issue.
var entities = map[rune]string{
	'&': "&amp;", '<': "&lt;", '>': "&gt;", '|': "&#124;", '`': "&#96;", '\\': "&#92;",
	'*': `\*`, '_': `\_`, '[': `\[`, ']': `\]`, '~': `\~`,
	'@': "@&#8203;", '#': "#&#8203;",
	'$': "<span>$</span>", // else two of them enclose a formula
}

var (
	// verbatim is what is shown as code: what the sentence quotes so, and addresses, which would become links else.
	verbatim = regexp.MustCompile("`[^`]+`|(?i:\\b(?:[a-z][a-z0-9+.-]*://|www\\.)[^\\s`]+)")
	emoji    = regexp.MustCompile(`^:[A-Za-z0-9_+-]+:`)
	// block is what means something at the beginning of a line.
	block = regexp.MustCompile(`^(?:[-+=]|\d+[.)])`)
	// simple names need no escaping in a code span, not even in a table.
	simple = regexp.MustCompile(`^[\p{L}\p{N} ._/:,;=?%"'(){}\[\]*+~^-]+$`)
)

// escape makes text of somebody else's mean nothing in a line of Markdown but itself.
func escape(s string) string {
	s = plain(s)
	var out strings.Builder
	if lead := block.FindString(s); lead != "" {
		out.WriteString(lead[:len(lead)-1] + `\` + lead[len(lead)-1:])
		s = s[len(lead):]
	}
	for {
		at := verbatim.FindStringIndex(s)
		if at == nil {
			out.WriteString(escapeWords(s))
			return out.String()
		}
		out.WriteString(escapeWords(s[:at[0]]) + code(strings.Trim(s[at[0]:at[1]], "`")))
		s = s[at[1]:]
	}
}

func escapeWords(s string) string {
	var out strings.Builder
	for i, r := range s {
		entity, special := entities[r]
		switch {
		case special:
			out.WriteString(entity)
		case r == ':' && (emoji.MatchString(s[i:]) || strings.HasPrefix(s[i:], "://")):
			out.WriteString(":&#8203;")
		case r == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"):
			out.WriteString("&#8203;.")
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// code is a name in a code span. One that Markdown might misread is escaped in an HTML element, to the same effect.
func code(s string) string {
	s = plain(s)
	switch {
	case s == "":
		return ""
	case simple.MatchString(s):
		return "`" + s + "`"
	}
	return "<code>" + escapeWords(s) + "</code>"
}

// CodeSpan is text of somebody else's in a line or a table of Markdown, cut to so many characters.
func CodeSpan(s string, most int) string { return fit(s, most, code) }

// text is escaped text of at most so many characters.
func text(s string, most int) string { return fit(s, most, escape) }

// fit cuts text so that, escaped, it has at most three times as many bytes as it may have characters. Some characters
// grow when they are escaped, and a comment full of them would be too long.
func fit(s string, most int, escaped func(string) string) string {
	s = plain(s)
	for {
		out := escaped(clip(s, most))
		if len(out) <= 3*most || most < 8 {
			return out
		}
		most -= most / 4
	}
}

// codes are names in code spans.
func codes(names []string, most int) string {
	return words.Few(words.Of(names, func(name string) string { return CodeSpan(name, nameWidth) }), most)
}

// htmlCode is a name inside of a <summary>, where there is no Markdown.
func htmlCode(s string) string {
	return "<code>" + html.EscapeString(clip(plain(s), nameWidth)) + "</code>"
}

// place is where something stands, as a link if it is known where to.
func (o MarkdownOptions) place(p finding.Place) string {
	shown := CodeSpan(p.String(), placeWidth)
	link := o.Links.to(p)
	if shown == "" || o.Links == "" || len(link) > linkBytes {
		return shown
	}
	return "[" + shown + "](" + link + ")"
}
