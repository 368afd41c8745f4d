// Package output writes what subcommands have to say: documents for programs, sentences in lines, and files.
package output

import (
	"encoding/json"
	"encoding/xml"
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

// Indent begins the lines below a heading.
const Indent = "         "

// Paragraph breaks a sentence into indented lines.
func Paragraph(sentence string) string { return words.Wrap(Indent, Indent, sentence, 100) }

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

// Suites is JUnit's XML as CI systems read it. What holds something up is a failure, what is not known is an error, and what is only
// told is printed by a case that passes.
type Suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []Suite  `xml:"testsuite"`
}

// Suite is some of the cases, with their numbers.
type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Cases    []Case `xml:"testcase"`
}

// Case passes without a failure and an error.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *Problem `xml:"failure,omitempty"`
	Error   *Problem `xml:"error,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

// Problem is what is wrong with a case.
type Problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a case, and counts it.
func (s *Suite) Add(c Case) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

func (s Suites) text() (string, error) {
	content, err := xml.MarshalIndent(s, "", "  ")
	return xml.Header + string(content) + "\n", err
}
