package preview

import (
	"encoding/base64"
	"encoding/json"
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

// files are those of one state of a repository, by their paths. One whose content begins with link: is a symbolic link.
type files map[string]string

// overlooked is a pull request after which a cluster may get another CRD, or loses one, in a place that is easily overlooked.
type overlooked struct {
	common, base, head files
	entry              string
}

// Each of these was once called safe.
var everyOverlooked = map[string]overlooked{
	"an overlay's JSON patch two folders up": {
		common: files{"config/crd/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [w.yaml]\n"},
		base:   files{"config/default/kustomization.yaml": "resources: [../crd]\n"},
		head:   files{"config/default/kustomization.yaml": "resources: [../crd]\npatches:\n- patch: |-\n    - {op: remove, path: /spec/versions/0}\n  target: {kind: CustomResourceDefinition}\n"},
	},
	"an overlay deletes the CRD": {
		common: files{"config/crd/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [w.yaml]\n"},
		base:   files{"config/default/kustomization.yaml": "resources: [../crd]\n"},
		head:   files{"config/default/kustomization.yaml": "resources: [../crd]\npatches:\n- patch: |-\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: widgets.example.com}\n    $patch: delete\n"},
	},
	"an overlay goes, and the base that it was built of stays": {
		common: files{"config/crd/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [w.yaml]\n"},
		base:   files{"config/default/kustomization.yaml": "resources: [../crd]\n"},
	},
	"a kustomization goes that has patched the CRD beside it": {
		common: files{"config/crd/w.yaml": widgetsCRD},
		base:   files{"config/crd/kustomization.yaml": "resources: [w.yaml]\npatches:\n- patch: |-\n    - {op: replace, path: /spec/versions/0/storage, value: true}\n    - {op: replace, path: /spec/versions/1/storage, value: false}\n  target: {kind: CustomResourceDefinition}\n"},
	},
	"a file that a template takes in": {
		common: files{"c/Chart.yaml": chartC, "c/templates/w.yaml": "{{ .Files.Get \"files/w.txt\" }}\n"},
		base:   files{"c/files/w.txt": widgetsCRD}, head: files{"c/files/w.txt": withoutFirst(widgetsCRD)},
	},
	"files that a template takes in by a pattern": {
		common: files{"c/Chart.yaml": chartC, "c/templates/w.yaml": "{{ range $f, $_ := .Files.Glob \"files/**\" }}\n---\n{{ $.Files.Get $f }}{{ end }}\n"},
		base:   files{"c/files/a/w": widgetsCRD}, head: files{"c/files/a/b": "a: b\n"},
	},
	"a chart that can be read no more": {
		common: files{"c/templates/w.yaml": widgetsCRD},
		base:   files{"c/Chart.yaml": chartC}, head: files{"c/Chart.yaml": "apiVersion: [v2\n"},
	},
	"values for a chart below": {
		common: files{"c/Chart.yaml": chartC, "c/charts/d/Chart.yaml": strings.Replace(chartC, "name: c", "name: d", 1), "c/charts/d/values.yaml": "old: true\n", "c/charts/d/templates/w.yaml": "{{ if .Values.old }}\n" + widgetsCRD + "{{ end }}\n"},
		base:   files{"c/values.yaml": "d: {old: true}\n"}, head: files{"c/values.yaml": "d: {old: false}\n"},
	},
	"base64 in a Secret": {base: files{"s.yaml": secretOf(widgetsCRD)}, head: files{"s.yaml": secretOf(withoutFirst(widgetsCRD))}},
	"a library of Jsonnet": {
		common: files{"crds/w.jsonnet": "{kind: 'CustomResourceDefinition', spec: import 'versions.libsonnet'}\n"},
		base:   files{"crds/versions.libsonnet": "['v1alpha1', 'v1']\n"}, head: files{"crds/versions.libsonnet": "['v1']\n"},
	},
	"a component's patch file": {
		common: files{
			"config/crd/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [w.yaml]\n",
			"config/default/kustomization.yaml":        "resources: [../crd]\ncomponents: [../components/old]\n",
			"config/components/old/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: patch.yaml, target: {kind: CustomResourceDefinition}}]\n",
		},
		base: files{"config/components/old/patch.yaml": "- {op: add, path: /metadata/labels, value: {a: b}}\n"},
		head: files{"config/components/old/patch.yaml": "- {op: remove, path: /spec/versions/0}\n"},
	},
	"an overlay flips the storage version back": {
		common: files{"config/crd/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [w.yaml]\n"},
		base:   files{"config/default/kustomization.yaml": "resources: [../crd]\n"},
		head:   files{"config/default/kustomization.yaml": "resources: [../crd]\npatches:\n- patch: |-\n    - {op: replace, path: /spec/versions/0/storage, value: true}\n    - {op: replace, path: /spec/versions/1/storage, value: false}\n  target: {kind: CustomResourceDefinition}\n"},
	},
	"a patch that a transformer names": {
		common: files{
			"config/crd/w.yaml": widgetsCRD, "config/crd/kustomization.yaml": "resources: [w.yaml]\n",
			"config/default/kustomization.yaml": "resources: [../crd]\ntransformers: [t.yaml]\n",
			"config/default/t.yaml":             "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: p.yaml\ntarget: {kind: CustomResourceDefinition}\n",
		},
		base: files{"config/default/p.yaml": "- {op: add, path: /metadata/labels, value: {a: b}}\n"},
		head: files{"config/default/p.yaml": "- {op: remove, path: /spec/versions/0}\n"},
	},
	"a chart makes an Application, and values.yaml has its version": {
		common: files{
			"apps/Chart.yaml":         "apiVersion: v2\nname: apps\nversion: 0.1.0\n",
			"apps/templates/app.yaml": strings.Replace(chartApplication, "1.0.0", "'{{ .Values.version }}'", 1),
		},
		base: files{"apps/values.yaml": "version: 1.0.0\n"}, head: files{"apps/values.yaml": "version: 2.0.0\n"},
	},
	"a chart makes a HelmRelease, and values.yaml has its version": {
		common: files{"apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 0.1.0\n", "apps/templates/app.yaml": helmRelease("{{ .Values.version }}")},
		base:   files{"apps/values.yaml": "version: 1.0.0\n"}, head: files{"apps/values.yaml": "version: 2.0.0\n"},
	},
	"a kustomization patches the version of a HelmRelease": {
		common: files{"apps/base/release.yaml": helmRelease("1.0.0"), "apps/base/kustomization.yaml": "resources: [release.yaml]\n"},
		base:   files{"apps/prod/kustomization.yaml": "resources: [../base]\n"},
		head:   files{"apps/prod/kustomization.yaml": "resources: [../base]\npatches:\n- patch: |-\n    - {op: replace, path: /spec/chart/spec/version, value: 2.0.0}\n  target: {kind: HelmRelease}\n"},
	},
	"a kustomization has an Application follow another repository's branch": {
		common: files{"apps/base/app.yaml": gitApplication, "apps/base/kustomization.yaml": "resources: [app.yaml]\n"},
		base:   files{"apps/prod/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml, target: {kind: Application}}]\n", "apps/prod/p.yaml": "- {op: replace, path: /spec/source/repoURL, value: 'https://git.example.com/fork/widgets'}\n"},
		head:   files{"apps/prod/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml, target: {kind: Application}}]\n", "apps/prod/p.yaml": "- {op: replace, path: /spec/source/repoURL, value: 'https://git.example.com/upstream/widgets'}\n"},
	},
	"a pointer of LFS": {base: files{"crds/w.yaml": lfs("1")}, head: files{"crds/w.yaml": lfs("2")}},
	"a pointer of LFS that a kustomization lists": {
		common: files{"crds/kustomization.yaml": "resources: [w.yaml]\n"},
		base:   files{"crds/w.yaml": lfs("1")}, head: files{"crds/w.yaml": lfs("2")},
	},
	"a pointer of LFS of an entry point": {
		base: files{"crds/w.yaml": lfs("1")}, head: files{"crds/w.yaml": lfs("2")}, entry: "crds",
	},
	"a packed chart in LFS": {
		common: files{"c/Chart.yaml": umbrella}, base: files{"c/charts/x-1.0.0.tgz": lfs("1")}, head: files{"c/charts/x-1.0.0.tgz": lfs("2")},
	},
	"a file of git-crypt": {base: files{"crds/w.yaml": "\x00GITCRYPT\x00one"}, head: files{"crds/w.yaml": "\x00GITCRYPT\x00two"}},
	"a link to a file in a hidden folder": {
		common: files{"deploy/w.yaml": "link:../.shared/w.yaml"}, base: files{".shared/w.yaml": widgetsCRD}, head: files{".shared/w.yaml": without},
	},
	"a link to a folder in testdata": {
		common: files{"deploy/crds": "link:../pkg/testdata/crds"}, base: files{"pkg/testdata/crds/w.yaml": widgetsCRD}, head: files{"pkg/testdata/crds/w.yaml": without},
	},
	"a kustomization takes a CRD from testdata": {
		common: files{"deploy/kustomization.yaml": "resources: [../pkg/testdata/w.yaml]\n"}, base: files{"pkg/testdata/w.yaml": widgetsCRD}, head: files{"pkg/testdata/w.yaml": without},
	},
	"a version behind a value that is off": {
		common: files{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "c/values.yaml": "legacy: false\n"},
		base:   files{"c/templates/w.yaml": strings.NewReplacer("  - {name: v1alpha1", "{{- if .Values.legacy }}\n  - {name: v1alpha1", "  - {name: v1,", "{{- end }}\n  - {name: v1,").Replace(widgetsCRD)},
		head:   files{"c/templates/w.yaml": without},
	},
	"a version in a partial behind a value that is off": {
		common: files{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "c/values.yaml": "legacy: false\n",
			"c/templates/w.yaml": strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "{{- if .Values.legacy }}\n{{- include \"old\" . }}\n{{- end }}\n", 1)},
		base: files{"c/templates/_old.tpl": "{{ define \"old\" }}\n  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n{{ end }}\n"},
		head: files{"c/templates/_old.tpl": "{{ define \"old\" }}{{ end }}\n"},
	},
	"a ManifestWork":             {base: files{"hub/w.yaml": manifestWork(widgetsCRD)}, head: files{"hub/w.yaml": manifestWork(without)}, entry: "hub"},
	"an Object of Crossplane":    {base: files{"hub/w.yaml": crossplaneObject(widgetsCRD)}, head: files{"hub/w.yaml": crossplaneObject(without)}, entry: "hub"},
	"a ConfigMap with a CRD":     {base: files{"hub/w.yaml": configMapOf(widgetsCRD)}, head: files{"hub/w.yaml": configMapOf(without)}, entry: "hub"},
	"a ConfigMap, without entry": {base: files{"hub/w.yaml": configMapOf(widgetsCRD)}, head: files{"hub/w.yaml": configMapOf(without)}},
	"a ManifestWork, no entry":   {base: files{"hub/w.yaml": manifestWork(widgetsCRD)}, head: files{"hub/w.yaml": manifestWork(without)}},
	"a ConfigMap of a generator": {
		common: files{"hub/kustomization.yaml": "configMapGenerator: [{name: crds, files: [w.yaml]}]\n"},
		base:   files{"hub/w.yaml": widgetsCRD}, head: files{"hub/w.yaml": without}, entry: "hub",
	},
	"a graph of kro with a CRD": {base: files{"hub/w.yaml": graph(widgetsCRD)}, head: files{"hub/w.yaml": graph(without)}, entry: "hub"},
	"a graph of kro that is a CRD": {
		base: files{"hub/w.yaml": "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: w}\nspec: {schema: {apiVersion: v1alpha1, kind: Widget, spec: {size: integer}}, resources: []}\n"},
		head: files{"hub/w.yaml": "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: w}\nspec: {schema: {apiVersion: v1, kind: Widget, spec: {size: integer}}, resources: []}\n"}, entry: "hub",
	},
	"a template of Gatekeeper": {
		base: files{"hub/w.yaml": constraintTemplate("labels")}, head: files{"hub/w.yaml": constraintTemplate("others")}, entry: "hub",
	},
}

// Wherever a CRD is changed, the preview does not say that none changes.
func TestNoChangeOfACRDIsOverlooked(t *testing.T) {
	for name, c := range everyOverlooked {
		t.Run(name, c.isSeen)
	}
}

// isSeen expects that the preview says something.
func (c overlooked) isSeen(t *testing.T) {
	g := c.write(t)
	args := []string{"--base", "base", "--head", "head", "--fail-on", "warning", "--offline"}
	if c.entry != "" {
		args = append(args, "--entry", c.entry)
	}
	code, out, errOut := previewed(t, args...)
	g.Expect(code).To(BeElementOf(cli.ExitUnknown, cli.ExitNotDone, cli.ExitWarnings), out+errOut)
}

// write makes the two folders base and head.
func (c overlooked) write(t *testing.T) *WithT {
	t.Helper()
	plain, links := files{}, files{}
	for side, own := range map[string]files{"base": c.base, "head": c.head} {
		all := maps.Clone(c.common)
		if all == nil {
			all = files{}
		}
		maps.Copy(all, own)
		for file, content := range all {
			if target, isLink := strings.CutPrefix(content, "link:"); isLink {
				links[side+"/"+file] = target
			} else {
				plain[side+"/"+file] = content
			}
		}
	}
	g := clitest.InRepository(t, plain)
	for link, target := range links {
		g.Expect(os.MkdirAll(filepath.Dir(link), 0o750)).To(Succeed())
		g.Expect(os.Symlink(target, link)).To(Succeed())
	}
	return g
}

const chartC = "apiVersion: v2\nname: c\nversion: 0.1.0\n"

// withoutFirst is a CRD that has another version in place of the first.
func withoutFirst(crd string) string {
	return strings.Replace(crd, "v1alpha1", "v1beta1", 1)
}

func secretOf(crd string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: w}\ndata:\n  crds.yaml: " + base64.StdEncoding.EncodeToString([]byte(crd)) + "\n"
}

func helmRelease(version string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: c, namespace: c}\nspec:\n  interval: 1h\n  chart: {spec: {chart: c, version: '" + version +
		"', sourceRef: {kind: HelmRepository, name: c}}}\n"
}

const gitApplication = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: g, namespace: argocd}\n" +
	"spec: {destination: {namespace: g}, source: {repoURL: 'https://git.example.com/ours/widgets', path: deploy, targetRevision: main}}\n"

// lfs is what Git has of a file that Git LFS keeps.
func lfs(content string) string {
	return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(content, 64) + "\nsize 1234\n"
}

func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

func manifestWork(crd string) string {
	return "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: w, namespace: c1}\nspec:\n  workload:\n    manifests:\n    -\n" + indented(crd, "      ")
}

func crossplaneObject(crd string) string {
	return "apiVersion: kubernetes.crossplane.io/v1alpha2\nkind: Object\nmetadata: {name: w}\nspec:\n  forProvider:\n    manifest:\n" + indented(crd, "      ")
}

func configMapOf(crd string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w}\ndata:\n  crds.yaml: |\n" + indented(crd, "    ")
}

func graph(crd string) string {
	return "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: w}\nspec:\n  schema: {apiVersion: v1alpha1, kind: Operator, spec: {}}\n  resources:\n  - id: crd\n    template:\n" + indented(crd, "      ")
}

func constraintTemplate(parameter string) string {
	return "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: w}\nspec:\n  crd: {spec: {names: {kind: W}, validation: {openAPIV3Schema: {type: object, properties: {" + parameter +
		": {type: string}}}}}}\n  targets: [{target: admission.k8s.gatekeeper.sh, rego: 'package w'}]\n"
}

// A submodule's commit counts where something may be built of the submodule.
func TestACommitOfASubmoduleIsNotOverlooked(t *testing.T) {
	const kustomization = "resources: [../third-party/crds]\n"
	for name, c := range map[string]struct {
		files map[string]string
		at    string
		entry string
		code  int
	}{
		"nothing says what is applied":      {map[string]string{"deploy/w.yaml": configMap}, "deploy/widgets", "", cli.ExitUnknown},
		"files that are no manifests":       {map[string]string{"deploy/w.yaml": configMap, "mkdocs.yml": "site_name: it\n"}, "deploy/widgets", "", cli.ExitUnknown},
		"for reading":                       {map[string]string{"deploy/w.yaml": configMap}, "docs/theme", "", cli.ExitDone},
		"a kustomization names it":          {map[string]string{"deploy/kustomization.yaml": kustomization}, "third-party", "deploy", cli.ExitUnknown},
		"the entry point has nothing of it": {map[string]string{"deploy/w.yaml": configMap}, "third-party", "deploy", cli.ExitDone},
		"it lies in the entry point":        {map[string]string{"deploy/w.yaml": configMap}, "deploy/third-party", "deploy", cli.ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, c.files)
			git(t, "init", "-q", "-b", "main")
			for _, commit := range []string{"1", "2"} {
				git(t, "add", ".")
				git(t, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(commit, 40)+","+c.at)
				git(t, "commit", "-q", "-m", commit)
			}
			args := []string{"--base", "git:HEAD~1", "--head", "git:HEAD"}
			if c.entry != "" {
				args = append(args, "--entry", c.entry)
			}
			code, out, errOut := previewed(t, args...)
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}

func git(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	out, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(out))
}

// A file that nothing is made of is named.
func TestAFileThatNothingReadsIsIrrelevant(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"base/clusters/production/apps.yaml": appsKustomization, "base/apps/crd.yaml": widgetsCRD, "base/apps/kustomization.yaml": "resources: [crd.yaml]\n", "base/apps/old.yaml": "a: b\n",
		"head/clusters/production/apps.yaml": appsKustomization, "head/apps/crd.yaml": widgetsCRD + "# changed\n", "head/apps/kustomization.yaml": "resources: [crd.yaml]\n", "head/apps/new.yaml": "a: b\n",
	})
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "-o", "json")
	g.Expect(code).To(BeZero(), out+errOut)
	g.Expect(errOut).To(ContainSubstring("irrelevant: 2 changed files of 3, which nothing that is applied is made of: apps/new.yaml, apps/old.yaml"))
	var report struct{ Irrelevant []string }
	g.Expect(json.Unmarshal([]byte(out), &report)).To(Succeed())
	g.Expect(report.Irrelevant).To(Equal([]string{"apps/new.yaml", "apps/old.yaml"}))
}
