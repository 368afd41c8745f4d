// Package words is what sentences for people have in common: a number and its noun, a few of many names, and a command
// that can be pasted into a shell.
package words

import (
	"fmt"
	"regexp"
	"strings"
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

// Few lists so many names at most, and counts the others, for example "a, b and 3 more".
func Few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Clip cuts a text to so many characters, and shows that it did.
func Clip(s string, most int) string {
	if characters := []rune(s); len(characters) > most {
		return string(characters[:most]) + "…"
	}
	return s
}

var unquoted = regexp.MustCompile(`^[-A-Za-z0-9_./:=,@%+~^]+$`)

// Shell is one word of a command line, quoted if a shell would read something else in it.
func Shell(word string) string {
	if unquoted.MatchString(word) && !strings.HasPrefix(word, "~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
