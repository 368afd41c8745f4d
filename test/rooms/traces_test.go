package rooms

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

// A trace is a numbered list that tells a way through the code, such as docs/architecture.md has. Each item begins with a file
// and functions of it, in the order in which they are called:
//
//  3. `controllers/migration/observe.go` `observe`, `read`: what the CRD is.
//
// A function is named by one further up in the list. For one that is not, the list says who calls it:
//
//  2. `controllers/migration/reconciler.go` `Reconcile` (called by controller-runtime): one CRD.
var (
	traceItem     = regexp.MustCompile("^([0-9]+)\\. `([^`]+\\.go)`((?:,? `\\w+`(?: \\(called by [^)]+\\))?)+):")
	traceFunction = regexp.MustCompile("`(\\w+)`( \\(called by)?")
)

func TestEveryTraceIsTrue(t *testing.T) {
	g := NewWithT(t)
	repository := os.DirFS(root)
	page, err := fs.ReadFile(repository, "docs/architecture.md")
	g.Expect(err).NotTo(HaveOccurred())
	steps, broken := follow(repository, string(page))
	g.Expect(broken).To(BeEmpty(), strings.Join(broken, "\n"))
	g.Expect(steps).To(BeNumerically(">=", 10), "the traces are written as the test expects them")
}

// follow goes through all traces of a page. It returns how many functions they name, and a sentence for each that is not
// there or is not called.
func follow(repository fs.FS, page string) (steps int, broken []string) {
	var named map[string]bool // by the functions further up in the same list
	for line := range strings.Lines(page) {
		item := traceItem.FindStringSubmatch(line)
		if item == nil {
			continue
		}
		if item[1] == "1" {
			named = map[string]bool{}
		}
		for _, function := range traceFunction.FindAllStringSubmatch(item[3], -1) {
			name, byOthers := function[1], function[2] != "" || len(named) == 0
			names, err := namesIn(repository, item[2], name)
			switch {
			case err != nil:
				broken = append(broken, fmt.Sprintf("%s %s: %v", item[2], name, err))
			case !byOthers && !named[name]:
				broken = append(broken, fmt.Sprintf("%s %s: no function further up in the trace calls it", item[2], name))
			}
			maps.Copy(named, names)
			steps++
		}
	}
	return steps, broken
}

// namesIn are the names that the functions and methods of this name in a file use.
func namesIn(repository fs.FS, file, function string) (map[string]bool, error) {
	content, err := fs.ReadFile(repository, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names map[string]bool
	for _, declared := range parsed.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok && f.Name.Name == function {
			names = map[string]bool{function: true}
			ast.Inspect(f, func(node ast.Node) bool {
				if name, ok := node.(*ast.Ident); ok {
					names[name.Name] = true
				}
				return true
			})
		}
	}
	if names == nil {
		return nil, errors.New("there is no such function")
	}
	return names, nil
}

func TestWhatBreaksATraceIsNamed(t *testing.T) {
	repository := fstest.MapFS{
		"a/a.go": {Data: []byte("package a\nfunc Start() { go func() { walk() }() }\nfunc (p *pass) walk() { p.seen = 1 }\n")},
		"b/b.go": {Data: []byte("package b\nfunc Reconcile() { observe() }\nfunc observe() {}\n")},
	}
	for name, c := range map[string]struct{ page, want string }{
		"a trace":                       {"1. `a/a.go` `Start`, `walk`: begins.\n2. `b/b.go` `Reconcile` (called by others), `observe`: goes on.\n", ""},
		"a list of files is none":       {"1. `c/c.go`: read this.\n", ""},
		"no such file":                  {"1. `c/c.go` `Start`: begins.\n", "c/c.go Start: open c/c.go"},
		"no such function":              {"1. `a/a.go` `Begin`: begins.\n", "a/a.go Begin: there is no such function"},
		"nobody calls it":               {"1. `a/a.go` `Start`: begins.\n2. `b/b.go` `observe`: goes on.\n", "b/b.go observe: no function further up in the trace calls it"},
		"it is called further down":     {"1. `a/a.go` `Start`: begins.\n2. `b/b.go` `observe`, `Reconcile` (called by others): goes on.\n", "b/b.go observe: no function"},
		"another list is another trace": {"1. `b/b.go` `Reconcile`: begins.\n\n1. `a/a.go` `Start`: begins.\n2. `b/b.go` `observe`: goes on.\n", "b/b.go observe: no function"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, broken := follow(repository, c.page)
			if c.want == "" {
				g.Expect(broken).To(BeEmpty())
				return
			}
			g.Expect(broken).To(ContainElement(HavePrefix(c.want)))
		})
	}
}
