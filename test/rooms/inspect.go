package rooms

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// inspect reads a repository and returns a sentence for everything in it that is not where it belongs.
func inspect(repository fs.FS) ([]string, error) {
	broken, err := inspectTop(repository)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && ignored(entry.Name()), entry.Name() == "testdata":
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir() && slices.Contains(nameless, entry.Name()):
			broken = append(broken, fmt.Sprintf("%s: a folder is named after what lies in it", name))
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			found, err := inspectFile(repository, name)
			broken = append(broken, found...)
			return err
		}
		return nil
	})
	return broken, err
}

func inspectTop(repository fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(repository, ".")
	var broken []string
	for _, entry := range entries {
		if !ignored(entry.Name()) && !slices.Contains(topLevel, entry.Name()) {
			broken = append(broken, fmt.Sprintf("%s: nothing new at the top without a reason in docs/decisions", entry.Name()))
		}
	}
	return broken, err
}

func inspectFile(repository fs.FS, name string) ([]string, error) {
	content, err := fs.ReadFile(repository, name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f, ok := floorOf(path.Dir(name))
	if !ok {
		return []string{fmt.Sprintf("%s: lies on no floor of test/rooms/rooms.go", name)}, nil
	}
	var broken []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		ours, isOurs := strings.CutPrefix(imported, modulePath+"/")
		switch {
		case isOurs && !f.mayImport(ours):
			broken = append(broken, fmt.Sprintf("%s: may not import %s: %s", name, ours, f.sentence))
		case f.forbids(imported):
			broken = append(broken, fmt.Sprintf("%s: is pure and may not import %s", name, imported))
		}
	}
	if f.pure && asksTheTime(file) {
		broken = append(broken, fmt.Sprintf("%s: is pure and may not ask for the time; take it as an argument", name))
	}
	return broken, nil
}

// asksTheTime reports whether a file uses the machine's clock. Durations and times as values are fine.
func asksTheTime(file *ast.File) bool {
	asks := false
	ast.Inspect(file, func(node ast.Node) bool {
		if s, ok := node.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			asks = asks || ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker"}, s.Sel.Name)
		}
		return !asks
	})
	return asks
}
