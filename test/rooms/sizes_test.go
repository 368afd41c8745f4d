package rooms

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	mostOfFile     = 320
	mostOfFunction = 60
)

// TestNothingIsTooLong holds files to what one reads at once, and functions to a screen. A test may be as long as its table.
func TestNothingIsTooLong(t *testing.T) {
	g := NewWithT(t)
	var long []string
	g.Expect(eachFile(func(name string, set *token.FileSet, file *ast.File) {
		long = append(long, tooLong(name, set, file)...)
	})).To(Succeed())
	g.Expect(long).To(BeEmpty(), strings.Join(long, "\n"))
}

// eachFile goes through the Go files that are not generated.
func eachFile(visit func(name string, set *token.FileSet, file *ast.File)) error {
	return fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (ignored(name) || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasPrefix(entry.Name(), "zz_generated"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, root+"/"+name, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(name, set, file)
		}
		return err
	})
}

func tooLong(name string, set *token.FileSet, file *ast.File) (long []string) {
	line := func(at token.Pos) int { return set.Position(at).Line }
	if n := line(file.FileEnd); n > mostOfFile {
		long = append(long, fmt.Sprintf("%s has %d lines; %d are the most", name, n, mostOfFile))
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if n := line(f.End()) - line(f.Pos()) + 1; n > mostOfFunction {
			long = append(long, fmt.Sprintf("%s: %s has %d lines; %d are the most", name, f.Name.Name, n, mostOfFunction))
		}
	}
	return long
}
