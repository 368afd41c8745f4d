package desired_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/policies/delivery"
)

// object is one in the namespace flux-system; the spec is in flow style, without braces.
func object(apiVersion, kind, name, spec string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {" + spec + "}\n---\n"
}

func source(kind, name, spec string) string {
	return object("source.toolkit.fluxcd.io/v1", kind, name, spec)
}

func helm(spec string) string {
	return object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "h", spec)
}

// unseen are the sources with why they cannot be seen.
func unseen(c *delivery.Cluster) []string {
	var found []string
	for _, s := range c.Unseen {
		found = append(found, s.Name+": "+s.Why)
	}
	return found
}

func TestWhatCannotBeSeenIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"a HelmRelease":                        {files{"entry/h.yaml": helm("chart: {spec: {chart: c, version: 1.x, sourceRef: {kind: HelmRepository, name: r}}}")}, []string{"HelmRelease flux-system/h: it installs the chart c 1.x of HelmRepository r; HelmRepository flux-system/r is not in this repository"}},
		"one that skips the chart's CRDs":      {files{"entry/h.yaml": helm("chart: {spec: {chart: c}}, install: {crds: Skip}, upgrade: {crds: Skip}")}, []string{"HelmRelease flux-system/h: it installs the chart c"}},
		"one with a reference":                 {files{"entry/h.yaml": helm("chartRef: {kind: OCIRepository, name: r}")}, []string{"HelmRelease flux-system/h: it installs the chart of OCIRepository r; OCIRepository flux-system/r is not in this repository"}},
		"one of a Kustomization":               {files{"entry/a.yaml": flux("a", "path: ./apps"), "apps/h.yaml": helm("chart: {}")}, []string{"HelmRelease flux-system/h: what it installs is not among these manifests"}},
		"other installers":                     {files{"entry/h.yaml": object("helm.cattle.io/v1", "HelmChart", "h", "") + object("operators.coreos.com/v1alpha1", "Subscription", "s", "")}, []string{"HelmChart flux-system/h: what it installs is not among these manifests", "Subscription flux-system/s: what it installs is not among these manifests"}},
		"a Kustomization of an artifact":       {files{"entry/a.yaml": flux("a", "path: ./, sourceRef: {kind: OCIRepository, name: x}")}, []string{"Kustomization flux-system/a: it comes from OCIRepository x"}},
		"an Application of a chart":            {files{"entry/a.yaml": app("a", "source: {chart: c, repoURL: x, targetRevision: 1.2.3}")}, []string{"Application argocd/a: it comes from the chart c 1.2.3"}},
		"an Application of a registry":         {files{"entry/a.yaml": app("a", "source: {path: ., repoURL: 'oci://r.example.com/c', targetRevision: latest}")}, []string{"Application argocd/a: it comes from the chart oci://r.example.com/c latest"}},
		"one of a folder of a registry":        {files{"entry/a.yaml": app("a", "source: {path: b, repoURL: 'oci://r.example.com/c', targetRevision: latest}"), "b/x.yaml": configMap("x")}, []string{"Application argocd/a: it comes from another repository, oci://r.example.com/c"}},
		"an Application of another repository": {files{"entry/a.yaml": app("a", "source: {path: apps, repoURL: 'https://one/x'}"), "apps/b.yaml": app("b", "source: {path: b, repoURL: 'https://two/x'}") + app("c", "source: {path: b, repoURL: 'git@one:x.git'}"), "b/x.yaml": configMap("x")}, []string{"Application argocd/b: it comes from another repository, https://two/x"}},
		"a folder that is not there":           {files{"entry/a.yaml": flux("a", "path: ./missing")}, []string{"Kustomization flux-system/a: there is no folder ./missing in this repository"}},
		"nothing":                              {files{"entry/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, c.files)
			g.Expect(unseen(cluster)).To(Equal(c.want))
			g.Expect(cluster.Findings).To(BeEmpty(), "what follows from it depends on the pull request")
			for _, s := range cluster.Unseen {
				g.Expect(s.By.At("spec").String()).NotTo(BeEmpty())
			}
		})
	}
}

// A fingerprint is the same unless something in the repository decides otherwise about what cannot be seen.
func TestAFingerprintTellsWhetherWhatCannotBeSeenStaysTheSame(t *testing.T) {
	const (
		fromRepository = "chart: {spec: {chart: c, version: 1.0.0, interval: 1h, sourceRef: {kind: HelmRepository, name: r}}}, interval: 1h, valuesFrom: [{kind: ConfigMap, name: v}]"
		inGit          = "chart: {spec: {chart: ./charts/c, valuesFiles: [env/one.yaml], sourceRef: {kind: GitRepository, name: flux-system}}}"
	)
	values := strings.Replace(configMap("v", "crds: 'false'"), "name: v", "name: v, namespace: flux-system", 1)
	release := files{"entry/h.yaml": helm(fromRepository), "entry/r.yaml": source("HelmRepository", "r", "url: https://one, interval: 1h"), "entry/v.yaml": values, "entry/x.yaml": configMap("x", "a: b")}
	chart := files{
		"entry/h.yaml": helm(inGit), "charts/c/Chart.yaml": "name: c\ndependencies: [{name: d, repository: file://../d}]\n", "charts/c/templates/x.yaml": "{{ x }}",
		"charts/d/Chart.yaml": "name: d\n", "charts/d/crds/x.yaml": crd("x"), "env/one.yaml": "a: b", "env/two.yaml": "a: b",
	}
	ofChart := files{
		"entry/a.yaml": app("a", "sources: [{path: charts/c, helm: {valueFiles: [own.yaml, $here/env/one.yaml]}}, {ref: here}]"), "charts/c/Chart.yaml": "name: c\n",
		"charts/c/own.yaml": "a: b", "env/one.yaml": "a: b", "env/two.yaml": "a: b",
	}
	given := "{image: {tag: '1'}, more: {resources: {limits: {x: 1}}, sub: {resources: {widgets: true}}}, feature: {enabled: false}, list: [{replicas: 1, crds: none}]}"
	giving := files{"entry/h.yaml": helm("chart: {spec: {chart: c}}, values: " + given)}
	lending := files{"entry/a.yaml": app("a", "source: {chart: c, repoURL: x, targetRevision: 1.2.3, helm: {values: \""+given+"\"}}")}
	objects := files{"entry/a.yaml": app("a", "sources: [{chart: c, repoURL: x, targetRevision: 1.2.3, helm: {valuesObject: "+given+"}}]")}
	others := files{"entry/s.yaml": object("operators.coreos.com/v1alpha1", "Subscription", "s", "values: "+given)}
	raw := files{"entry/h.yaml": helm("chart: {spec: {chart: raw}}, values: {resources: [{apiVersion: v1, kind: X, x: 1}], image: \"a\\nx: 1\"}")}
	plugin := files{"entry/a.yaml": app("a", "source: {path: p, plugin: {}}"), "p/x.txt": "a", "base/kustomization.yaml": "resources: [x.yaml]\n", "base/x.yaml": configMap("x"), "base/crd.yaml": crd("x")}
	set := files{"entry/a.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{clusters: {}}], template: {metadata: {name: a}, spec: {source: {path: 'at/{{name}}'}}}"), "at/one/crd.yaml": crd("x"), "at/one/x.yaml": configMap("x")}
	ofSource := func(source string) files {
		return files{"entry/a.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{clusters: {}}], template: {metadata: {name: a}, spec: {source: {"+source+"}}}"), "at/one/crd.yaml": crd("x")}
	}
	leading := func(source string) files {
		led := ofSource("path: set")
		led["set/app.yaml"] = app("b", source)
		return led
	}
	ofValues := func(more, template string) files {
		return files{
			"entry/a.yaml":    object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{merge: {mergeKeys: [name], generators: [{clusters: {values: {root: at, env: one}}}, {list: {elements: [{name: x, values.env: two}]}}"+more+"]}}], template: {metadata: {name: a}, spec: {source: {path: '"+template+"'}}}"),
			"at/one/crd.yaml": crd("x"), "at/two/crd.yaml": crd("x"), "at/three/crd.yaml": crd("x"), "other/one/crd.yaml": crd("x"),
		}
	}
	lent := func(valueFile string) files {
		return with(ofValues("", "missing"), files{
			"entry/a.yaml":  strings.Replace(ofValues("", "missing")["entry/a.yaml"], "source: {path: 'missing'}", "sources: [{chart: c, repoURL: r, helm: {valueFiles: ['"+valueFile+"']}}, {ref: v, repoURL: here}]", 1),
			"at/one/v.yaml": "x: 1\n", "other/v.yaml": "x: 1\n",
		})
	}
	adding := func(all files, more ...string) files {
		all = maps.Clone(all)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	deep := func(generator, template string) files {
		return files{"entry/a.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{matrix: {generators: [{clusters: {}}, {"+generator+"}]}}], template: {metadata: {name: a}, spec: {source: {path: '"+template+"'}}}"), "at/one/two/crd.yaml": crd("x")}
	}
	away := files{"entry/a.yaml": flux("a", "path: ./p, kubeConfig: {secretRef: {name: x}}"), "p/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "resources: [x.yaml, crd.yaml]\n", "base/x.yaml": configMap("x"), "base/crd.yaml": crd("x")}
	awayWith := func(manifests ...string) files {
		return files{"entry/a.yaml": away["entry/a.yaml"], "p/x.yaml": strings.Join(manifests, "")}
	}
	artifact := files{"entry/a.yaml": flux("a", "path: ./p, sourceRef: {kind: OCIRepository, name: o}"), "entry/o.yaml": source("OCIRepository", "o", "url: oci://one, ref: {tag: v1}"), "p/crd.yaml": crd("x"), "p/x.yaml": configMap("x"), "entry/x.yaml": object("v1", "ServiceAccount", "x", "")}
	mirror := files{"entry/a.yaml": app("a", "source: {path: apps, repoURL: 'https://one/x'}"), "apps/b.yaml": app("b", "source: {path: b, repoURL: 'https://two/x'}"), "b/x.yaml": configMap("x"), "c/x.yaml": configMap("x")}
	other := files{"entry/a.yaml": flux("a", "path: ./p, interval: 1m, sourceRef: {kind: GitRepository, name: g}"), "entry/g.yaml": source("GitRepository", "flux-system", "url: https://one/x") + source("GitRepository", "g", "url: https://two/x, ref: {tag: v1}, interval: 1h")}
	missing := files{
		"entry/a.yaml": flux("a", "path: ./p, sourceRef: {kind: GitRepository, name: flux-system}"), "p/kustomization.yaml": "resources: ['https://github.com/x/y//config?ref=v1']\n",
		"entry/v.yaml": values, "entry/o.yaml": source("OCIRepository", "o", "url: oci://one, interval: 1h, ref: {tag: v1}"),
		"entry/used.yaml": configMap("used", "a: b") + object("apps/v1", "Deployment", "d", "template: {spec: {containers: [{envFrom: [{configMapRef: {name: used}}]}]}}"),
	}
	for name, c := range map[string]struct {
		before   files
		file     string
		from, to string
		same     bool
	}{
		"a later version of Flux's API":            {release, "entry/h.yaml", "toolkit.fluxcd.io/v2", "toolkit.fluxcd.io/v2beta2", true},
		"how long an installation may take":        {release, "entry/h.yaml", "interval: 1h, valuesFrom", "interval: 1h, install: {timeout: 5m, createNamespace: true}, valuesFrom", true},
		"what an installation does with CRDs":      {release, "entry/h.yaml", "interval: 1h, valuesFrom", "interval: 1h, install: {crds: Skip}, valuesFrom", false},
		"nothing":                                  {release, "entry/h.yaml", "", "", true},
		"how often it is looked at":                {release, "entry/h.yaml", "interval: 1h", "interval: 2h", true},
		"the chart's version":                      {release, "entry/h.yaml", "1.0.0", "2.0.0", false},
		"a field that nobody knows":                {release, "entry/h.yaml", "valuesFrom", "other: x, valuesFrom", false},
		"where the chart comes from":               {release, "entry/r.yaml", "https://one", "https://two", false},
		"how often that is looked at":              {release, "entry/r.yaml", "interval: 1h", "interval: 2h", true},
		"a value of the chart":                     {release, "entry/v.yaml", "false", "true", false},
		"something else":                           {release, "entry/x.yaml", "a: b", "a: c", true},
		"a template of a chart in Git":             {chart, "charts/c/templates/x.yaml", "x", "y", false},
		"what that chart depends on":               {chart, "charts/d/crds/x.yaml", "v1}", "v2}", false},
		"its values":                               {chart, "env/one.yaml", "a: b", "a: c", false},
		"values of others":                         {chart, "env/two.yaml", "a: b", "a: c", true},
		"the values of an Application's chart":     {ofChart, "charts/c/own.yaml", "a: b", "a: c", false},
		"its values of another source":             {ofChart, "env/one.yaml", "a: b", "a: c", false},
		"other values, for Argo CD":                {ofChart, "env/two.yaml", "a: b", "a: c", true},
		"a plugin's file":                          {plugin, "p/x.txt", "a", "b", false},
		"a CRD that a plugin may read":             {plugin, "base/crd.yaml", "v1}", "v2}", false},
		"a list of files that a plugin may read":   {plugin, "base/kustomization.yaml", "x.yaml", "crd.yaml", false},
		"whatever a plugin may read":               {plugin, "base/x.yaml", "name: x", "name: y", false},
		"a CRD that an ApplicationSet may apply":   {set, "at/one/crd.yaml", "v1}", "v2}", false},
		"what an ApplicationSet's chart uses not":  {ofSource("chart: c, repoURL: r.example.com"), "at/one/crd.yaml", "v1}", "v2}", true},
		"what an ApplicationSet may well use":      {ofSource("path: '{{x}}'"), "at/one/crd.yaml", "v1}", "v2}", false},
		"a folder that a set is of in two ways":    {files{"entry/a.yaml": ofSource("path: 'at/{{name}}'")["entry/a.yaml"], "at/one/a.yaml": app("b", "source: {path: at/two, kustomize: {namePrefix: p-}}"), "at/two/kustomization.yaml": "resources: [x.yaml]\n", "at/two/x.yaml": configMap("x"), "other/crd.yaml": crd("x")}, "other/crd.yaml", "v1}", "v2}", true},
		"what is not of a set's own set":           {leading("source: {path: at/two}"), "at/one/crd.yaml", "v1}", "v2}", true},
		"what is of a set's own set":               {leading("source: {path: at/one}"), "at/one/crd.yaml", "v1}", "v2}", false},
		"what may be a value of it":                {leading("source: {path: at/two, helm: {valueFiles: ['*.yaml']}}"), "at/one/crd.yaml", "v1}", "v2}", false},
		"what a plug-in of it may read":            {leading("source: {path: at/two, plugin: {}}"), "at/one/crd.yaml", "v1}", "v2}", false},
		"a set that leads back to itself":          {leading("source: {path: set}"), "at/one/crd.yaml", "v1}", "v2}", true},
		"what no template of a set is of":          {files{"entry/a.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{clusters: {}}], template: {metadata: {name: a}}, source: {path: at}"), "at/one/crd.yaml": crd("x")}, "at/one/crd.yaml", "v1}", "v2}", true},
		"what no value of a set leads to":          {ofValues("", "{{values.root}}/missing/{{values.env}}"), "at/one/crd.yaml", "v1}", "v2}", true},
		"a file of values of a set":                {lent("$v/{{values.root}}/{{values.env}}/v.yaml"), "at/one/v.yaml", "1", "2", false},
		"another file of values":                   {lent("$v/{{values.root}}/{{values.env}}/v.yaml"), "other/v.yaml", "1", "2", true},
		"a file below what is known of a path":     {lent("$v/{{values.root}}/{{name}}/v.yaml"), "at/one/v.yaml", "1", "2", false},
		"a file of a path that is not known":       {lent("$v/{{name}}/v.yaml"), "other/v.yaml", "1", "2", false},
		"files of values by a pattern":             {lent("$v/at/*/v.yaml"), "other/v.yaml", "1", "2", false},
		"what an ApplicationSet has elsewhere":     {ofSource("path: missing"), "at/one/crd.yaml", "v1}", "v2}", true},
		"what an ApplicationSet has nowhere yet":   {ofSource("path: 'at/one/{{x}}'"), "at/one/crd.yaml", "v1}", "v2}", false},
		"what is beside what it has nowhere yet":   {ofSource("path: 'at/two-{{x}}'"), "at/one/crd.yaml", "v1}", "v2}", false},
		"what is beside its folder":                {ofSource("path: 'two/{{x}}'"), "at/one/crd.yaml", "v1}", "v2}", true},
		"what an ApplicationSet has at a root":     {ofSource("path: /, repoURL: 'https://git/theirs'"), "at/one/crd.yaml", "v1}", "v2}", false},
		"a chart below an entry point of Helm's":   {files{"entry/kustomization.yaml": "helmCharts: [{name: c, repo: https://r.example.com, version: 1.0.0}]\n", "apps/kustomization.yaml": "helmCharts: [{name: d, version: 1.0.0}]\n"}, "apps/kustomization.yaml", "1.0.0", "2.0.0", false},
		"what a folder may apply that fails":       {files{"entry/a.yaml": flux("a", "path: ./p"), "p/kustomization.yaml": "resources: [b.yaml]\ntransformers: [t.yaml]\n", "p/t.yaml": object("example.com/v1", "Plugin", "t", ""), "p/b.yaml": flux("b", "path: ./b"), "b/crd.yaml": crd("x")}, "b/crd.yaml", "v1}", "v2}", false},
		"a chart below one that applies itself":    {files{"entry/kustomization.yaml": "helmCharts: [{name: c, repo: https://r.example.com, version: 1.0.0}]\nresources: [a.yaml]\n", "entry/a.yaml": app("a", "source: {path: entry}"), "apps/kustomization.yaml": "helmCharts: [{name: d, version: 1.0.0}]\n"}, "apps/kustomization.yaml", "1.0.0", "2.0.0", false},
		"what else an ApplicationSet may apply":    {set, "at/one/x.yaml", "name: x", "name: y", true},
		"a CRD of a value of an ApplicationSet":    {ofValues("", "{{values.root}}/{{ .values.env }}"), "at/two/crd.yaml", "v1}", "v2}", false},
		"a CRD of none of the values":              {ofValues("", "{{values.root}}/{{values.env}}"), "at/three/crd.yaml", "v1}", "v2}", true},
		"a CRD beside the root of the values":      {ofValues("", "{{values.root}}/{{name}}"), "other/one/crd.yaml", "v1}", "v2}", true},
		"a CRD of a name below the root":           {ofValues("", "{{values.root}}/{{name}}"), "at/three/crd.yaml", "v1}", "v2}", false},
		"a CRD of a value that is empty":           {ofValues(", {list: {elements: [{name: y, values.env: ''}]}}", "at/one/{{values.env}}"), "at/one/crd.yaml", "v1}", "v2}", false},
		"a CRD of a value that is a template":      {ofValues(", {clusters: {values: {env: '{{name}}'}}}", "at/{{values.env}}"), "at/three/crd.yaml", "v1}", "v2}", false},
		"a CRD of a value that leads up":           {ofValues(", {clusters: {values: {env: '../other/one'}}}", "at/{{values.env}}"), "at/three/crd.yaml", "v1}", "v2}", false},
		"a CRD of values of another generator":     {ofValues(", {clusterDecisionResource: {values: {env: one}}}", "at/{{values.env}}"), "at/three/crd.yaml", "v1}", "v2}", false},
		"a CRD of a generator's own template":      {ofValues(", {clusters: {template: {spec: {source: {path: other/one}}}}}", "at/{{values.env}}"), "other/one/crd.yaml", "v1}", "v2}", false},
		"a CRD of an element with a slash":         {deep("list: {elements: [{dir: one/two}]}", "at/{{dir}}"), "at/one/two/crd.yaml", "v1}", "v2}", false},
		"a CRD of a plug-in's parameter":           {deep("plugin: {configMapRef: {name: p}}", "at/{{dir}}"), "at/one/two/crd.yaml", "v1}", "v2}", false},
		"a CRD of a name with slashes":             {deep("clusters: {}", `at/{{ .name | replace "-" "/" }}`), "at/one/two/crd.yaml", "v1}", "v2}", false},
		"Jsonnet that a set's folder imports":      {adding(ofSource("path: 'sub/{{name}}'"), "sub/a/x.jsonnet", "import '../../lib/x.libsonnet'", "lib/x.libsonnet", "{x: 1}"), "lib/x.libsonnet", "x: 1", "x: 2", false},
		"an override in a set's folder":            {adding(set, "at/one/.argocd-source-a.yaml", "x: 1"), "at/one/.argocd-source-a.yaml", "x: 1", "x: 2", false},
		"a file that is a parameter of a set's":    {adding(ofSource("path: 'at/{{name}}', helm: {fileParameters: [{name: v, path: '../../flags/{{name}}'}]}"), "flags/one", "old"), "flags/one", "old", "new", false},
		"what a set's template includes":           {adding(ofSource("path: at, directory: {recurse: true, include: '{{name}}/*.yaml'}"), "at/x.yaml", configMap("x")), "at/one/crd.yaml", "v1}", "v2}", false},
		"a component of a set's template":          {adding(ofSource("path: 'sub', kustomize: {components: ['../at/{{name}}']}"), "sub/kustomization.yaml", "namespace: x", "at/one/kustomization.yaml", "kind: Component\nresources: [crd.yaml]"), "at/one/crd.yaml", "v1}", "v2}", false},
		"a folder that is the name of a chart":     {deep("git: {directories: [{path: at/*}]}", "', chart: '{{path.basename}}"), "at/two/x.yaml", "", "{}", false},
		"a folder that is the name of a revision":  {deep("git: {directories: [{path: at/*}]}", "at/one', targetRevision: '{{path.basename}}"), "at/two/x.yaml", "", "{}", false},
		"a folder that is the name of no chart":    {deep("git: {directories: [{path: other/*}]}", "', chart: '{{path.basename}}"), "at/two/x.yaml", "", "{}", true},
		"a file of a generator without an ending":  {deep("git: {files: [{path: at/*/version}]}", "', chart: c, targetRevision: '{{version}}"), "at/one/version", "", "version: 1.0.0", false},
		"a CRD for another cluster":                {away, "base/crd.yaml", "v1}", "v2}", false},
		"what else is for another cluster":         {away, "base/x.yaml", "name: x", "name: y", true},
		"a chart's tag for another cluster":        {awayWith(source("OCIRepository", "r", "ref: {tag: v1}"), helm("chartRef: {kind: OCIRepository, name: r}")), "p/x.yaml", "tag: v1", "tag: v2", false},
		"values for another cluster":               {awayWith(configMap("v", "crds: 'false'"), helm("valuesFrom: [{kind: ConfigMap, name: v}]")), "p/x.yaml", "false", "true", false},
		"a command for another cluster":            {awayWith(object("batch/v1", "Job", "j", "template: {spec: {containers: [{command: [kubectl, apply, -f, 'https://r.example.com/v1/crds.yaml']}]}}")), "p/x.yaml", "/v1/", "/v2/", false},
		"a chart in Git for another cluster":       {adding(awayWith(helm(inGit)), "charts/c/Chart.yaml", "name: c\n", "charts/c/crds/x.yaml", crd("x")), "charts/c/crds/x.yaml", "v1}", "v2}", false},
		"what leads on there, and is not built":    {adding(awayWith(flux("b", "path: ./b")), "p/kustomization.yaml", "resources: [x.yaml, missing.yaml]", "b/crd.yaml", crd("x")), "b/crd.yaml", "v1}", "v2}", false},
		"values for a release of a missing part":   {missing, "entry/v.yaml", "false", "true", false},
		"a source for a release of a missing part": {missing, "entry/o.yaml", "tag: v1", "tag: v2", false},
		"how often that source is looked at":       {missing, "entry/o.yaml", "interval: 1h", "interval: 2h", true},
		"what a container beside it uses":          {missing, "entry/used.yaml", "a: b", "a: c", true},
		"values for a release of a chart":          {adding(missing, "entry/a.yaml", app("a", "source: {chart: c, repoURL: x, targetRevision: 1.2.3}")), "entry/v.yaml", "false", "true", true},
		"an artifact's tag":                        {artifact, "entry/o.yaml", "v1}", "v2}", false},
		"a CRD that may be in the artifact":        {artifact, "p/crd.yaml", "v1}", "v2}", false},
		"a file that may be in the artifact":       {artifact, "p/x.yaml", "name: x", "name: y", false},
		"a file that is not in the artifact":       {artifact, "entry/x.yaml", "name: x", "name: y", true},
		"a folder of a mirror, perhaps":            {mirror, "b/x.yaml", "name: x", "name: y", false},
		"what is not in that folder":               {mirror, "c/x.yaml", "name: x", "name: y", true},
		"an image among values":                    {giving, "entry/h.yaml", "tag: '1'", "tag: '2'", true},
		"resources among values":                   {giving, "entry/h.yaml", "x: 1", "x: 2", true},
		"a feature among values":                   {giving, "entry/h.yaml", "enabled: false", "enabled: true", false},
		"other resources among values":             {giving, "entry/h.yaml", "widgets: true", "widgets: false", false},
		"replicas in a list":                       {giving, "entry/h.yaml", "replicas: 1", "replicas: 2", true},
		"what stands beside them":                  {giving, "entry/h.yaml", "crds: none", "crds: all", false},
		"an image among Argo CD's values":          {lending, "entry/a.yaml", "tag: '1'", "tag: '2'", true},
		"a feature among Argo CD's values":         {lending, "entry/a.yaml", "enabled: false", "enabled: true", false},
		"an image among its values as an object":   {objects, "entry/a.yaml", "tag: '1'", "tag: '2'", true},
		"a feature among its values as an object":  {objects, "entry/a.yaml", "enabled: false", "enabled: true", false},
		"manifests that are called resources":      {raw, "entry/h.yaml", "kind: X, x: 1", "kind: X, x: 2", false},
		"a text of several lines":                  {raw, "entry/h.yaml", "nx: 1", "nx: 2", false},
		"an image of something else":               {others, "entry/s.yaml", "tag: '1'", "tag: '2'", false},
		"another repository's tag":                 {other, "entry/g.yaml", "tag: v1", "tag: v2", false},
		"how often another repository is fetched":  {other, "entry/g.yaml", "interval: 1h", "interval: 2h", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.before[c.file]).To(ContainSubstring(c.from))
			after := maps.Clone(c.before)
			after[c.file] = strings.ReplaceAll(after[c.file], c.from, c.to)
			if c.from == "" {
				after[c.file] = c.before[c.file] + c.to
			}
			one, two := followed(t, c.before).Unseen, followed(t, after).Unseen
			g.Expect(one).To(HaveLen(1))
			g.Expect(two).To(HaveLen(1))
			if c.same {
				g.Expect(two[0].Fingerprint).To(Equal(one[0].Fingerprint), "wherever the repository lies")
			} else {
				g.Expect(two[0].Fingerprint).NotTo(Equal(one[0].Fingerprint))
			}
		})
	}
}

func TestALinkedFolderMayBeASets(t *testing.T) {
	g := NewWithT(t)
	fingerprint := func(version string) string {
		tree := opened(t, files{
			"entry/a.yaml":              object("argoproj.io/v1alpha1", "ApplicationSet", "a", "generators: [{clusters: {}}], template: {metadata: {name: a}, spec: {source: {path: 'at/{{name}}'}}}"),
			"at/one/x.yaml":             configMap("x"),
			"of/two/crd.yaml":           strings.Replace(crd("x"), "v1}", version+"}", 1),
			"of/two/kustomization.yaml": "resources: [crd.yaml]\n",
		})
		g.Expect(os.Symlink("../of/two", filepath.Join(tree.Root, "at", "two"))).To(Succeed())
		c, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Unseen).To(HaveLen(1))
		return c.Unseen[0].Fingerprint
	}
	g.Expect(fingerprint("v1")).To(Equal(fingerprint("v1")))
	g.Expect(fingerprint("v1")).NotTo(Equal(fingerprint("v2")))
}

func TestWhatMovesToAnotherUnitIsNotTheSame(t *testing.T) {
	g := NewWithT(t)
	both := flux("a", "path: ./a") + flux("b", "path: ./b")
	one := followed(t, files{"entry/a.yaml": both, "a/h.yaml": helm("chart: {}"), "b/x.yaml": configMap("x")}).Unseen
	two := followed(t, files{"entry/a.yaml": both, "a/x.yaml": configMap("x"), "b/h.yaml": helm("chart: {}")}).Unseen
	g.Expect(two[0].Name).To(Equal(one[0].Name))
	g.Expect(two[0].Fingerprint).NotTo(Equal(one[0].Fingerprint), "the one may be pruned before the other comes")
}

func TestWhatAStreamPointsAtIsUnseen(t *testing.T) {
	g := NewWithT(t)
	c, err := desired.Stream(t.Context(), "standard input", strings.NewReader(flux("a", "path: ./a")+app("b", "source: {path: b}")+helm("chart: {spec: {chart: ./c}}")+configMap("x")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unseen(c)).To(Equal([]string{
		"Kustomization flux-system/a: nothing is followed from standard input", "Application argocd/b: nothing is followed from standard input",
		"HelmRelease flux-system/h: it installs the chart ./c",
	}))
}

func TestASnapshotAmongTheManifestsBreaksNothing(t *testing.T) {
	g := NewWithT(t)
	const snapshot = "apiVersion: preview.moult.dev/v1alpha1\nkind: ClusterSnapshot\ncluster: production\n"
	repository := opened(t, files{"crds/x.yaml": crd("x.example.com"), "entry/y.yaml": configMap("y"), "entry/production.yaml": snapshot, "snapshots/production.yaml": snapshot})
	all, err := desired.Follow(t.Context(), repository, "", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(units(all)).To(Equal([]string{repository.Name + ": x.example.com y"}))
	g.Expect(all.Findings).To(BeEmpty())
	one, err := desired.Follow(t.Context(), repository, "entry", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(units(one)).To(Equal([]string{"entry: y"}))
	g.Expect(findings(one)).To(Equal([]string{"SnapshotAmongManifests warning entry/production.yaml"}), "Flux would not pass it over")
}
