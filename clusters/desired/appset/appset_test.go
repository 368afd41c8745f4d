package appset

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/render"
)

// repository is a tree of files by their paths.
type repository map[string]string

// Folders implements Repository.
func (r repository) Folders() (found []string) {
	for file := range r {
		for parts := strings.Split(file, "/"); len(parts) > 1; parts = parts[:len(parts)-1] {
			found = append(found, strings.Join(parts[:len(parts)-1], "/"))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Files implements Repository.
func (r repository) Files(fits func(string) bool) (map[string][]byte, error) {
	found := map[string][]byte{}
	for file, content := range r {
		if fits(file) {
			found[file] = []byte(content)
		}
	}
	return found, nil
}

func secret(name, server string, labels ...string) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(name))
	text := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s-" + name + "\n  annotations: {tier: gold}\n  labels:\n    argocd.argoproj.io/secret-type: cluster\n"
	for _, label := range labels {
		text += "    " + label + "\n"
	}
	return text + "data: {name: " + encoded + "}\nstringData: {server: '" + server + "', project: p}\n---\n"
}

var fleet = secret("one", "https://one.example.com", "env: prod") + secret("Two_2", "https://two.example.com", "env: test") +
	"apiVersion: v1\nkind: Secret\nmetadata: {name: other}\nstringData: {name: no}\n"

// expanded are the name, the path and the value of each Application.
func expanded(t *testing.T, set string, r repository, clusters []Cluster) ([]string, error) {
	t.Helper()
	g := NewWithT(t)
	read, err := render.Stream("set.yaml", strings.NewReader(set))
	g.Expect(err).NotTo(HaveOccurred())
	all, err := Applications(read.Objects[0], r, clusters)
	var found []string
	for _, one := range all {
		g.Expect(one.GetKind()).To(Equal("Application"))
		g.Expect(one.GetNamespace()).To(Equal("argocd"))
		found = append(found, one.GetName()+" "+one.Text("spec", "source", "path")+" "+one.Text("spec", "source", "targetRevision"))
	}
	return found, err
}

// setOf is an ApplicationSet.
func setOf(generators, name, path, revision string, more ...string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n" + strings.Join(more, "") +
		"  generators:\n" + generators + "  template:\n    metadata: {name: '" + name + "'}\n    spec: {source: {repoURL: 'https://git.example.com/it', path: '" + path + "', targetRevision: '" + revision + "'}}\n"
}

const isGo = "  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n"

func TestEachGeneratorGivesWhatArgoCDSays(t *testing.T) {
	files := repository{"apps/a/x.yaml": "", "apps/b/x.yaml": "", "apps/b/deep/x.yaml": "", "conf/one.yaml": "{env: prod, deep: {num: 1}}", "conf/two.json": "[{\"env\": \"test\"}, {\"env\": \"dev\"}]"}
	known, err := Clusters("fleet.yaml", []byte(fleet))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		set   string
		want  []string
		fails string
	}{
		"a list":                            {set: setOf("  - list: {elements: [{env: a, n: 1}, {env: b, n: 2}]}\n", "{{env}}", "x/{{ n }}", "v"), want: []string{"a x/1 v", "b x/2 v"}},
		"a list in Go":                      {set: setOf("  - list: {elements: [{env: a, of: {n: 1}}]}\n", "{{.env | upper}}", "x/{{ .of.n }}", "v", isGo), want: []string{"A x/1 v"}},
		"a list that another one makes":     {set: setOf("  - matrix:\n      generators:\n      - git: {files: [{path: conf/one.yaml}]}\n      - list: {elementsYaml: '[{of: \"{{ .env }}\"}]'}\n", "{{.of}}", "x", "v", isGo), want: []string{"prod x v"}},
		"folders":                           {set: setOf("  - git: {directories: [{path: apps/*}, {path: apps/a, exclude: true}]}\n", "{{path.basename}}", "{{path}}", "{{path[0]}}"), want: []string{"b apps/b apps"}},
		"folders in Go":                     {set: setOf("  - git: {directories: [{path: apps/*}], values: {v: 'of-{{.path.basename}}'}}\n", "{{.path.basename}}", "{{.path.path}}", "{{.values.v}}{{index .path.segments 0}}", isGo), want: []string{"a apps/a of-aapps", "b apps/b of-bapps"}},
		"files":                             {set: setOf("  - git: {files: [{path: 'conf/**'}]}\n", "{{env}}", "{{path.filename}}", "v"), want: []string{"prod one.yaml v", "test two.json v", "dev two.json v"}},
		"files, with a prefix":              {set: setOf("  - git: {files: [{path: conf/one.yaml}], pathParamPrefix: my}\n", "{{deep.num}}", "{{my.path}}", "v"), want: []string{"1 conf v"}},
		"a merge":                           {set: setOf("  - merge:\n      mergeKeys: [env]\n      generators:\n      - list: {elements: [{env: a, n: x}, {env: b, n: y}]}\n      - list: {elements: [{env: b, n: z}]}\n", "{{env}}", "{{n}}", "v"), want: []string{"a x v", "b z v"}},
		"a selector":                        {set: setOf("  - list: {elements: [{env: a}, {env: b}]}\n    selector: {matchLabels: {env: b}}\n", "{{env}}", "x", "v"), want: []string{"b x v"}},
		"a patch over the template":         {set: setOf("  - list: {elements: [{env: a}]}\n", "{{.env}}", "x", "v", isGo, "  templatePatch: '{spec: {source: {path: \"{{ .env }}/y\"}}}'\n"), want: []string{"a a/y v"}},
		"clusters":                          {set: setOf("  - clusters: {}\n", "{{name}}", "{{metadata.labels.env}}", "{{server}}"), fails: "{{metadata.labels.env}}"}, // the own cluster has no labels
		"clusters by a label":               {set: setOf("  - clusters: {selector: {matchLabels: {env: prod}}, values: {at: 'x-{{name}}'}}\n", "{{nameNormalized}}", "{{metadata.annotations.tier}}/{{values.at}}", "{{server}}{{project}}"), want: []string{"one gold/x-one https://one.example.comp"}},
		"clusters by an expression, in Go":  {set: setOf("  - clusters: {selector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}}\n", "{{.nameNormalized}}", "{{.metadata.labels.env}}", "{{.server}}", isGo), want: []string{"two-2 test https://two.example.com"}},
		"clusters with the own one":         {set: setOf("  - clusters: {}\n", "{{.name}}", "x", "{{.server}}", isGo), want: []string{"Two_2 x https://two.example.com", "one x https://one.example.com", "in-cluster x https://kubernetes.default.svc"}},
		"clusters in one Application":       {set: setOf("  - clusters: {flatList: true, selector: {matchExpressions: [{key: env, operator: Exists}]}}\n", "all", "x", "{{range .clusters}}{{.name}};{{end}}", isGo), want: []string{"all x Two_2;one;"}},
		"clusters by what a matrix knows":   {set: setOf("  - matrix:\n      generators:\n      - git: {files: [{path: conf/one.yaml}]}\n      - clusters: {selector: {matchLabels: {env: '{{.env}}'}}, values: {v: '{{.server}}'}}\n", "{{.name}}", "{{.env}}", "{{.values.v}}", isGo), want: []string{"one prod https://one.example.com"}},
		"no cluster has the label":          {set: setOf("  - clusters: {selector: {matchLabels: {env: none}}}\n", "{{name}}", "x", "v"), fails: "nothing"},
		"what only a cluster can run":       {set: setOf("  - pullRequest: {github: {owner: a, repo: b}}\n", "{{branch}}", "x", "v"), fails: "not known without a cluster"},
		"a template in a generator":         {set: setOf("  - list: {elements: [{env: a}], template: {metadata: {name: x}}}\n", "{{env}}", "x", "v"), fails: "templates of their own"},
		"a name that is not given":          {set: setOf("  - list: {elements: [{env: a}]}\n", "{{other}}", "x", "v"), fails: "{{other}}"},
		"a name that is not given, in Go":   {set: setOf("  - list: {elements: [{env: a}]}\n", "{{.other}}", "x", "v", "  goTemplate: true\n"), fails: "not all is known"},
		"a function that is random":         {set: setOf("  - list: {elements: [{env: a}]}\n", "{{randAlpha 3}}", "x", "v", isGo), fails: "randAlpha"},
		"the environment":                   {set: setOf("  - list: {elements: [{env: a}]}\n", "{{env \"HOME\"}}", "x", "v", isGo), fails: "env"},
		"dig, printf, normalize and toYaml": {set: setOf("  - list: {elements: [{of: {is: 'A_b'}}]}\n", "{{dig \"of\" \"is\" \"\" . | normalize}}", "{{printf \"%s-x\" .of.is}}", "{{toYaml .of}}", isGo), want: []string{"a-b A_b-x is: A_b"}},
		"slugify":                           {set: setOf("  - list: {elements: [{n: 'One rather_long.name'}]}\n", "{{slugify .n}}", "{{slugify 7 true .n}}", "{{slugify 6 false .n}}", isGo), want: []string{"one-rather-long-name one one-ra"}},
		"slugify of what is no length":      {set: setOf("  - list: {elements: [{n: a}]}\n", "{{slugify \"x\" .n}}", "x", "v", isGo), fails: "slugify does not take"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, err := expanded(t, c.set, files, known)
			if c.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(Equal(c.want))
		})
	}
	_, err = expanded(t, setOf("  - clusters: {}\n", "{{name}}", "x", "v"), files, nil)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("--cluster-secrets")))
}

func TestClustersAreReadFromTheirSecrets(t *testing.T) {
	for name, c := range map[string]struct{ content, fails string }{
		"none":          {"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n", "holds no Secret with the label argocd.argoproj.io/secret-type: cluster"},
		"no YAML":       {"a: b: c\n", "neither YAML nor JSON"},
		"broken base64": {strings.NewReplacer("stringData: {server: 'u', project: p}", "", "data: {name: ", "data: {server: '!', name: ").Replace(secret("x", "u")), "Secret s-x: server: illegal base64"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := Clusters("f.yaml", []byte(c.content))
			g.Expect(err).To(MatchError(ContainSubstring(c.fails)))
		})
	}
	g := NewWithT(t)
	all, err := Clusters("f.yaml", []byte("apiVersion: v1\nkind: List\nitems:\n- "+strings.TrimSpace(strings.ReplaceAll(strings.TrimSuffix(secret("one", "u", "env: a"), "---\n"), "\n", "\n  "))+"\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0].Name + all[0].Server + all[0].Project).To(Equal("oneup"))
	g.Expect(slices.Sorted(maps.Keys(all[0].Labels))).To(Equal([]string{"argocd.argoproj.io/secret-type", "env"}))
}
