// Package output writes what subcommands have to say: documents for programs, sentences in lines, and files.
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

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

// CheckFormat refuses a value of -o that is neither a document's nor empty, for text.
func CheckFormat(format string) error {
	if !IsDocument(format) && format != "" {
		return fmt.Errorf("-o %s is none of json, yaml; leave it out for text", format)
	}
	return nil
}

// AddFlag adds -o.
func AddFlag(c *cobra.Command, format *string) {
	c.Flags().StringVarP(format, "output", "o", "", "json or yaml")
	Complete(c, "json", "yaml")
}

// Complete offers the values of -o.
func Complete(c *cobra.Command, formats ...cobra.Completion) {
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

const indent = "         "

// Paragraph breaks a sentence into indented lines.
func Paragraph(sentence string) string { return words.Wrap(indent, indent, sentence, 100) }
