package output

import "strings"

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
