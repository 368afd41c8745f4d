package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/moult-dev/moult/clusters/render"
)

// Manifests builds a folder, or reads a file or standard input.
func Manifests(path string, stdin io.Reader) (*render.Rendering, error) {
	if path == "-" {
		return render.Stream("standard input", stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, NoSuchPath(path, err)
	}
	if info.IsDir() {
		rendering, err := render.Folder(path, render.Options{})
		if err != nil && render.KustomizationIn(path) == "" {
			err = fmt.Errorf("%w; without a kustomization all manifests in a folder and below are taken as one, so if several things lie there, name the folders that hold the CRDs", err)
		}
		return rendering, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return render.Stream(path, bytes.NewReader(content))
}

// NoSuchPath says what to do about a PATH that is not there. Other errors stay as they are.
func NoSuchPath(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s: there is no such file or folder; name one, as it is seen from the folder this runs in", path)
}
