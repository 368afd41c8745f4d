package preview

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/preview"
	report "github.com/moult-dev/moult/policies/preview/output"
)

// format is how a report is written. The set is closed.
type format string

const (
	annotations format = "annotations" // for GitHub
	codeQuality format = "codequality" // for GitLab
	html        format = "html"
	jsonFormat  format = "json"
	markdown    format = "markdown"
	text        format = "text"
)

var formats = []format{annotations, codeQuality, html, jsonFormat, markdown, text}

// formatNames are what --output takes.
func formatNames() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return names
}

// destination is a format, and where it goes: a file, or standard output if there is none.
type destination struct {
	format format
	file   string
}

// parseOutputs reads FORMAT and FORMAT=FILE. One format may go to standard output.
func parseOutputs(given []string) ([]destination, error) {
	if len(given) == 0 {
		given = []string{string(text)}
	}
	var outputs []destination
	printed := ""
	for _, value := range given {
		name, file, toFile := strings.Cut(value, "=")
		switch {
		case !slices.Contains(formats, format(name)):
			return nil, fmt.Errorf("--output %s: there is no format %q; there are %s", value, name, strings.Join(formatNames(), ", "))
		case toFile && file == "":
			return nil, fmt.Errorf("--output %s names no file; write it like %s=FILE", value, name)
		case !toFile && printed != "":
			return nil, fmt.Errorf("--output %s and --output %s would both be printed; give one of them a file, like %[2]s=FILE", printed, name)
		case !toFile:
			printed = name
		}
		if toFile && slices.ContainsFunc(outputs, func(o destination) bool { return o.file == file }) {
			return nil, fmt.Errorf("--output %s: another output goes to %s already", value, file)
		}
		outputs = append(outputs, destination{format(name), file})
	}
	return outputs, nil
}

// write makes all outputs before it writes the first, so that an error leaves nothing half done.
func (p *command) write(r preview.Report, outputs []destination) error {
	contents := make([][]byte, len(outputs))
	for i, o := range outputs {
		var err error
		if contents[i], err = p.render(r, o); err != nil {
			return fmt.Errorf("--output %s: %w", o.format, err)
		}
	}
	for i, o := range outputs {
		if o.file != "" {
			if err := output.WriteFile(o.file, contents[i]); err != nil {
				return fmt.Errorf("--output %s: %w", o.format, err)
			}
			continue
		}
		if _, err := p.Out.Write(contents[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *command) render(r preview.Report, to destination) ([]byte, error) {
	var content bytes.Buffer
	switch to.format {
	case annotations:
		return []byte(report.Annotations(r)), nil
	case codeQuality:
		return report.CodeQuality(r)
	case html:
		err := report.HTML(&content, r, report.PageOptions{Links: report.Links(p.links)})
		return content.Bytes(), err
	case jsonFormat:
		return report.JSON(r)
	case markdown:
		return []byte(report.Markdown(r, report.MarkdownOptions{Name: p.marker, Full: p.artifact, Links: report.Links(p.links)})), nil
	case text:
		color, width := false, 0
		if to.file == "" {
			color, width = terminal(p.Out)
		}
		err := report.Text(&content, r, color, width)
		return content.Bytes(), err
	}
	return nil, fmt.Errorf("there is no format %q", to.format) // parseOutputs refuses it
}

// terminal reports whether a stream is a terminal that wants colour, and how wide it is; 0 if that is not known.
func terminal(out io.Writer) (color bool, width int) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false, 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", width
}
