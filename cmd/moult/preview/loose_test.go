package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// loosely adds an entry point to a repository that does not lead to what changes.
func loosely(c overlooked) overlooked {
	all := files{"clusters/a/k.yaml": fluxTo("./crds", ""), "crds/kustomization.yaml": "resources: [c.yaml]\n", "crds/c.yaml": aConfigMap}
	maps.Copy(all, c.common)
	c.common = all
	return c
}

// looseManifests change in folders that no entry point leads to. A person may apply them, or a tool that the repository does not name.
var looseManifests = map[string]overlooked{
	"a HelmRelease":               bump("apps/h.yaml", release("1.0.0"), nil),
	"its values":                  bump("apps/c.yaml", aConfigMap+"data: {values.yaml: '1.0.0'}\n", files{"apps/h.yaml": strings.Replace(release("1.0.0"), "spec: {chart", "spec: {valuesFrom: [{kind: ConfigMap, name: x}], chart", 1)}),
	"a HelmRelease at the root":   bump("h.yaml", release("1.0.0"), nil),
	"one that is new":             {head: files{"apps/h.yaml": release("1.0.0")}},
	"one that goes":               {base: files{"apps/h.yaml": release("1.0.0")}},
	"a subscription":              bump("apps/s.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: o}\nspec: {name: s, channel: stable, startingCSV: s.v1.0.0, source: c, sourceNamespace: olm}\n", nil),
	"an operator":                 bump("apps/o.yaml", anOperator+mayMakeCRDs, nil),
	"an operator, and its rights": bump("apps/o.yaml", anOperator, files{"apps/r.yaml": strings.TrimPrefix(mayMakeCRDs, "---\n")}),
	"beside an Application":       bump("i/more/h.yaml", release("1.0.0"), files{"i/a.yaml": appTo("x", "charts/x", own, ""), "i/x/Chart.yaml": chartC, "charts/x/c.yaml": aConfigMap}),
	"a chart of Ansible's, by a variable": bump("roles/cm/vars/main.yml", "cm_version: 1.0.0\n", files{
		"roles/cm/tasks/main.yml": "- kubernetes.core.helm:\n    name: cm\n    chart_ref: jetstack/cert-manager\n    chart_version: '{{ cm_version }}'\n",
	}),
	"Kubernetes, by a variable": bump("metal/roles/k3s/defaults/main.yml", "k3s_version: v1.0.0\n", files{
		"metal/roles/k3s/tasks/main.yml": "- name: Download k3s binary\n  ansible.builtin.get_url:\n    url: https://github.com/k3s-io/k3s/releases/download/{{ k3s_version }}/k3s\n    dest: bin/k3s\n",
	}),
	"an environment for tests":          bump("apps/test/kustomization.yaml", "resources: ['https://git.invalid/it//crds?ref=v1.0.0']\n", files{"apps/stg/c.yaml": aConfigMap}),
	"a remote base":                     bump("apps/kustomization.yaml", "resources: ['https://git.invalid/it//crds?ref=v1.0.0']\n", nil),
	"a subscription in a kustomization": bump("apps/s.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: o}\nspec: {name: s, channel: stable, startingCSV: s.v1.0.0, source: c, sourceNamespace: olm}\n", files{"apps/kustomization.yaml": "resources: [s.yaml]\n"}),
	"a subscription of a chart": bump("apps/values.yaml", "channel: 1.0.0\n", files{"apps/Chart.yaml": chartC,
		"apps/templates/s.yaml": "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: o}\nspec:\n  channel: {{ .Values.channel }}\n  name: s\n"}),
	"an operator in a kustomization": bump("apps/o.yaml", anOperator+mayMakeCRDs, files{"apps/kustomization.yaml": "resources: [o.yaml]\n"}),
	"its image in a kustomization":   bump("apps/kustomization.yaml", "resources: [o.yaml]\nimages: [{name: example.com/o, newTag: 1.0.0}]\n", files{"apps/o.yaml": anOperator + mayMakeCRDs}),
	"a remote base of a part":        bump("apps/p/kustomization.yaml", "resources: ['https://git.invalid/it//crds?ref=v1.0.0']\n", files{"apps/kustomization.yaml": "resources: [p]\n"}),
	"a file by its address":          bump("apps/kustomization.yaml", "resources: ['https://files.invalid/1.0.0/install.yaml']\n", nil),
	"a chart of a kustomization":     bump("apps/kustomization.yaml", "helmCharts: [{name: cert-manager, version: 1.0.0, repo: 'https://charts.invalid'}]\n", nil),
	"a dependency of a chart":        bump("apps/Chart.yaml", strings.Replace(chartC, "0.1.0", "0.1.9", 1)+"dependencies: [{name: cert-manager, version: 1.0.0, repository: 'https://charts.invalid'}]\n", nil),
	"a template of an Application":   bump("apps/a.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: {{ .name }}}\nspec: {source: {chart: c, targetRevision: 1.0.0}}\n", nil),
}

// A CRD that moves to another environment leaves the one where it was.
func TestACRDThatMovesToAnotherEnvironmentIsSeen(t *testing.T) {
	t.Run("to another environment", loosely(overlooked{base: files{"apps/dev/w.yaml": widgetsCRD}, head: files{"apps/prod/w.yaml": widgetsCRD}}).isSeen)
	g := loosely(overlooked{base: files{"apps/w.yaml": widgetsCRD}, head: files{"more/w.yaml": widgetsCRD}}).write(t)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
	g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
}

func TestManifestsThatNothingLeadsToAreSeen(t *testing.T) {
	for name, c := range looseManifests {
		t.Run(name, loosely(c).isSeen)
		alone := files{"README.md": "it\n"} // so that both sides are folders
		maps.Copy(alone, c.common)
		c.common = alone
		t.Run(name+", without an entry point", c.isSeen)
	}
}

// Of two manifests of one name in an entry point, one is followed. The other may be what counts.
func TestAnotherManifestOfTheSameNameIsSeen(t *testing.T) {
	ofChart := strings.NewReplacer("path: charts/x", "chart: x", "HEAD", "1.0.0").Replace(appTo("x", "charts/x", own, ""))
	late := fluxTo("./more", " postBuild: {substituteFrom: [{kind: ConfigMap, name: c}]},")
	withVariables := bump("more/h.yaml", release("1.0.0"), files{"clusters/a/a.yaml": fluxTo("./crds", ""), "clusters/a/b.yaml": late, "crds/c.yaml": aConfigMap})
	withVariables.entry = "clusters/a"
	t.Run("with variables", withVariables.isSeen)
	for _, entry := range []string{"", "hub"} {
		c := bump("hub/b.yaml", ofChart, files{"hub/a.yaml": appTo("x", "charts/x", own, ""), "charts/x/c.yaml": aConfigMap})
		c.entry = entry
		t.Run(entry, c.isSeen)
	}
}

// An artifact may be made of a folder of this repository. Its paths begin there.
func TestAnArtifactOfAFolderIsSeen(t *testing.T) {
	const source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o, namespace: flux-system}\nspec: {url: 'oci://registry.invalid/o', ref: {tag: latest}}\n"
	c := bump("kubernetes/apps/h.yaml", release("1.0.0"), files{
		"kubernetes/clusters/a/k.yaml": fluxTo("./apps", " sourceRef: {kind: OCIRepository, name: o},"), "kubernetes/clusters/a/o.yaml": source,
	})
	c.entry = "kubernetes/clusters/a"
	t.Run("of the folder", c.isSeen)
	const pushes = "push:\n\tflux push artifact oci://registry.invalid/o:latest \\\n\t  --path=./deploy --source=x --revision=1.0.0\n"
	published := files{"deploy/h.yaml": release("3.0.0"), "clusters/a/k.yaml": fluxTo("./", " sourceRef: {kind: OCIRepository, name: o},"), "clusters/a/o.yaml": source, "Makefile": pushes}
	root := bump("deploy/h.yaml", release("1.0.0"), published)
	root.entry = "clusters/a"
	t.Run("at the root of the artifact", root.isSeen)
	command := bump("Makefile", strings.Replace(pushes, "./deploy", "./1.0.0", 1), published)
	t.Run("by another command", command.isSeen)
	command.entry = "clusters/a"
	t.Run("by another command, with an entry point", command.isSeen)
	chart := files{"c/Chart.yaml": chartC, "clusters/a/o.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: o, namespace: widgets}\nspec: {type: oci, url: 'oci://registry.invalid/ours/charts'}\n",
		"clusters/a/r.yaml": strings.Replace(release("3.0.0"), "version: 3.0.0", "sourceRef: {kind: HelmRepository, name: o}", 1), "Makefile": "push:\n\thelm package c && helm push cert-manager-0.1.0.tgz oci://registry.invalid/ours/charts\n"}
	for name, c := range map[string]overlooked{
		"a file whose content is elsewhere":  {common: published, base: files{"deploy/w.yaml": lfs("1")}, head: files{"deploy/w.yaml": lfs("2")}},
		"what is put into it":                bump("Makefile", "push:\n\ttar czf all.tgz ./1.0.0\n\toras push registry.invalid/o:latest all.tgz\n", published),
		"where that is done":                 bump("Makefile", "push:\n\tcd 1.0.0; flux push artifact oci://registry.invalid/o:latest --path=.\n", published),
		"what variables of it are":           bump("Makefile", "FROM = 1.0.0\npush:\n\tflux push artifact oci://registry.invalid/o:latest --path=$(FROM)\n", published),
		"for Argo CD":                        bump("deploy/h.yaml", release("1.0.0"), also(files{"clusters/a/k.yaml": strings.NewReplacer("https://git.example.com/it", "oci://registry.invalid/o", "HEAD", "latest").Replace(appTo("x", ".", own, ""))}, published)),
		"a chart of which the last is taken": bump("c/values.yaml", "crds: 1.0.0\n", chart),
	} {
		c.entry = "clusters/a"
		t.Run(name, c.isSeen)
	}
	t.Run("for itself", func(t *testing.T) { // that the artifact changes must not hide what changes
		const plain, scoped = "resources: [w.yaml]\n", "patches: [{target: {kind: CustomResourceDefinition}, patch: '[{op: replace, path: /spec/scope, value: Cluster}]'}]\n"
		g := overlooked{common: also(files{"deploy/w.yaml": widgetsCRD}, published), base: files{"deploy/kustomization.yaml": plain}, head: files{"deploy/kustomization.yaml": plain + scoped}}.write(t)
		code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
		g.Expect(code).To(Equal(cli.ExitNotDone), out+errOut)
		g.Expect(out).To(ContainSubstring("widgets.example.com in deploy"))
	})
}

// What a kustomization around it, or a folder that is built, leaves out is not applied. Nor is what installs nothing, or is for reading.
func TestManifestsThatAreLeftOutDecideNothing(t *testing.T) {
	app := appTo("x", "apps", own, "")
	for name, c := range map[string]overlooked{
		"by a kustomization":           bump("apps/h.yaml", release("1.0.0"), files{"apps/kustomization.yaml": "resources: [c.yaml]\n", "apps/c.yaml": aConfigMap}),
		"by one around it":             bump("apps/w/h.yaml", release("1.0.0"), files{"apps/kustomization.yaml": "resources: [c.yaml]\n", "apps/c.yaml": aConfigMap}),
		"by an Application":            bump("apps/w/h.yaml", release("1.0.0"), files{"clusters/a/k.yaml": app, "apps/c.yaml": aConfigMap}),
		"a Deployment":                 bump("apps/o.yaml", anOperator, nil),
		"an example":                   bump("examples/h.yaml", release("1.0.0"), nil),
		"how often a release is asked": {base: files{"apps/h.yaml": strings.Replace(release("1.0.0"), "spec: {", "spec: {interval: 1m, ", 1)}, head: files{"apps/h.yaml": strings.Replace(release("1.0.0"), "spec: {", "spec: {interval: 5m, ", 1)}},
		"an image of a dependency": bump("c/values.yaml", "common: {image: {tag: 1.0.0}}\n", files{
			"c/Chart.yaml": chartC + "dependencies: [{name: common, version: 3.0.0, repository: 'https://charts.invalid'}]\n",
		}),
		"what is written about a chart": bump("c/README.md", "1.0.0\n", files{
			"c/Chart.yaml": chartC + "dependencies: [{name: common, version: 3.0.0, repository: 'https://charts.invalid'}]\n",
		}),
		"a template of a chart with dependencies": bump("c/templates/d.yaml", anOperator, files{
			"c/Chart.yaml": chartC + "dependencies: [{name: common, version: 3.0.0, repository: 'https://charts.invalid'}]\n",
		}),
	} {
		t.Run(name, func(t *testing.T) {
			g := loosely(c).write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline", "--fail-on", "warning")
			g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
		})
	}
}

// Values decide alike wherever they stand: in the release, or in a ConfigMap that it names.
func TestValuesInAConfigMapDecideAsThoseOfTheRelease(t *testing.T) {
	from := strings.Replace(release("3.0.0"), "spec: {chart", "spec: {valuesFrom: [{kind: ConfigMap, name: v}], chart", 1)
	in := func(values string) overlooked {
		return bump("apps/v.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: widgets}\ndata:\n  values.yaml: |\n    a: b\n    "+values+"\n", files{"apps/h.yaml": from})
	}
	t.Run("a switch", in("crds: {version: 1.0.0}").isSeen)
	g := in("sidecar: {image: {tag: 1.0.0}}").write(t)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline", "--fail-on", "warning")
	g.Expect(code).To(Equal(cli.ExitDone), out+errOut)
}
