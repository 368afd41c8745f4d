package preview

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/preview"
	report "github.com/moult-dev/moult/policies/preview/output"
)

// formats are what --output takes, and how each is written.
var formats = map[string]func(p *command, r preview.Report, to destination) ([]byte, error){
	"annotations": func(_ *command, r preview.Report, _ destination) ([]byte, error) {
		return []byte(report.Annotations(r)), nil
	}, // for GitHub
	"codequality": func(_ *command, r preview.Report, _ destination) ([]byte, error) { return report.CodeQuality(r) }, // for GitLab
	"html": func(p *command, r preview.Report, _ destination) ([]byte, error) {
		var content bytes.Buffer
		err := report.HTML(&content, r, report.PageOptions{Links: report.Links(p.links)})
		return content.Bytes(), err
	},
	"json": func(_ *command, r preview.Report, _ destination) ([]byte, error) { return report.JSON(r) },
	"markdown": func(p *command, r preview.Report, _ destination) ([]byte, error) {
		return []byte(report.Markdown(r, report.MarkdownOptions{Name: p.marker, Full: p.artifact, Links: report.Links(p.links)})), nil
	},
	text: func(p *command, r preview.Report, to destination) ([]byte, error) {
		var content bytes.Buffer
		color, width := false, 0
		if to.file == "" {
			color, width = terminal(p.Out)
		}
		err := report.Text(&content, r, color, width)
		return content.Bytes(), err
	},
}

// text is the format without --output.
const text = "text"

func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// destination is a format, and where it goes: a file, or standard output if there is none.
type destination struct {
	format string
	file   string
}

// parseOutputs reads FORMAT and FORMAT=FILE. One format may go to standard output.
func parseOutputs(given []string) ([]destination, error) {
	if len(given) == 0 {
		given = []string{text}
	}
	var outputs []destination
	printed := ""
	for _, value := range given {
		name, file, toFile := strings.Cut(value, "=")
		switch {
		case formats[name] == nil:
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
		outputs = append(outputs, destination{name, file})
	}
	return outputs, nil
}

// write makes all outputs before it writes the first, so that an error leaves nothing half done.
func (p *command) write(r preview.Report, outputs []destination) error {
	contents := make([][]byte, len(outputs))
	for i, o := range outputs {
		var err error
		if contents[i], err = formats[o.format](p, r, o); err != nil {
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
