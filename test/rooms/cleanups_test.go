package rooms

import (
	"go/ast"
	"go/token"
	"testing"

	. "github.com/onsi/gomega"
)

// The context of a test is cancelled before its cleanup functions run, so what they ask with it is never done, and what the
// test has made stays for the next one.
func TestNoCleanupUsesTheContextOfItsTest(t *testing.T) {
	g := NewWithT(t)
	var used []string
	g.Expect(eachFile(func(_ string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, is := node.(*ast.CallExpr)
			if !is || !selects(call, "Cleanup") || len(call.Args) != 1 {
				return true
			}
			if function, is := call.Args[0].(*ast.FuncLit); is {
				ast.Inspect(function, func(node ast.Node) bool {
					inside, is := node.(*ast.CallExpr)
					if is && selects(inside, "Context") && len(inside.Args) == 0 {
						used = append(used, set.Position(inside.Pos()).String())
					}
					return !is || !selects(inside, "WithoutCancel")
				})
			}
			return true
		})
	})).To(Succeed())
	g.Expect(used).To(BeEmpty(), "take context.WithoutCancel(t.Context())")
}

// selects reports whether a method of this name is called, of whatever it is.
func selects(call *ast.CallExpr, method string) bool {
	selected, is := call.Fun.(*ast.SelectorExpr)
	return is && selected.Sel.Name == method
}
