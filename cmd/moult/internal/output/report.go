package output

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// The values of -o beside those of documents, for commands that print a Report.
const (
	text     = "text"
	markdown = "markdown"
	junit    = "junit"
)

// Report prints what a command has found: for people, as a comment on a pull request, for CI systems, and as a document.
type Report[R any] struct {
	Text, Markdown func(R) string
	JUnit          func(R) Suites

	format string
}

// AddFlag adds -o.
func (r *Report[R]) AddFlag(c *cobra.Command) {
	c.Flags().StringVarP(&r.format, "output", "o", text, "text, json, yaml, markdown or junit")
	cli.OneOf(c, "output", text, "json", "yaml", markdown, junit)
}

// For is another report that is printed as -o says.
func For[S, R any](r Report[R], other Report[S]) Report[S] {
	other.format = r.format
	return other
}

// Print writes what was asked for.
func (r *Report[R]) Print(out io.Writer, report R) (err error) {
	var content string
	switch r.format {
	case markdown:
		content = r.Markdown(report)
	case junit:
		content, err = r.JUnit(report).text()
	case text:
		content = r.Text(report)
	default:
		return Print(out, r.format, report)
	}
	if err == nil {
		_, err = io.WriteString(out, content)
	}
	return err
}
