package output

import "github.com/moult-dev/moult/policies/words"

const indent = "         "

// Paragraph breaks a sentence into indented lines.
func Paragraph(sentence string) string { return words.Wrap(indent, indent, sentence, 100) }
