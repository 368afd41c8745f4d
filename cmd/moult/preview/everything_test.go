package preview

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: metadata}\n"

// without is the CRD without v1alpha1.
var without = strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)

// What lies in an operator's repository: manifests of its own, files of tools, and CRDs wherever they are kept.
func TestEveryCRDOfARepositoryIsCompared(t *testing.T) {
	common := map[string]string{
		"metadata.yaml": configMap, ".goreleaser.yml": "builds: []\n", "charts/widgets/values.yaml": "replicas: 1\n", "Tiltfile.json": "[]",
		"broken.yaml": "{{ if }}\n", "docs/snippets/apps.yaml": appsKustomization, "internal/testdata/crd.yaml": widgetsCRD,
	}
	template := "{{- if .Values.crds }}\n" + widgetsCRD + "{{- end }}\n"
	for name, c := range map[string]struct {
		base, head map[string]string
		code       int
		says       []string
	}{
		"a version leaves, in a folder of plain files": {
			map[string]string{"config/crd/bases/w.yaml": widgetsCRD}, map[string]string{"config/crd/bases/w.yaml": without},
			cli.ExitUnknown, []string{"widgets.example.com", "v1alpha1", "every CRD in the files, 1 in --base and 1 in --head, in config/crd/bases"}},
		"in a chart's folder": {
			map[string]string{"charts/widgets/crds/w.yaml": widgetsCRD}, map[string]string{"charts/widgets/crds/w.yaml": without}, cli.ExitUnknown, []string{"v1alpha1"}},
		"in one of two copies": {
			map[string]string{"config/crd/w.yaml": widgetsCRD, "deploy/w.yaml": widgetsCRD}, map[string]string{"config/crd/w.yaml": widgetsCRD, "deploy/w.yaml": without},
			cli.ExitUnknown, []string{"deploy"}},
		"the file is moved, and nothing else": {
			map[string]string{"config/crd/w.yaml": widgetsCRD}, map[string]string{"deploy/w.yaml": widgetsCRD}, 0, []string{"no CRD changes"}},
		"the file is moved, and a version leaves": {
			map[string]string{"config/crd/w.yaml": widgetsCRD}, map[string]string{"deploy/w.yaml": without}, cli.ExitUnknown, []string{"v1alpha1"}},
		"a template changes": {
			map[string]string{"charts/widgets/templates/w.yaml": template}, map[string]string{"charts/widgets/templates/w.yaml": template + "\n"},
			cli.ExitUnknown, []string{"charts/widgets/templates/w.yaml", "it is a template that declares CRDs"}},
		"a template stays": {
			map[string]string{"charts/widgets/templates/w.yaml": template}, map[string]string{"charts/widgets/templates/w.yaml": template, "README.yaml": "x: y\n"}, 0, nil},
		"a template that is YAML": {
			map[string]string{"deploy/crds/w.yaml": templated(widgetsCRD)}, map[string]string{"deploy/crds/w.yaml": templated(strings.Replace(widgetsCRD, "plural: widgets", "plural: widgets, shortNames: [w]", 1))},
			0, []string{"ShortNamesAdded"}},
		"a CRD comes that cannot be read": {
			nil, map[string]string{"crds/w.yaml": strings.Replace(widgetsCRD, "  scope", "   scope", 1)}, cli.ExitUnknown, []string{"crds/w.yaml", "it is about CRDs, and fails"}},
		"only a test's own CRD changes": {
			map[string]string{"internal/testdata/crd.yaml": widgetsCRD}, map[string]string{"internal/testdata/crd.yaml": without}, 0, nil},
		"a kustomization has the last word": {
			map[string]string{"config/crd/bases/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [bases/w.yaml]\n"},
			map[string]string{"config/crd/bases/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [bases/w.yaml]\npatches:\n- patch: |-\n    - {op: remove, path: /spec/versions/0}\n  target: {kind: CustomResourceDefinition}\n"},
			cli.ExitUnknown, []string{"v1alpha1"}},
		"a kustomization is made of another file of that CRD": {
			map[string]string{"crd/standard/w.yaml": widgetsCRD, "crd/experimental/w.yaml": widgetsCRD, "crd/kustomization.yaml": "resources: [standard/w.yaml]\n"},
			map[string]string{"crd/standard/w.yaml": widgetsCRD, "crd/experimental/w.yaml": without, "crd/kustomization.yaml": "resources: [standard/w.yaml]\n"},
			cli.ExitUnknown, []string{"crd/experimental"}},
		"two channels move to folders of other names": {
			map[string]string{"crd/experimental/w.yaml": widgetsCRD, "crd/standard/w.yaml": without},
			map[string]string{"crd/release/w.yaml": without, "crd/unstable/w.yaml": widgetsCRD}, 0, []string{"no CRD changes"}},
		"a patch that no kustomization lists any more": {
			map[string]string{"config/w.yaml": widgetsCRD, "config/patch.yaml": labelPatch, "config/kustomization.yaml": "resources: [w.yaml]\npatches: [{path: patch.yaml}]\n"},
			map[string]string{"config/w.yaml": widgetsCRD, "config/patch.yaml": labelPatch, "config/kustomization.yaml": "resources: [w.yaml]\n"}, 0, nil},
		"a manifest at the version that is no longer served": {
			map[string]string{"crd/w.yaml": widgetsCRD, "deploy/one.yaml": oldWidget}, map[string]string{"crd/w.yaml": unserved, "deploy/one.yaml": oldWidget},
			cli.ExitNotDone, []string{"deploy/one.yaml"}},
		"an example at the version that is no longer served": {
			map[string]string{"crd/w.yaml": widgetsCRD, "config/samples/one.yaml": oldWidget}, map[string]string{"crd/w.yaml": unserved, "config/samples/one.yaml": oldWidget},
			0, []string{"config/samples/one.yaml"}},
		"a chart of another repository is bumped": {
			map[string]string{"charts/w/Chart.yaml": umbrella}, map[string]string{"charts/w/Chart.yaml": strings.Replace(umbrella, "1.0.0", "2.0.0", 1)},
			cli.ExitUnknown, []string{"charts/w/Chart.yaml", "charts of other repositories"}},
		"a packed chart is another": {
			map[string]string{"charts/w/charts/x.tgz": "one"}, map[string]string{"charts/w/charts/x.tgz": "two"}, cli.ExitUnknown, []string{"it is a packed chart"}},
		"a template of another language loses a version": {
			map[string]string{"roles/w.yaml.j2": templated(widgetsCRD)}, map[string]string{"roles/w.yaml.j2": templated(without)}, cli.ExitUnknown, []string{"v1alpha1"}},
		"the chart of an Application at the root is bumped": {
			map[string]string{"app.yaml": chartApplication}, map[string]string{"app.yaml": strings.Replace(chartApplication, "1.0.0", "2.0.0", 1)},
			cli.ExitUnknown, []string{"it comes from the chart c"}},
		"a bundle comes beside the one of the release before": {
			map[string]string{"bundle/0.1.0/w.yaml": widgetsCRD}, map[string]string{"bundle/0.1.0/w.yaml": widgetsCRD, "bundle/0.2.0/w.yaml": without},
			cli.ExitUnknown, []string{"bundle/0.2.0", "v1alpha1"}},
		"a copy comes that is like the others": {
			map[string]string{"config/w.yaml": widgetsCRD}, map[string]string{"config/w.yaml": widgetsCRD, "chart/crds/w.yaml": widgetsCRD}, 0, []string{"no CRD changes"}},
		"CRDs in a list": {
			map[string]string{"w.yaml": listed(widgetsCRD)}, map[string]string{"w.yaml": listed(without)}, cli.ExitUnknown, []string{"v1alpha1"}},
		"a kustomization of it cannot be built any more": {
			map[string]string{"config/crd/bases/w.yaml": widgetsCRD, "config/crd/kustomization.yaml is new, or can no longer be seen": "resources: [bases/w.yaml]\n"},
			map[string]string{"config/crd/bases/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [bases/w.yaml, missing.yaml]\n"},
			cli.ExitUnknown, []string{"config/crd/kustomization.yaml", "missing.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for side, more := range map[string]map[string]string{"base/": c.base, "head/": c.head} {
				all := maps.Clone(common)
				maps.Copy(all, more)
				for file, content := range all {
					files[side+file] = content
				}
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(out).NotTo(ContainSubstring("of today refuses it"))
			for _, says := range c.says {
				g.Expect(strings.Join(strings.Fields(out+errOut), " ")).To(ContainSubstring(says))
			}
		})
	}
}

// unserved is the CRD with a v1alpha1 that is not served.
var unserved = strings.Replace(widgetsCRD, "{name: v1alpha1, served: true", "{name: v1alpha1, served: false", 1)

const (
	oldWidget  = "apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: one}\n"
	umbrella   = "apiVersion: v2\nname: w\ndependencies:\n- {name: x, version: 1.0.0, repository: 'https://charts.example.com'}\n"
	labelPatch = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com, labels: {a: b}}\n"
)

const chartApplication = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: c, namespace: argocd}
spec:
  source: {repoURL: 'https://charts.example.com', chart: c, targetRevision: 1.0.0}
  destination: {server: 'https://kubernetes.default.svc', namespace: c}
`

// listed is a list of one CRD.
func listed(crd string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinitionList\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(crd), "\n", "\n  ") + "\n"
}

// templated is a CRD with a label that a chart fills in.
func templated(crd string) string {
	return strings.Replace(crd, "metadata: {", `metadata: {labels: {app: '{{ template "widgets.name" . }}'}, `, 1)
}

// A broken kustomization at the root says what is applied; nothing is guessed in its place.
func TestARootThatItsOwnKustomizationCannotBuildIsAnError(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"base/w.yaml": widgetsCRD, "base/kustomization.yaml": "resources: [w.yaml]\n",
		"head/w.yaml": widgetsCRD, "head/kustomization.yaml": "resources: [w.yaml, missing.yaml]\n",
	})
	code, out, errOut := previewed(t, "--base", "base", "--head", "head")
	g.Expect(code).To(Equal(cli.ExitError), out)
	g.Expect(errOut).To(ContainSubstring("missing.yaml"))
}

// Without arguments, the working folder is compared with where its branch has left the default branch.
func TestAPreviewWithoutArguments(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"operator/config/crd/w.yaml": widgetsCRD, "operator/metadata.yaml": configMap})
	git := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	write := func(content string) {
		g.Expect(os.WriteFile(filepath.FromSlash("operator/config/crd/w.yaml"), []byte(content), 0o600)).To(Succeed())
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("checkout", "-q", "-b", "topic")
	code, out, errOut := previewed(t)
	g.Expect(code).To(BeZero(), out+errOut)
	g.Expect(errOut).To(ContainSubstring("where this branch has left main"))

	write(without)
	for _, dir := range []string{".", "operator"} {
		t.Chdir(dir)
		code, out, errOut = previewed(t)
		g.Expect(code).To(Equal(cli.ExitUnknown), out+errOut)
		g.Expect(out).To(ContainSubstring("v1alpha1"))
	}
}
