package desired_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// what is applied: for each object of the last unit its namespace/name, labels, annotations and data.
func applied(t *testing.T, f files) (objects, found []string) {
	t.Helper()
	c := followed(t, f)
	last := c.Units[len(c.Units)-1]
	NewWithT(t).Expect(last.Err).NotTo(HaveOccurred())
	for _, object := range last.Objects {
		text := object.GetNamespace() + "/" + object.GetName()
		for _, field := range []string{"labels", "annotations"} {
			values, _ := object.Object["metadata"].(map[string]any)[field].(map[string]any)
			for _, key := range []string{"a", "b", "c"} {
				if value, ok := values[key].(string); ok {
					text += " " + key + "=" + value
				}
			}
		}
		data, _ := object.Object["data"].(map[string]any)
		for _, key := range []string{"x", "y", "z"} {
			if value, ok := data[key].(string); ok {
				text += " " + key + "=" + value
			}
		}
		objects = append(objects, text)
	}
	return objects, findings(c)
}

func TestAKustomizationsSettingsAreApplied(t *testing.T) {
	component := files{
		"deploy/x.yaml":           configMap("m", "x: one"),
		"more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"add\", \"path\": \"/data/y\", \"value\": \"component\"}]'}]\n",
	}
	const path = "path: ./deploy, "
	for name, c := range map[string]struct{ spec, want string }{
		"nothing":                {path, "/m x=one"},
		"targetNamespace":        {path + "targetNamespace: there", "there/m x=one"},
		"namePrefix, nameSuffix": {path + "namePrefix: p-, nameSuffix: -s", "/p-m-s x=one"},
		"commonMetadata":         {path + "commonMetadata: {labels: {a: '1'}, annotations: {b: '2'}}", "/m a=1 b=2 x=one"},
		"components":             {path + "components: [../more]", "/m x=one y=component"},
		"missing components":     {path + "components: [../more, ../missing], ignoreMissingComponents: true", "/m x=one y=component"},
		"patches":                {path + "patches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"replace\", \"path\": \"/data/x\", \"value\": \"two\"}]'}]", "/m x=two"},
		"patches for others":     {path + "patches: [{target: {kind: Secret}, patch: '[{\"op\": \"replace\", \"path\": \"/data/x\", \"value\": \"two\"}]'}]", "/m x=one"},
		"patches that say whose": {path + "patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {z: three}}'}]", "/m x=one z=three"},
		"no path is the root":    {"prune: true", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := files{"entry/a.yaml": flux("a", c.spec)}
			for file, content := range component {
				f[file] = content
			}
			if c.want == "" {
				delete(f, "more/kustomization.yaml") // is no part of the root
				g.Expect(units(followed(t, f))).To(Equal([]string{"entry: a", "flux-system/a: m a"}))
				return
			}
			got, found := applied(t, f)
			g.Expect(got).To(Equal([]string{c.want}))
			g.Expect(found).To(BeEmpty())
		})
	}
}

func TestVariablesAreSubstitutedAsFarAsTheyAreKnown(t *testing.T) {
	settings := strings.Replace(configMap("settings", "one: from-map", "two: from-map"), "name: settings", "name: settings, namespace: flux-system", 1)
	for name, c := range map[string]struct {
		spec     string
		data     string
		files    files
		want     string
		findings []string
	}{
		"without postBuild":              {"", "x: '${one}'", nil, "x=${one}", nil},
		"given":                          {"postBuild: {substitute: {one: '1'}}", "x: 'a-${one}'", nil, "x=a-1", nil},
		"with a default":                 {"postBuild: {substitute: {two: '1'}}", "x: '${one:=d}'", nil, "x=d", nil},
		"written with two dollars":       {"postBuild: {substitute: {one: '1'}}", "x: '$${one}'", nil, "x=${one}", nil},
		"not given at all":               {"postBuild: {substitute: {two: '1'}}", "x: 'a${one}'", nil, "x=a", nil},
		"asked for always":               {"postBuild: {substituteStrategy: Always}", "x: 'a${one}'", nil, "x=a", nil},
		"from a ConfigMap":               {"postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}", "x: '${one}'", files{"entry/s.yaml": settings}, "x=from-map", nil},
		"from one that comes later":      {"postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}", "x: '${one}'", files{"entry/s.yaml": flux("z", "path: ./settings"), "settings/s.yaml": settings}, "x=from-map", nil},
		"given and from a ConfigMap":     {"postBuild: {substitute: {one: '1'}, substituteFrom: [{kind: ConfigMap, name: settings}]}", "x: '${one} ${two}'", files{"entry/s.yaml": settings}, "x=1 from-map", nil},
		"from one that is not here":      {"postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}", "x: '${one}'", nil, "x=${one}", []string{"VariableUnknown info entry/a.yaml:4"}},
		"from one that is encrypted":     {"postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}", "x: '${one}'", files{"entry/s.yaml": strings.Replace(settings, "from-map", "'ENC[x]'", 1)}, "x=${one}", []string{"VariableUnknown info entry/a.yaml:4"}},
		"from a Secret":                  {"postBuild: {substituteFrom: [{kind: Secret, name: settings}]}", "x: '${one}'", nil, "x=${one}", []string{"VariableUnknown info entry/a.yaml:4"}},
		"from a Secret, but not used":    {"postBuild: {substituteFrom: [{kind: Secret, name: settings}]}", "x: one", nil, "x=one", nil},
		"from a Secret, and given":       {"postBuild: {substitute: {one: '1'}, substituteFrom: [{kind: Secret, name: settings}]}", "x: 'a-${one}'", nil, "x=a-1", nil},
		"switched off for the object":    {"postBuild: {substitute: {one: '1'}}", "", files{"deploy/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {x: '${one}'}\n"}, "x=${one}", nil},
		"in what decides about the CRDs": {"postBuild: {substituteFrom: [{kind: Secret, name: settings}]}", "x: one", files{"deploy/crd.yaml": crd("'${one}.example.com'")}, "", []string{"VariableUnknown warning entry/a.yaml:4"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := files{"entry/a.yaml": flux("a", "path: ./deploy, "+c.spec), "deploy/x.yaml": configMap("m", c.data)}
			for file, content := range c.files {
				f[file] = content
			}
			got, found := applied(t, f)
			g.Expect(found).To(Equal(c.findings))
			if c.want != "" {
				g.Expect(got).To(Equal([]string{"/m " + c.want}))
			}
		})
	}
}

// A ConfigMap that is made in the cluster may be that of a hundred Kustomizations.
func TestUnknownValuesOfManyAreOneFinding(t *testing.T) {
	g := NewWithT(t)
	repository := files{"deploy/x.yaml": configMap("m", "x: '${one} ${two}'")}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		repository["entry/"+name+".yaml"] = flux(name, "path: ./deploy, postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}")
	}
	found := followed(t, repository).Findings
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Why).To(Equal("7 Kustomizations put in values that are not in this repository (ConfigMap settings): flux-system/a: one, two; flux-system/b: one, two; " +
		"flux-system/c: one, two; flux-system/d: one, two; flux-system/e: one, two; and 2 more"))
}

func TestWhatIsPutInMayBeMoreThanText(t *testing.T) {
	g := NewWithT(t)
	c := followed(t, files{"entry/a.yaml": flux("a", "path: ./deploy, postBuild: {substitute: {n: '3'}}"), "deploy/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\nsize: ${n}\n"})
	g.Expect(c.Units[1].Objects[0].Object["size"]).To(Equal(int64(3)))
	g.Expect(c.Units[1].Objects[0].At("size").String()).To(Equal("deploy/x.yaml:4"))
	c = followed(t, files{"entry/a.yaml": flux("a", "path: ./deploy, postBuild: {substitute: {n: '3'}}"), "deploy/x.yaml": configMap("m", "x: 'costs ${5'")})
	g.Expect(units(c)).To(Equal([]string{"entry: a", "flux-system/a: error"}))
}

func TestSourcesTellWhatIsInThisRepository(t *testing.T) {
	git := func(name, url, ref string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {url: '" + url + "', ref: {" + ref + "}}\n---\n"
	}
	const here = "path: ./deploy, sourceRef: {kind: GitRepository, name: "
	for name, c := range map[string]struct {
		sources, spec string
		unseen, rule  string
	}{
		"none that is known":              {"", here + "flux-system}", "", ""},
		"this one":                        {git("flux-system", "ssh://git@example.com/o/r", "branch: main"), here + "flux-system}", "", ""},
		"another name, the same address":  {git("flux-system", "ssh://git@example.com/o/r.git", "branch: main") + git("other", "git@example.com:o/r", "branch: main"), here + "other}", "", ""},
		"the same address by HTTPS":       {git("flux-system", "ssh://git@example.com/o/r", "branch: main") + git("other", "https://example.com/o/R.git/", "branch: main"), here + "other}", "", ""},
		"another address":                 {git("flux-system", "ssh://git@example.com/o/r", "branch: main") + git("other", "ssh://git@example.com/o/other", "branch: main"), here + "other}", "it comes from another repository, ssh://git@example.com/o/other (GitRepository other)", ""},
		"another address, and no ours":    {git("other", "ssh://git@example.com/o/other", "branch: main"), here + "other}", "", ""},
		"a tag":                           {git("flux-system", "ssh://git@example.com/o/r", "tag: v1"), here + "flux-system}", "", "Pinned info"},
		"a range of versions":             {git("flux-system", "ssh://git@example.com/o/r", "semver: '>=1'"), here + "flux-system}", "", "Pinned info"},
		"another's of the same name":      {strings.Replace(git("flux-system", "ssh://git@example.com/o/other", "branch: main"), "namespace: flux-system", "namespace: x", 1) + git("flux-system", "ssh://git@example.com/o/r", "branch: main"), here + "flux-system}", "", ""},
		"of the same name, in another ns": {git("flux-system", "ssh://git@example.com/o/r", "tag: v1"), here + "flux-system, namespace: x}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, files{"entry/a.yaml": flux("a", c.spec) + c.sources, "deploy/x.yaml": configMap("x")})
			unit := cluster.Units[1]
			g.Expect(unit.Unseen).To(Equal(c.unseen))
			g.Expect(len(unit.Objects)).To(Equal(map[bool]int{true: 1}[c.unseen == ""]))
			if c.rule == "" {
				g.Expect(findings(cluster)).To(BeEmpty())
				return
			}
			g.Expect(findings(cluster)).To(ConsistOf(HavePrefix(c.rule)))
			g.Expect(unit.Pinned != "").To(Equal(c.rule == "Pinned info"))
		})
	}
}

func TestAnApplicationsSourcesAreReadAsArgoCDDoes(t *testing.T) {
	repository := files{
		"plain/x.yaml": configMap("x"), "plain/below/y.yaml": configMap("y"), "plain/values.yaml": "replicas: 1\n",
		"built/kustomization.yaml": "resources: [m.yaml]\n", "built/m.yaml": configMap("m"),
		"chart/Chart.yaml": "name: chart\n", "chart/templates/x.yaml": "{{ x }}",
		"more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -more\n",
	}
	for name, c := range map[string]struct {
		spec     string
		want     string
		findings []string
	}{
		"a plain folder":              {"source: {path: plain}", "argocd/a: x", nil},
		"and those below":             {"source: {path: plain, directory: {recurse: true}}", "argocd/a: y x", nil},
		"some files":                  {"source: {path: plain, directory: {recurse: true, exclude: 'below/*'}}", "argocd/a: x", nil},
		"some files only":             {"source: {path: plain, directory: {recurse: true, include: 'below/*'}}", "argocd/a: y", nil},
		"a kustomization":             {"source: {path: built}", "argocd/a: m", nil},
		"with names":                  {"source: {path: built, kustomize: {namePrefix: p-, nameSuffix: -s, namespace: n}}", "argocd/a: p-m-s", nil},
		"with components":             {"source: {path: built, kustomize: {components: [../more]}}", "argocd/a: m-more", nil},
		"with patches":                {"source: {path: built, kustomize: {patches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"n\"}]'}]}}", "argocd/a: n", nil},
		"options without one":         {"source: {path: plain, kustomize: {namePrefix: p-}}", "argocd/a: x", nil},
		"a chart":                     {"source: {chart: c, repoURL: x}", "argocd/a: (it comes from the chart c)", nil},
		"a chart in the repository":   {"source: {path: chart}", "argocd/a: (chart is a chart)", nil},
		"a plugin":                    {"source: {path: plain, plugin: {}}", "argocd/a: (it is rendered by a plugin)", nil},
		"no source":                   {"project: x", "argocd/a: (it has no source)", nil},
		"a source without a path":     {"source: {repoURL: x}", "argocd/a: (it names no path)", nil},
		"several sources":             {"sources: [{path: plain}, {path: built}]", "argocd/a: x m", nil},
		"several, of which some lend": {"sources: [{path: plain}, {ref: values}]", "argocd/a: x", nil},
		"several, of which one hides": {"sources: [{path: plain}, {chart: c}]", "argocd/a: x (it comes from the chart c)", nil},
		"several with their own":      {"sources: [{path: built, kustomize: {namePrefix: p-}}, {path: built, kustomize: {namePrefix: q-, components: [../more]}}]", "argocd/a: p-m q-m-more", nil},
		"a branch":                    {"source: {path: plain, targetRevision: release/1.2}", "argocd/a: x", nil},
		"a version":                   {"source: {path: plain, targetRevision: v1.2.3}", "argocd/a: x", []string{"Pinned info entry/a.yaml:4"}},
		"a hash":                      {"source: {path: plain, targetRevision: a123456789012345678901234567890123456789}", "argocd/a: x", []string{"Pinned info entry/a.yaml:4"}},
		"no such folder":              {"source: {path: missing}", "argocd/a: (there is no folder missing in this repository)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := files{"entry/a.yaml": app("a", c.spec)}
			for file, content := range repository {
				f[file] = content
			}
			cluster := followed(t, f)
			g.Expect(units(cluster)[1:]).To(Equal([]string{c.want}))
			g.Expect(findings(cluster)).To(Equal(c.findings))
		})
	}
}

func TestAnApplicationSetIsExpandedWithoutACluster(t *testing.T) {
	set := func(spec string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec: {" + spec + "}\n"
	}
	const template = ", template: {metadata: {name: '{{path.basename}}'}, spec: {source: {path: '{{path}}'}}}"
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"a list":                   {"generators: [{list: {elements: [{name: one, dir: a}, {name: two, dir: b}]}}], template: {metadata: {name: 'app-{{name}}'}, spec: {source: {path: 'apps/{{ dir }}'}}}", []string{"argocd/app-one: in-a", "argocd/app-two: in-b"}},
		"a list for Go templates":  {"goTemplate: true, generators: [{list: {elements: [{app: {name: one}, dir: a}]}}], template: {metadata: {name: '{{ .app.name }}'}, spec: {source: {path: 'apps/{{.dir}}'}}}", []string{"argocd/one: in-a"}},
		"folders":                  {"generators: [{git: {directories: [{path: apps/*}]}}]" + template, []string{"argocd/a: in-a", "argocd/b: in-b"}},
		"folders but one":          {"generators: [{git: {directories: [{path: apps/*}, {path: apps/b, exclude: true}]}}]" + template, []string{"argocd/a: in-a"}},
		"folders for Go templates": {"goTemplate: true, generators: [{git: {directories: [{path: apps/a}]}}], template: {metadata: {name: '{{ index .path.segments 0 }}-{{.path.basename}}'}, spec: {source: {path: '{{.path.path}}'}}}", []string{"argocd/apps-a: in-a"}},
		"clusters":                 {"generators: [{clusters: {}}]" + template, []string{"argocd/set: (which clusters Argo CD knows is not known; name their Secrets with --cluster-secrets)"}},
		"more than a name":         {"goTemplate: true, generators: [{git: {directories: [{path: apps/*}]}}], template: {metadata: {name: '{{ .path.basename | upper }}'}}", []string{"argocd/A: (it has no source)", "argocd/B: (it has no source)"}},
		"a name of a cluster":      {"goTemplate: true, generators: [{list: {elements: [{a: b}]}}], template: {metadata: {name: '{{ .name }}'}}", []string{"argocd/set: (its template has {{ .name }}, of which not all is known without a cluster)"}},
		"two generators":           {"goTemplate: true, generators: [{matrix: {generators: [{git: {directories: [{path: apps/*}]}}, {list: {elements: [{env: dev}, {env: prod}]}}]}}], template: {metadata: {name: '{{.path.basename}}-{{.env}}'}, spec: {source: {path: '{{.path.path}}'}}}", []string{"argocd/a-dev: in-a", "argocd/a-prod: in-a", "argocd/b-dev: in-b", "argocd/b-prod: in-b"}},
		"two that are merged":      {"generators: [{merge: {mergeKeys: [name], generators: [{list: {elements: [{name: one, dir: a}, {name: two, dir: a}]}}, {list: {elements: [{name: two, dir: b}]}}]}}], template: {metadata: {name: '{{name}}'}, spec: {source: {path: 'apps/{{dir}}'}}}", []string{"argocd/one: in-a", "argocd/two: in-b"}},
		"files":                    {"generators: [{git: {files: [{path: 'envs/*.json'}]}}], template: {metadata: {name: '{{env.name}}-{{path.filename}}'}, spec: {source: {path: 'apps/{{env.dir}}'}}}", []string{"argocd/one-one.json: in-a"}},
		"a matrix of clusters":     {"generators: [{matrix: {generators: [{git: {directories: [{path: apps/*}]}}, {clusters: {}}]}}]" + template, []string{"argocd/set: (which clusters Argo CD knows is not known; name their Secrets with --cluster-secrets)"}},
		"nothing":                  {"generators: [{git: {directories: [{path: none/*}]}}]" + template, []string{"argocd/set: (its generators give nothing in this repository)"}},
		"no template":              {"generators: [{list: {elements: [{a: b}]}}]", []string{"argocd/set: (it has no template)"}},
		"a patch":                  {"templatePatch: '{spec: {source: {path: apps/{{path.basename}}}}}', generators: [{git: {directories: [{path: apps/b}]}}], template: {metadata: {name: it}, spec: {source: {path: apps/a}}}", []string{"argocd/it: in-b"}},
		"a generator's template":   {"generators: [{list: {elements: [{a: b}], template: {metadata: {labels: {step: first}}}}}]" + template, []string{"argocd/set: (its generators have templates of their own)"}},
		"folders with a template":  {"generators: [{git: {directories: [{path: apps/*}], template: {spec: {sources: []}}}}]" + template, []string{"argocd/set: (its generators have templates of their own)"}},
		"an empty template":        {"generators: [{git: {directories: [{path: apps/a}], template: {metadata: {}, spec: {project: ''}}}}]" + template, []string{"argocd/a: in-a"}},
		"a selector":               {"generators: [{selector: {matchLabels: {env: dev}}, list: {elements: [{name: one, env: dev}, {name: two, env: prod}]}}], template: {metadata: {name: '{{name}}'}, spec: {source: {path: apps/a}}}", []string{"argocd/one: in-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := followed(t, files{"entry/set.yaml": set(c.spec), "apps/a/x.yaml": configMap("in-a"), "apps/b/x.yaml": configMap("in-b"), "apps/.hidden/x.yaml": configMap("hidden"), "envs/one.json": `{"env": {"name": "one", "dir": "a"}}`})
			g.Expect(units(cluster)[1:]).To(Equal(c.want))
			g.Expect(cluster.Units[1].By.At("spec", "source").String()).To(Equal("entry/set.yaml:4"))
			for _, unit := range cluster.Units[1:] {
				g.Expect(unit.Set != nil).To(Equal(unit.By.GetKind() == "Application"))
			}
		})
	}
}

// The steps of an ApplicationSet go by the labels of its Applications.
func TestTheApplicationsOfASetHaveTheirOwnLabels(t *testing.T) {
	g := NewWithT(t)
	cluster := followed(t, files{
		"entry/set.yaml": object("argoproj.io/v1alpha1", "ApplicationSet", "set", "generators: [{list: {elements: [{name: a, env: dev}, {name: b, env: prod}]}}], template: {metadata: {name: '{{name}}', labels: {env: '{{env}}'}}, spec: {source: {path: 'apps/{{name}}'}}}"),
		"apps/a/x.yaml":  configMap("in-a"), "apps/b/x.yaml": configMap("in-b"),
	})
	var labels []string
	for _, unit := range cluster.Units[1:] {
		labels = append(labels, unit.Name+": "+unit.By.GetLabels()["env"]+" of "+unit.Set.GetName())
	}
	g.Expect(labels).To(Equal([]string{"flux-system/a: dev of set", "flux-system/b: prod of set"}))
}
