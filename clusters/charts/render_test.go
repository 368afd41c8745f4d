package charts_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/policies/delivery"
)

const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: NAME}\nspec: {versions: [{name: v1}]}\n---\n"

// folder is a chart on disk, with a Chart.yaml unless there is one.
func folder(t *testing.T, files map[string]string) (dir, root string) {
	t.Helper()
	g := NewWithT(t)
	root = t.TempDir()
	dir = filepath.Join(root, "chart")
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: widgets\nversion: 1.2.3\n"}
	maps.Copy(all, files)
	for name, content := range all {
		file := filepath.Join(dir, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	}
	return dir, root
}

func rendered(t *testing.T, files map[string]string, r charts.Release) (*charts.Rendering, error) {
	t.Helper()
	chart, err := charts.Folder(folder(t, files))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return chart.Render(t.Context(), r)
}

func names(objects []*delivery.Object) []string {
	var found []string
	for _, object := range objects {
		found = append(found, object.GetName())
	}
	slices.Sort(found)
	return found
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n---\n"
}

func TestAChartIsRendered(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		release charts.Release
		objects []string
		crds    []string
	}{
		"its own values": {files: map[string]string{"values.yaml": "a: one", "templates/x.yaml": configMap("{{ .Values.a }}-{{ .Chart.Version }}")}, objects: []string{"one-1.2.3"}},
		"values over them": {
			files:   map[string]string{"values.yaml": "a: {b: one, c: two}", "templates/x.yaml": configMap("{{ .Values.a.b }}-{{ .Values.a.c }}")},
			release: charts.Release{Values: map[string]any{"a": map[string]any{"b": "three"}}}, objects: []string{"three-two"},
		},
		"the release":                  {files: map[string]string{"templates/x.yaml": configMap("{{ .Release.Name }}-{{ .Release.Namespace }}")}, release: charts.Release{Name: "r", Namespace: "n"}, objects: []string{"r-n"}},
		"CRDs beside the templates":    {files: map[string]string{"crds/x.yaml": strings.ReplaceAll(crd, "NAME", "'{{x}}'"), "templates/x.yaml": configMap("y")}, objects: []string{"y"}, crds: []string{"{{x}}"}},
		"a chart in a chart":           {files: map[string]string{"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/templates/x.yaml": configMap("sub"), "charts/sub/crds/x.yaml": strings.ReplaceAll(crd, "NAME", "x")}, objects: []string{"sub"}, crds: []string{"x"}},
		"one that is switched off":     {files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: widgets\nversion: 1.2.3\ndependencies: [{name: sub, version: 1.0.0, condition: sub.enabled}]", "values.yaml": "sub: {enabled: false}", "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/templates/x.yaml": configMap("sub")}},
		"one that is off and not here": {files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: widgets\nversion: 1.2.3\ndependencies: [{name: sub, version: 1.0.0, condition: sub.enabled}]", "values.yaml": "sub: {enabled: false}", "templates/x.yaml": configMap("x")}, objects: []string{"x"}},
		"hooks, but not those of tests and of a deletion": {files: map[string]string{
			"templates/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n",
			"templates/b.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: before, annotations: {helm.sh/hook: 'pre-install, pre-delete'}}\n",
			"templates/c.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: gone, annotations: {helm.sh/hook: post-delete}}\n",
		}, objects: []string{"before"}},
		"notes and partials":                    {files: map[string]string{"templates/NOTES.txt": "kind: X", "templates/_x.tpl": `{{ define "n" }}named{{ end }}`, "templates/x.yaml": configMap(`{{ include "n" . }}`)}, objects: []string{"named"}},
		"what .helmignore leaves":               {files: map[string]string{".helmignore": "templates/y.yaml", "templates/x.yaml": configMap("x"), "templates/y.yaml": configMap("y")}, objects: []string{"x"}},
		"nothing is looked up":                  {files: map[string]string{"templates/x.yaml": configMap(`x{{ len (lookup "v1" "Secret" "" "") }}{{ getHostByName "localhost" }}`)}, objects: []string{"x0"}},
		"files of the chart itself":             {files: map[string]string{"files/x.yaml": configMap("file"), "templates/x.yaml": `{{ .Files.Get "files/x.yaml" }}{{ .Files.Get "../../secret" }}`}, objects: []string{"file"}},
		"a Kubernetes of its own":               {files: map[string]string{"templates/x.yaml": `{{ if .Capabilities.APIVersions.Has "a.b/v1" }}` + configMap("v{{ .Capabilities.KubeVersion.Minor }}") + "{{ end }}"}, release: charts.Release{KubeVersion: "1.30", APIVersions: []string{"a.b/v1"}}, objects: []string{"v30"}},
		"Kubernetes' own APIs":                  {files: map[string]string{"templates/x.yaml": `{{ if .Capabilities.APIVersions.Has "apiextensions.k8s.io/v1" }}` + configMap("{{ .Capabilities.KubeVersion.Version }}") + "{{ end }}"}, objects: []string{charts.KubeVersion}},
		"documents without a line of their own": {files: map[string]string{"templates/x.yaml": "---apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}, objects: []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := rendered(t, c.files, c.release)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names(got.Objects)).To(Equal(c.objects))
			g.Expect(names(got.CRDs)).To(Equal(c.crds))
		})
	}
}

func TestAChartThatCannotBeRenderedSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a value that is required":      {map[string]string{"templates/x.yaml": `{{ required "give it a name" .Values.name }}`}, "give it a name"},
		"a dependency that is not here": {map[string]string{"Chart.yaml": "apiVersion: v2\nname: widgets\nversion: 1.2.3\ndependencies: [{name: sub, version: 1.0.0, repository: 'https://x'}]"}, "its dependency sub 1.0.0 is not in charts/"},
		"a newer Kubernetes":            {map[string]string{"Chart.yaml": "apiVersion: v2\nname: widgets\nversion: 1.2.3\nkubeVersion: '>=1.99'"}, "it needs Kubernetes >=1.99"},
		"values that break a schema":    {map[string]string{"values.yaml": "a: 1", "values.schema.json": `{"properties": {"a": {"type": "string"}}}`}, "values.schema.json"},
		"no YAML":                       {map[string]string{"templates/x.yaml": "a: b: c"}, "no manifest"},
		"an endless template":           {map[string]string{"templates/x.yaml": "{{ range until 2000000000 }}x{{ end }}"}, "too long"},
		"a text of gigabytes":           {map[string]string{"templates/x.yaml": `{{ repeat 2000000000 "x" }}`}, "too long"},
		"a template of itself":          {map[string]string{"templates/x.yaml": `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`}, "nested reference"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rendered(t, c.files, charts.Release{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

// A schema may name any file or address. Helm would read it.
func TestASchemaIsNotTakenFromElsewhere(t *testing.T) {
	for name, reference := range map[string]string{"a file": "file:///etc/hostname", "an address": "http://127.0.0.1:1/x.json"} {
		t.Run(name, func(t *testing.T) {
			_, err := rendered(t, map[string]string{"values.schema.json": `{"properties": {"a": {"$ref": "` + reference + `"}}}`}, charts.Release{Values: map[string]any{"a": "b"}})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		})
	}
}

// Two renderings of one chart are compared, so what Helm makes up is the same each time.
func TestWhatHelmMakesUpIsTheSameEachTime(t *testing.T) {
	g := NewWithT(t)
	files := map[string]string{"templates/x.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: x}
data:
  a: {{ randAlphaNum 8 }}{{ uuidv4 }}{{ now | date "2006" }}
  {{ $ca := genCA "ca" 1 }}{{ $cert := genSignedCert "c" (list) nil 1 $ca }}
  b: {{ $cert.Cert | b64enc }}{{ genPrivateKey "rsa" | b64enc }}{{ $ca.Key | b64enc }}
  c: {{ htpasswd "a" "b" }}{{ derivePassword 1 "long" "a" "b" "c" }}
`}
	one, err := rendered(t, files, charts.Release{})
	g.Expect(err).NotTo(HaveOccurred())
	other, err := rendered(t, files, charts.Release{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one.Objects[0].Object).To(Equal(other.Objects[0].Object))
}

// What was rendered is kept, and no caller gets the objects of another one.
func TestTheSameChartIsRenderedOnce(t *testing.T) {
	g := NewWithT(t)
	// A template that takes some time, so that it shows, and that was not rendered before.
	files := map[string]string{"templates/x.yaml": fmt.Sprintf("{{/* %d */}}{{ range 3000000 }}{{ end }}", time.Now().UnixNano()) + configMap("x"), "crds/x.yaml": strings.ReplaceAll(crd, "NAME", "x")}
	took := func() (*charts.Rendering, string, time.Duration) {
		dir, root := folder(t, files)
		chart, err := charts.Folder(dir, root)
		g.Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		got, err := chart.Render(t.Context(), charts.Release{Name: "kept"})
		g.Expect(err).NotTo(HaveOccurred())
		return got, dir, time.Since(began)
	}
	one, dir, first := took()
	one.Objects[0].SetName("changed")
	g.Expect(one.CRDs[0].Place("spec").File).To(HavePrefix(dir))
	other, dir, second := took()
	g.Expect(second).To(BeNumerically("<", first/4))
	g.Expect(names(other.Objects)).To(Equal([]string{"x"}))
	g.Expect(other.Objects[0].Place().File).To(Equal(filepath.Join(dir, "templates", "x.yaml")))
	g.Expect(other.CRDs[0].Place("spec").String()).To(Equal(filepath.Join(dir, "crds", "x.yaml") + ":4"))
}

func TestARenderingThatTakesTooLongIsGivenUp(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	chart, err := charts.Folder(folder(t, map[string]string{"templates/x.yaml": "{{ range 300000000 }}{{ end }}"}))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = chart.Render(ctx, charts.Release{})
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
	g.Expect(time.Since(began)).To(BeNumerically("<", 5*time.Second))
}

func TestAFolderIsReadWithinItsRepository(t *testing.T) {
	g := NewWithT(t)
	dir, root := folder(t, map[string]string{"templates/x.yaml": configMap("x")})
	g.Expect(os.WriteFile(filepath.Join(root, "beside.yaml"), []byte(configMap("beside")), 0o600)).To(Succeed())
	g.Expect(os.Symlink("../../beside.yaml", filepath.Join(dir, "templates", "y.yaml"))).To(Succeed())
	chart, err := charts.Folder(dir, root)
	g.Expect(err).NotTo(HaveOccurred())
	got, err := chart.Render(t.Context(), charts.Release{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(got.Objects)).To(Equal([]string{"beside", "x"}))

	_, err = charts.Folder(dir, dir)
	g.Expect(err).To(MatchError(ContainSubstring("leads out of the repository")))

	g.Expect(os.Symlink("..", filepath.Join(dir, "templates", "loop"))).To(Succeed())
	_, err = charts.Folder(dir, root)
	g.Expect(err).To(HaveOccurred())
}
