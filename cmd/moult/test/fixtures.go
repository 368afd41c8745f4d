package test

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/moult-dev/moult/cmd/moult/internal/input"
	"github.com/moult-dev/moult/policies/roundtrip"
)

// fixtures are those of the folder that is named. With made objects, there need not be any.
func (r *command) fixtures(args []string) ([]roundtrip.Object, roundtrip.Config, error) {
	switch {
	case r.fuzz < 0:
		return nil, roundtrip.Config{}, fmt.Errorf("--fuzz %d is no number of objects", r.fuzz)
	case len(args) == 0 && r.fuzz > 0:
		return nil, roundtrip.Config{}, nil
	case len(args) == 0:
		return nil, roundtrip.Config{}, fmt.Errorf("name the folder with the fixtures, for example test/fixtures, or have objects made with --fuzz 1000")
	}
	folder := args[0]
	info, err := os.Stat(folder)
	if err != nil {
		return nil, roundtrip.Config{}, input.NoSuchPath(folder, err)
	}
	if !info.IsDir() {
		return nil, roundtrip.Config{}, fmt.Errorf("%s is a file; name the folder with the fixtures", folder)
	}
	var files []roundtrip.File
	below := os.DirFS(folder)
	err = fs.WalkDir(below, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(below, name)
		files = append(files, roundtrip.File{Name: name, Content: content})
		return err
	})
	if err != nil {
		return nil, roundtrip.Config{}, err
	}
	objects, config, err := roundtrip.Fixtures(files)
	if err != nil {
		return nil, config, fmt.Errorf("%s: %w", folder, err)
	}
	if len(objects) == 0 && r.fuzz == 0 {
		return nil, config, fmt.Errorf("%s holds no fixture; a fixture is an object in RELEASE/GROUP.VERSION.KIND.yaml", folder)
	}
	return objects, config, nil
}
