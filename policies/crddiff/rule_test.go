package crddiff

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// declared are the rules in rule.go, each with its comment.
func declared(t *testing.T) map[Rule]string {
	t.Helper()
	g := NewWithT(t)
	file, err := parser.ParseFile(token.NewFileSet(), "rule.go", nil, parser.ParseComments)
	g.Expect(err).NotTo(HaveOccurred())
	rules := map[Rule]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value := spec.Values[0].(*ast.BasicLit).Value
		g.Expect(strings.Trim(value, `"`)).To(Equal(spec.Names[0].Name))
		rules[Rule(spec.Names[0].Name)] = spec.Doc.Text()
		return false
	})
	return rules
}

func TestEveryRuleSaysWhatItMeans(t *testing.T) {
	for rule, comment := range declared(t) {
		NewWithT(t).Expect(comment).To(HavePrefix(string(rule) + ": "))
	}
}

// A rule that no case shows is a rule that was never seen.
func TestEveryRuleHasACase(t *testing.T) {
	shown := map[Rule]bool{}
	for _, folder := range folders(t) {
		for _, crd := range Sets(read(t, filepath.Join(folder, "base.yaml")), read(t, filepath.Join(folder, "head.yaml")), v1alpha1.MigrateLabel) {
			for _, change := range crd.Changes {
				shown[change.Rule] = true
			}
		}
	}
	all := declared(t)
	for rule := range all {
		NewWithT(t).Expect(shown).To(HaveKey(rule))
	}
	for rule := range shown {
		NewWithT(t).Expect(all).To(HaveKey(rule), "rule.go lists all rules")
	}
}
