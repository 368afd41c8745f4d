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
	format "github.com/moult-dev/moult/policies/preview/output"
)

// destination is a format, and where it goes.
type destination struct{ format, file string }

// formats are all formats but text, whose looks depend on where it goes.
var formats = map[string]func(*command, preview.Report) ([]byte, error){
	"markdown": func(p *command, r preview.Report) ([]byte, error) {
		return []byte(format.Markdown(r, p.markdownOptions())), nil
	},
	"json": func(_ *command, r preview.Report) ([]byte, error) { return format.JSON(r) },
	"html": func(p *command, r preview.Report) ([]byte, error) {
		var page bytes.Buffer
		err := format.HTML(&page, r, format.PageOptions{Links: format.Links(p.links)})
		return page.Bytes(), err
	},
	"annotations": func(_ *command, r preview.Report) ([]byte, error) { return []byte(format.Annotations(r)), nil },
	"codequality": func(_ *command, r preview.Report) ([]byte, error) { return format.CodeQuality(r) },
}

func formatNames() []string {
	names := []string{"text"}
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// parseOutputs reads FORMAT and FORMAT=FILE. One format may go to standard output.
func parseOutputs(given []string) ([]destination, error) {
	if len(given) == 0 {
		given = []string{"text"}
	}
	var outputs []destination
	printed := ""
	for _, text := range given {
		format, file, toFile := strings.Cut(text, "=")
		switch {
		case !slices.Contains(formatNames(), format):
			return nil, fmt.Errorf("--output %s: there is no format %q; there are %s", text, format, strings.Join(formatNames(), ", "))
		case toFile && file == "":
			return nil, fmt.Errorf("--output %s names no file; write it like %s=FILE", text, format)
		case !toFile && printed != "":
			return nil, fmt.Errorf("--output %s and --output %s would both be printed; give one of them a file, like %[2]s=FILE", printed, format)
		case !toFile:
			printed = format
		}
		if toFile && slices.ContainsFunc(outputs, func(o destination) bool { return o.file == file }) {
			return nil, fmt.Errorf("--output %s: another output goes to %s already", text, file)
		}
		outputs = append(outputs, destination{format, file})
	}
	return outputs, nil
}

// write makes all outputs before it writes the first, so that an error leaves nothing half done.
func (p *command) write(r preview.Report, outputs []destination) error {
	contents := make([][]byte, len(outputs))
	for i, o := range outputs {
		var err error
		if o.format == "text" {
			contents[i], err = p.text(r, o.file != "")
		} else {
			contents[i], err = formats[o.format](p, r)
		}
		if err != nil {
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

// text has colour and the terminal's width where it goes to one.
func (p *command) text(r preview.Report, toFile bool) ([]byte, error) {
	var text bytes.Buffer
	color, width := false, 0
	if !toFile {
		color, width = looksOf(p.Out)
	}
	err := format.Text(&text, r, color, width)
	return text.Bytes(), err
}

// looksOf tells whether a stream is a terminal that wants colour, and how wide it is; 0 if that cannot be told.
func looksOf(out io.Writer) (color bool, width int) {
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
