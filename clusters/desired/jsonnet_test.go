package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Argo CD runs the Jsonnet of a folder. What fails here is unseen, and counts by its files.
func TestTheJsonnetOfAnApplicationIsRun(t *testing.T) {
	const (
		ofX     = "{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'x'}}"
		ofNames = "function(names=['a'], prefix='') [{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: prefix + n}} for n in names]"
	)
	type made struct {
		directory string
		files     files
		units     []string
		unseen    string
	}
	for name, c := range map[string]made{
		"an object":                  {"", files{"a/x.jsonnet": ofX}, []string{"entry: a", "argocd/a: x"}, ""},
		"a list":                     {"", files{"a/x.jsonnet": ofNames}, []string{"entry: a", "argocd/a: a"}, ""},
		"manifests beside it":        {"", files{"a/x.jsonnet": ofX, "a/y.yaml": configMap("y"), "a/z.libsonnet": "{}"}, []string{"entry: a", "argocd/a: x y"}, ""},
		"arguments":                  {"jsonnet: {tlas: [{name: names, value: \"['b', 'c']\", code: true}, {name: prefix, value: $ARGOCD_APP_NAME-}]}", files{"a/x.jsonnet": ofNames}, []string{"entry: a", "argocd/a: a-b a-c"}, ""},
		"variables":                  {"jsonnet: {extVars: [{name: n, value: v}]}", files{"a/x.jsonnet": ofX + " + {metadata: {name: std.extVar('n')}}"}, []string{"entry: a", "argocd/a: v"}, ""},
		"what lies beside it":        {"", files{"a/x.jsonnet": "import '../lib/x.libsonnet'", "lib/x.libsonnet": "import 'y.libsonnet'", "lib/y.libsonnet": ofX}, []string{"entry: a", "argocd/a: x"}, ""},
		"a library":                  {"jsonnet: {libs: [lib, more]}", files{"a/x.jsonnet": "import 'x.libsonnet'", "lib/x.libsonnet": "{}", "more/x.libsonnet": ofX}, []string{"entry: a", "argocd/a: x"}, ""},
		"what it makes leads on":     {"", files{"a/x.jsonnet": "std.parseYaml(importstr '../lib/b.txt')[0]", "lib/b.txt": app("b", "source: {path: b}"), "b/x.yaml": configMap("x")}, []string{"entry: a", "argocd/a: b", "argocd/b: x"}, ""},
		"what is excluded":           {"exclude: x.*", files{"a/x.jsonnet": "error 'x'", "a/y.jsonnet": ofX}, []string{"entry: a", "argocd/a: x"}, ""},
		"what is not in the folder":  {"", files{"a/x.jsonnet": ofX, "a/b/y.jsonnet": "error 'y'"}, []string{"entry: a", "argocd/a: x"}, ""},
		"what fails":                 {"", files{"a/x.jsonnet": "error 'it'"}, nil, "RUNTIME ERROR: it"},
		"what is no manifest":        {"", files{"a/x.jsonnet": "{x: 1}"}, nil, "it makes what is no manifest"},
		"what is outside":            {"", files{"a/x.jsonnet": "import '../../x.libsonnet'"}, nil, "there is no file ../../x.libsonnet"},
		"what is anywhere":           {"", files{"a/x.jsonnet": "import '/etc/passwd'"}, nil, "there is no file /etc/passwd"},
		"a variable that is unknown": {"jsonnet: {tlas: [{name: names, value: $ARGOCD_APP_REVISION}]}", files{"a/x.jsonnet": ofNames}, nil, "the value of $ARGOCD_APP_REVISION is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, with(c.files, files{"entry/a.yaml": app("a", "source: {path: a, directory: {"+c.directory+"}}")}))
			if c.unseen != "" {
				g.Expect(unseen(cluster)).To(ConsistOf(And(HavePrefix("Application argocd/a: it is rendered by jsonnet; "), ContainSubstring(c.unseen))))
				return
			}
			g.Expect(unseen(cluster)).To(BeEmpty())
			g.Expect(units(cluster)).To(Equal(c.units))
		})
	}
}
