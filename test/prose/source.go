package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// FindInTexts lists what is not plain in the strings of a Go file, which are help texts, messages and conditions. What + joins
// is read as one text, in which each value is a word.
func FindInTexts(path string) ([]string, error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var problems []string
	read := map[ast.Node]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if _, imports := node.(*ast.ImportSpec); imports {
			return false
		}
		expression, isExpression := node.(ast.Expr)
		if !isExpression || read[node] {
			return true
		}
		if text, isText := textOf(expression, read); isText {
			for _, problem := range Find(text) {
				problems = append(problems, positions.Position(node.Pos()).String()+": "+problem)
			}
		}
		return true
	})
	return problems, nil
}

// textOf is the text of a string, or of a sum with a string in it. It notes what it has read.
func textOf(expression ast.Expr, read map[ast.Node]bool) (text string, isText bool) {
	read[expression] = true
	switch part := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(part.Value)
		return text, err == nil && part.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := textOf(part.X, read)
		right, isRight := textOf(part.Y, read)
		return left + right, part.Op == token.ADD && (isLeft || isRight)
	}
	return "VALUE", false
}

// FindInComments lists what is not plain in the comments of a Go file. Directives, markers and indented lines of code are left out.
func FindInComments(path string) ([]string, error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, group := range file.Comments {
		var text strings.Builder
		for line := range strings.Lines(group.Text()) {
			if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "+") {
				text.WriteString(line)
			}
		}
		for _, problem := range Find(text.String()) {
			problems = append(problems, positions.Position(group.Pos()).String()+": "+problem)
		}
	}
	return problems, nil
}
