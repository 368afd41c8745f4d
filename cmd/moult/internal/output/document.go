// Package output writes what subcommands have to say: documents for programs, sentences in lines, and files.
package output

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/words"
)

// formats are the values of -o that print a document.
var formats = map[string]func(any) ([]byte, error){
	"json": func(v any) ([]byte, error) {
		content, err := json.MarshalIndent(v, "", "  ")
		return append(content, '\n'), err
	},
	"yaml": yaml.Marshal,
}

// IsDocument reports whether a value of -o prints a document.
func IsDocument(format string) bool {
	_, document := formats[format]
	return document
}

// Print writes a document.
func Print(out io.Writer, format string, v any) error {
	content, err := formats[format](v)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}

// AddFlag adds -o.
func AddFlag(c *cobra.Command, format *string) {
	c.Flags().StringVarP(format, "output", "o", "", "json or yaml")
	cli.OneOf(c, "output", "json", "yaml")
	cli.Hint(c, "output", "leave it out for text")
}

const indent = "         "

// Paragraph breaks a sentence into indented lines.
func Paragraph(sentence string) string { return words.Wrap(indent, indent, sentence, 100) }
