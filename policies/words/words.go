// Package words is what sentences for people have in common. It has a number and its noun, a few of many names, lines
// that are not too long, and a command that can be pasted into a shell.
package words

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Agree is the word that goes with a number: the first with one, the second with every other.
func Agree[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count is a number with its noun, for example "1 object" or "3 objects".
func Count[N int | int64](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, Agree(n, noun, noun+"s"))
}

// FullName is namespace/name, or the name if there is no namespace.
func FullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Of is what is to be said of some things, of each by itself.
func Of[T, S any](things []T, say func(T) S) (said []S) {
	for _, thing := range things {
		said = append(said, say(thing))
	}
	return said
}

// Distinct keeps the first of each.
func Distinct[T comparable](names []T) (once []T) {
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

// Line is somebody else's text as a part of one line: control characters, which may end it or mean something to a terminal, are spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, s)
}

// Few lists so many names at most, and counts the others, for example "a, b and 3 more".
func Few(names []string, most int) string { return few(names, most, ", ", " and") }

// FewClauses is Few for what may have commas in it, for example "a, as it was; b; and 3 more".
func FewClauses(clauses []string, most int) string { return few(clauses, most, "; ", "; and") }

func few(all []string, most int, between, before string) string {
	if len(all) <= most {
		return strings.Join(all, between)
	}
	return fmt.Sprintf("%s%s %d more", strings.Join(all[:most], between), before, len(all)-most)
}

// MostQuoted is how much of what somebody else has written is in a text, in characters: a field's name or a refusal can be as long
// as an object. In JSON a character may take six bytes.
const MostQuoted = 300

// Clip cuts a text to so many characters, and shows that it did. Nothing of the rest is kept in memory.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for at := range s {
		if most--; most < 0 {
			return s[:at] + "…"
		}
	}
	return s
}

// Wrap breaks a text into lines of so many bytes at most; a word that is too long has a line of its own. The first line
// begins in one way and the rest in another.
func Wrap(first, rest, text string, width int) string {
	var lines []string
	begin, line := first, ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(begin)+len(line)+1+len(word) > width {
			lines, begin, line = append(lines, begin+line), rest, ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, strings.TrimRight(begin+line, " ")), "\n")
}

var unquoted = regexp.MustCompile(`^[-A-Za-z0-9_./:=,@%+~^]+$`)

// Shell is one word of a command line, quoted if a shell would read something else in it.
func Shell(word string) string {
	if unquoted.MatchString(word) && !strings.HasPrefix(word, "~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
