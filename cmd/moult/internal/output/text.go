package output

import (
	"fmt"
	"regexp"
	"strings"
)

// Count is a number and what is counted.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

const (
	indent    = "         "
	textWidth = 100
)

// Paragraph breaks a sentence into indented lines. A word that is too long has a line of its own.
func Paragraph(sentence string) string {
	lines, line := []string{}, ""
	for _, word := range strings.Fields(sentence) {
		if line != "" && len(line)+1+len(word) > textWidth-len(indent) {
			lines, line = append(lines, indent+line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, indent+line), "\n")
}

var unquoted = regexp.MustCompile(`^[-A-Za-z0-9_./:=,@%+]+$`)

// Quoted is a word as a shell takes it.
func Quoted(word string) string {
	if unquoted.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
