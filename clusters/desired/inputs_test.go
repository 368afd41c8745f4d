package desired_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/delivery"
)

// decisions are all that stands for something that is not built: the sources that are not seen, and what else decides
// about units.
func decisions(c *delivery.Cluster) map[string]string {
	found := map[string]string{}
	for _, s := range c.Unseen {
		found[s.Name] += s.Fingerprint
	}
	for _, u := range c.Units {
		for name, content := range u.Inputs {
			found[u.Name+": "+name] = content
		}
	}
	return found
}

// differing are the names of what is not the same in both.
func differing(one, two map[string]string) []string {
	all := maps.Clone(one)
	maps.Copy(all, two)
	maps.DeleteFunc(all, func(name, _ string) bool { return one[name] == two[name] })
	return slices.Sorted(maps.Keys(all))
}

// theGit is a GitRepository with more in its spec.
func theGit(name, more string) string {
	return source("GitRepository", name, "url: https://one/x, interval: 1h"+more)
}

// fluxFiles are a Kustomization of a GitRepository, and a release of a chart in it.
var fluxFiles = files{
	"entry/a.yaml": flux("a", "path: ./a, sourceRef: {kind: GitRepository, name: g}"), "entry/g.yaml": theGit("g", ", include: [{repository: {name: i}}]"),
	"entry/i.yaml": theGit("i", ", ref: {tag: v1}, include: [{repository: {name: j}}]"), "entry/j.yaml": theGit("j", ", ref: {tag: v1}"),
	"entry/h.yaml": helm("chart: {spec: {chart: ./c, valuesFiles: [/v.yaml], sourceRef: {kind: GitRepository, name: g}}}"),
	"a/x.yaml":     crd("x.example.com"), "c/Chart.yaml": "name: c\n", "v.yaml": "a: b\n", "README.md": "one",
}

// substituted are a Kustomization that puts in what it takes from a Secret.
func substituted(content string) files {
	return files{
		"entry/a.yaml": flux("a", "path: ./a, postBuild: {substituteFrom: [{kind: Secret, name: s, optional: true}]}"), "a/x.yaml": content,
		"entry/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\nstringData: {x: one}\n---\n",
	}
}

// ofChart is an Application of a chart in this repository.
func ofChart(helm string) files {
	return files{
		"entry/a.yaml": app("a", "sources: [{path: charts/c, helm: {"+helm+"}}, {ref: v}]"), "charts/c/Chart.yaml": "name: c\n",
		"charts/c/requirements.yaml": "dependencies: [{name: d, repository: file://../d}]\n", "charts/d/templates/x.yaml": "one",
		"vals/prod.yaml": "one", "vals/ca.pem": "one", "README.md": "one",
	}
}

func TestWhatDecidesUnseenIsNoticed(t *testing.T) {
	const release, application = "HelmRelease flux-system/h", "Application argocd/a"
	var (
		variable  = strings.ReplaceAll(crd("x.example.com"), "v1}", "'${x}'}")
		plain     = files{"entry/a.yaml": app("a", "source: {path: a}"), "a/x.yaml": crd("x.example.com"), "b/x.yaml": configMap("x"), "README.md": "one"}
		jsonnet   = files{"entry/a.yaml": app("a", "source: {path: a}"), "a/x.yaml": crd("x.example.com"), "a/y.jsonnet": "one", "lib/z.libsonnet": "one", "README.md": "one"}
		importing = func(how, in string) files {
			return files{"entry/a.yaml": app("a", "source: {path: a, directory: {jsonnet: {"+in+"}}}"), "a/y.jsonnet": how, "lib/z.libsonnet": "one", "lib/it.libsonnet": "import 'z.libsonnet'"}
		}
		listed  = files{"entry/a.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{matrix: {generators: [{git: {files: [{path: 'envs/*.json'}]}}, {clusters: {}}]}}], template: {spec: {source: {path: a}}}"), "envs/one.json": "{}", "README.md": "one"}
		folders = files{"entry/a.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{git: {revision: main, directories: [{path: 'at/*'}]}}], template: {metadata: {name: '{{path.basename}}'}, spec: {source: {path: '{{path}}'}}}"), "at/one/x.yaml": crd("x.example.com")}
		plugin  = files{"entry/a.yaml": app("a", "source: {path: p, plugin: {}}"), "p/x": "one", "any.where": "one"}
		naming  = func(paths string) files {
			named := strings.Replace(plugin["entry/a.yaml"], "namespace: argocd}", "namespace: argocd, annotations: {argocd.argoproj.io/manifest-generate-paths: '"+paths+"'}}", 1)
			return files{"entry/a.yaml": named, "p/kustomization.yaml": "resources: [../b]\n", "b/x": "one", "shared/x": "one", "any.where": "one"}
		}
		made  = files{"entry/a.yaml": flux("a", "path: ./, sourceRef: {kind: ExternalArtifact, name: x}"), "a/x.yaml": "one"}
		fleet = files{"entry/h.yaml": object("fleet.cattle.io/v1alpha1", "GitRepo", "h", "paths: [f]"), "f/x.yaml": "one", "g/x.yaml": "one"}
	)
	for name, c := range map[string]struct {
		before         files
		file, from, to string // without from it is a new file
		want           []string
	}{
		"what a source ignores":           {fluxFiles, "entry/g.yaml", "interval: 1h", "ignore: /a", []string{release}},
		"what it checks out":              {fluxFiles, "entry/g.yaml", "interval: 1h", "sparseCheckout: [b]", []string{release, "flux-system/a: spec.sparseCheckout of GitRepository g"}},
		"that it fetches submodules":      {fluxFiles, "entry/g.yaml", "interval: 1h", "recurseSubmodules: true", []string{release, "flux-system/a: spec.recurseSubmodules of GitRepository g"}},
		"how often it is fetched":         {fluxFiles, "entry/g.yaml", "interval: 1h", "interval: 2h", nil},
		"what the root ignores":           {fluxFiles, ".sourceignore", "", "/a", []string{release, "entry: .sourceignore"}},
		"what a folder ignores":           {fluxFiles, "a/.sourceignore", "", "x.yaml", []string{release, "entry: a/.sourceignore"}},
		"what the root says about it":     {fluxFiles, ".sourceignore", "", "# nothing is left out\n\n", nil},
		"what is included":                {fluxFiles, "entry/i.yaml", "tag: v1", "tag: v2", []string{release, "flux-system/a: GitRepository i, which is included,"}},
		"what is included in that":        {fluxFiles, "entry/j.yaml", "tag: v1", "tag: v2", []string{release, "flux-system/a: GitRepository j, which is included,"}},
		"values from the root, with Flux": {fluxFiles, "v.yaml", "a: b", "a: c", []string{release}},
		"a README, with Flux":             {fluxFiles, "README.md", "one", "two", nil},

		"a Secret that is put into a CRD":       {substituted(variable), "entry/s.yaml", "one", "two", []string{"flux-system/a: Secret s"}},
		"another Secret that is put into a CRD": {substituted(variable), "entry/a.yaml", "name: s", "name: t", []string{"flux-system/a: Secret s", "flux-system/a: spec.postBuild of Kustomization flux-system/a"}},
		"a Secret that is put into a release":   {substituted(helm("chart: {spec: {chart: '${x}'}}")), "entry/s.yaml", "one", "two", []string{release}},
		"another that is put into a release":    {substituted(helm("chart: {spec: {chart: '${x}'}}")), "entry/a.yaml", "name: s", "name: t", []string{release}},
		"a Secret that is put into nothing":     {substituted(crd("x.example.com")), "entry/s.yaml", "one", "two", nil},

		"what overrides an Application":         {plain, "a/.argocd-source.yaml", "", "directory: {exclude: x.yaml}", []string{application}},
		"what overrides one by name":            {plain, "a/.argocd-source-a.yaml", "", "directory: {exclude: x.yaml}", []string{application}},
		"what overrides one of its namespace":   {plain, "a/.argocd-source-argocd_a.yaml", "", "directory: {exclude: x.yaml}", []string{application}},
		"what overrides another":                {plain, "a/.argocd-source-b.yaml", "", "directory: {exclude: x.yaml}", nil},
		"what Argo CD does not ignore":          {plain, ".sourceignore", "", "/a", []string{"entry: .sourceignore"}},
		"a program that gives manifests":        {plain, "a/y.jsonnet", "", "one", []string{application}},
		"one below, which is not looked at":     {plain, "a/b/y.jsonnet", "", "one", nil},
		"the options of such a program":         {plain, "entry/a.yaml", "path: a", "path: a, directory: {jsonnet: {tlas: [{name: x}]}}", nil},
		"no options":                            {plain, "entry/a.yaml", "path: a", "path: a, directory: {jsonnet: {}}", nil},
		"such a program changes":                {jsonnet, "a/y.jsonnet", "one", "two", []string{application}},
		"what it does not import":               {jsonnet, "lib/z.libsonnet", "one", "two", nil},
		"what it imports":                       {importing("local z = import '../lib/z.libsonnet'; z", ""), "lib/z.libsonnet", "one", "two", []string{application}},
		"a text that it imports":                {importing(`importstr @"../lib/z.libsonnet"`, ""), "lib/z.libsonnet", "one", "two", []string{application}},
		"bytes of its own folder":               {importing("importbin 'lib/z.libsonnet'", "libs: [.]"), "lib/z.libsonnet", "one", "two", []string{application}},
		"what is in a library of it":            {importing("(import 'z.libsonnet').x", "libs: [vendor, /lib]"), "lib/z.libsonnet", "one", "two", []string{application}},
		"what is in no library of it":           {importing("(import 'z.libsonnet').x", "libs: [vendor]"), "lib/z.libsonnet", "one", "two", nil},
		"what comes to its folder":              {importing("(import 'z.libsonnet').x", "libs: [vendor]"), "vendor/z.libsonnet", "", "two", []string{application}},
		"what that imports":                     {importing("import '../lib/it.libsonnet'", ""), "lib/z.libsonnet", "one", "two", []string{application}},
		"no code of a text":                     {importing("importstr '../lib/it.libsonnet'", ""), "lib/z.libsonnet", "one", "two", nil},
		"what is imported by an expression":     {importing("import /* it */ '../lib/z.libsonnet'", ""), "lib/z.libsonnet", "one", "two", []string{application}},
		"what the Application imports":          {importing("one", "tlas: [{name: x, code: true, value: \"import 'lib/z.libsonnet'\"}]"), "lib/z.libsonnet", "one", "two", []string{application}},
		"a README beside it":                    {jsonnet, "README.md", "one", "two", nil},
		"a chart's overrides":                   {ofChart(""), "charts/c/.argocd-source.yaml", "", "helm: {}", []string{application}},
		"values from the root":                  {ofChart("valueFiles: [/vals/prod.yaml]"), "vals/prod.yaml", "one", "two", []string{application}},
		"values by a pattern":                   {ofChart("valueFiles: ['../../vals/*.yaml']"), "vals/prod.yaml", "one", "two", []string{application}},
		"values of another source by a pattern": {ofChart("valueFiles: ['$v/vals/*.yaml']"), "vals/prod.yaml", "one", "two", []string{application}},
		"values by a variable":                  {ofChart("valueFiles: ['../../vals/${ARGOCD_APP_NAME}.yaml']"), "vals/prod.yaml", "one", "two", []string{application}},
		"a parameter's file":                    {ofChart("fileParameters: [{name: x, path: ../../vals/ca.pem}]"), "vals/ca.pem", "one", "two", []string{application}},
		"a parameter's file of another source":  {ofChart("fileParameters: [{name: x, path: $v/vals/ca.pem}]"), "vals/ca.pem", "one", "two", []string{application}},
		"a parameter's file from the root":      {ofChart("fileParameters: [{name: x, path: /vals/ca.pem}]"), "vals/ca.pem", "one", "two", []string{application}},
		"parameters' files by a pattern":        {ofChart("fileParameters: [{name: x, path: '$v/vals/*.pem'}]"), "vals/ca.pem", "one", "two", []string{application}},
		"nobody's file":                         {ofChart("valueFiles: [/vals/prod.yaml]"), "vals/ca.pem", "one", "two", nil},
		"a README beside patterns":              {ofChart("valueFiles: ['$v/vals/*.yaml']"), "README.md", "one", "two", nil},
		"what a chart requires":                 {ofChart(""), "charts/d/templates/x.yaml", "one", "two", []string{application}},
		"a plugin's README":                     {plugin, "any.where", "one", "two", []string{application}},

		"a path that a plugin's Application names": {naming(".;/shared"), "shared/x", "one", "two", []string{application}},
		"what is built there":                      {naming("."), "b/x", "one", "two", []string{application}},
		"none of the paths that it names":          {naming(".;/shared"), "any.where", "one", "two", nil},
		"a pattern among the paths":                {naming(".;/sha*"), "any.where", "one", "two", []string{application}},
		"a path that leads out of the repository":  {naming(".;../../x"), "any.where", "one", "two", []string{application}},
		"a file that a generator reads":            {listed, "envs/one.json", "{}", "{a: b}", []string{"ApplicationSet flux-system/a"}},
		"a README beside it, with a generator":     {listed, "README.md", "one", "two", nil},
		"where a generator looks for folders":      {folders, "entry/a.yaml", "revision: main", "revision: next", []string{"flux-system/one: what the generators of ApplicationSet flux-system/a read"}},
		"an artifact made of this repository":      {made, "a/x.yaml", "one", "two", []string{"Kustomization flux-system/a"}},
		"a folder that Fleet applies":              {fleet, "f/x.yaml", "one", "two", []string{"GitRepo flux-system/h"}},
		"a folder that it does not":                {fleet, "g/x.yaml", "one", "two", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			after := maps.Clone(c.before)
			if c.from == "" {
				g.Expect(c.before).NotTo(HaveKey(c.file))
				after[c.file] = c.to
			} else {
				g.Expect(c.before[c.file]).To(ContainSubstring(c.from))
				after[c.file] = strings.ReplaceAll(after[c.file], c.from, c.to)
			}
			one, two := followed(t, c.before), followed(t, after)
			g.Expect(decisions(followed(t, c.before))).To(Equal(decisions(one)), "wherever the repository lies")
			g.Expect(differing(decisions(one), decisions(two))).To(Equal(c.want))
		})
	}
}

// Argo CD goes into a folder that is a symbolic link, and jsonnet looks beside the link or beside the file itself.
func TestAFolderOfJsonnetMayBeALink(t *testing.T) {
	for name, importing := range map[string]string{"from the link": "import '../lib/z.libsonnet'", "from the folder": "import '../../lib/z.libsonnet'"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			after := func(library string) map[string]string {
				tree := opened(t, files{"entry/a.yaml": app("a", "source: {path: a}"), "at/deep/x.jsonnet": importing, "lib/z.libsonnet": library})
				g.Expect(os.Symlink("at/deep", filepath.Join(tree.Root, "a"))).To(Succeed())
				c, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
				g.Expect(err).NotTo(HaveOccurred())
				return decisions(c)
			}
			g.Expect(differing(after("one"), after("one"))).To(BeEmpty())
			g.Expect(differing(after("one"), after("two"))).To(Equal([]string{"Application argocd/a"}))
		})
	}
}

func TestASubmoduleIsNotSeen(t *testing.T) {
	g := NewWithT(t)
	with := func(submodules map[string]string) *delivery.Cluster {
		repository := opened(t, files{"entry/a.yaml": flux("a", "path: ./a"), "a/x.yaml": crd("x.example.com")})
		repository.Submodules = submodules
		c, err := desired.Follow(t.Context(), repository, "entry", desired.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	one := with(map[string]string{"a/sub": "1", "b/sub": "1"})
	g.Expect(unseen(one)).To(Equal([]string{"submodule a/sub: its content is in another repository"}), "nothing is built of the other")
	g.Expect(one.Unseen[0].By.At("spec").String()).To(Equal(".gitmodules"))
	g.Expect(differing(decisions(one), decisions(with(map[string]string{"a/sub": "2", "b/sub": "1"})))).To(Equal([]string{"submodule a/sub"}))
	g.Expect(differing(decisions(one), decisions(with(map[string]string{"b/sub": "1"})))).To(Equal([]string{"submodule a/sub"}))
}

func TestWhatInstallsIsKnown(t *testing.T) {
	for apiVersion, kinds := range map[string][]string{
		"helm.toolkit.fluxcd.io/v2": {"HelmRelease"}, "source.extensions.fluxcd.io/v1beta1": {"ArtifactGenerator"},
		"fluxcd.controlplane.io/v1": {"FluxInstance", "ResourceSet", "ResourceSetInputProvider"}, "helm.cattle.io/v1": {"HelmChart", "HelmChartConfig"},
		"fleet.cattle.io/v1alpha1": {"GitRepo", "HelmOp", "Bundle"}, "operators.coreos.com/v1alpha1": {"Subscription", "CatalogSource", "ClusterServiceVersion"},
		"olm.operatorframework.io/v1": {"ClusterExtension", "ClusterCatalog"}, "pkg.crossplane.io/v1": {"Provider", "Configuration", "Function"},
		"apiextensions.crossplane.io/v2": {"CompositeResourceDefinition"}, "packaging.carvel.dev/v1alpha1": {"PackageInstall", "PackageRepository"},
		"kappctrl.k14s.io/v1alpha1": {"App"}, "addons.cluster.x-k8s.io/v1alpha1": {"HelmChartProxy"},
		"config.projectsveltos.io/v1beta1": {"ClusterProfile", "Profile"}, "helm.crossplane.io/v1beta1": {"Release"}, "core.oam.dev/v1beta1": {"Application"},
		"operator.knative.dev/v1beta1":       {"KnativeServing", "KnativeEventing"},
		"operator.cluster.x-k8s.io/v1alpha2": {"CoreProvider", "BootstrapProvider", "ControlPlaneProvider", "InfrastructureProvider", "AddonProvider", "IPAMProvider", "RuntimeExtensionProvider"},
	} {
		for _, kind := range kinds {
			t.Run(apiVersion+" "+kind, func(t *testing.T) {
				g := NewWithT(t)
				with := func(spec string) *delivery.Cluster {
					return followed(t, files{"entry/x.yaml": object(apiVersion, kind, "x", spec)})
				}
				g.Expect(differing(decisions(with("a: b")), decisions(with("a: c")))).To(Equal([]string{kind + " flux-system/x"}))
			})
		}
	}
}
