package optin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
)

// writeAll makes all changes or none: a Component that no kustomization lists, left behind, would be taken for the work of
// somebody else by the next run.
func writeAll(changes []change) error {
	for _, c := range changes {
		if c.old == nil {
			continue
		}
		f, err := os.OpenFile(c.file, os.O_WRONLY, 0) // a file that is not to be written would be replaced otherwise
		if err != nil {
			return output.CannotWrite(c.file, err)
		}
		if err := f.Close(); err != nil {
			return output.CannotWrite(c.file, err)
		}
	}
	undo := func() {}
	for _, c := range changes {
		takeBack, err := c.write()
		before := undo
		undo = func() { takeBack(); before() }
		if err != nil {
			undo()
			return err
		}
	}
	return nil
}

// write returns what removes a new file again, and the folders that were made for it.
func (c change) write() (takeBack func(), err error) {
	if c.old != nil {
		return func() { _ = output.WriteFile(c.file, c.old) }, output.WriteFile(c.file, c.new)
	}
	made := []string{c.file}
	for dir := filepath.Dir(c.file); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		made = append(made, dir)
	}
	takeBack = func() {
		for _, path := range made {
			_ = os.Remove(path) // a folder goes only if it is empty
		}
	}
	if err := os.MkdirAll(filepath.Dir(c.file), 0o755); err != nil {
		return takeBack, output.CannotWrite(c.file, err)
	}
	return takeBack, output.WriteFile(c.file, c.new)
}

// oneDocument refuses a file in which something would be lost: Kustomize reads the first document, and so does what
// adds a component.
func oneDocument(file string, content []byte) error {
	documents := yaml.NewDecoder(bytes.NewReader(content))
	for n := range 2 {
		var node yaml.Node
		switch err := documents.Decode(&node); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s is not YAML: %w", file, err)
		case n > 0:
			return fmt.Errorf("%s holds more than one YAML document, and Kustomize reads the first only; move the others to files of their own, or remove what follows the second ---", file)
		}
	}
	return nil
}

// withoutCarriageReturns takes them off the ends of lines, if all lines have them, and returns what puts them back.
func withoutCarriageReturns(content []byte) (text []byte, restore func([]byte) []byte) {
	unix, windows := []byte("\n"), []byte("\r\n")
	if n := bytes.Count(content, windows); n == 0 || n < bytes.Count(content, unix) {
		return content, func(edited []byte) []byte { return edited }
	}
	return bytes.ReplaceAll(content, windows, unix), func(edited []byte) []byte { return bytes.ReplaceAll(edited, unix, windows) }
}
