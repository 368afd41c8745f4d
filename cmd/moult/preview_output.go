package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/preview/output"
)

// previewOutput is a format, and where it goes.
type previewOutput struct{ format, file string }

// previewFormats are all formats but text, whose looks depend on where it goes.
var previewFormats = map[string]func(*previewCommand, preview.Report) ([]byte, error){
	"markdown": func(p *previewCommand, r preview.Report) ([]byte, error) {
		return []byte(output.Markdown(r, p.markdownOptions())), nil
	},
	"json": func(_ *previewCommand, r preview.Report) ([]byte, error) { return output.JSON(r) },
	"html": func(p *previewCommand, r preview.Report) ([]byte, error) {
		var page bytes.Buffer
		err := output.HTML(&page, r, output.PageOptions{Links: output.Links(p.links)})
		return page.Bytes(), err
	},
	"annotations": func(_ *previewCommand, r preview.Report) ([]byte, error) { return []byte(output.Annotations(r)), nil },
	"codequality": func(_ *previewCommand, r preview.Report) ([]byte, error) { return output.CodeQuality(r) },
}

func formatNames() []string {
	names := []string{"text"}
	for name := range previewFormats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// parseOutputs reads FORMAT and FORMAT=FILE. One format may go to standard output.
func parseOutputs(given []string) ([]previewOutput, error) {
	if len(given) == 0 {
		given = []string{"text"}
	}
	var outputs []previewOutput
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
		if toFile && slices.ContainsFunc(outputs, func(o previewOutput) bool { return o.file == file }) {
			return nil, fmt.Errorf("--output %s: another output goes to %s already", text, file)
		}
		outputs = append(outputs, previewOutput{format, file})
	}
	return outputs, nil
}

// write makes all outputs before it writes the first, so that an error leaves nothing half done.
func (p *previewCommand) write(r preview.Report, outputs []previewOutput) error {
	contents := make([][]byte, len(outputs))
	for i, o := range outputs {
		var err error
		if o.format == "text" {
			contents[i], err = p.text(r, o.file != "")
		} else {
			contents[i], err = previewFormats[o.format](p, r)
		}
		if err != nil {
			return fmt.Errorf("--output %s: %w", o.format, err)
		}
	}
	for i, o := range outputs {
		if o.file != "" {
			if err := writeWhole(o.file, contents[i]); err != nil {
				return fmt.Errorf("--output %s: %w", o.format, err)
			}
			continue
		}
		if _, err := p.out.Write(contents[i]); err != nil {
			return err
		}
	}
	return nil
}

// text has colour and the terminal's width where it goes to one.
func (p *previewCommand) text(r preview.Report, toFile bool) ([]byte, error) {
	var text bytes.Buffer
	color, width := false, 0
	if !toFile {
		color, width = looksOf(p.out)
	}
	err := output.Text(&text, r, color, width)
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
