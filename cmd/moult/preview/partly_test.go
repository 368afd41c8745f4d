package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// A part of a kustomization that cannot be had hides itself, and nothing beside it.
func TestWhatCannotBeHadHidesOnlyItself(t *testing.T) {
	type files = map[string]string
	const (
		remote    = "resources: [crd.yaml, it.yaml, 'https://github.com/example/it?ref=v1']\n"
		helm      = "resources: [crd.yaml, it.yaml]\nhelmCharts: [{name: it, repo: 'https://charts.example.com', version: 1.0.0, valuesFile: v.yaml}]\n"
		generated = "resources: [crd.yaml, it.yaml]\ngenerators: [g.yaml]\n"
		dashboard = "apiVersion: example.com/v1\nkind: Dashboard\nmetadata: {name: it}\nspec: {of: x}\n"
		plugin    = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: it}\nfiles: [secret.yaml]\n"
	)
	const copier = "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: NAME}\nreplacements: [{source: {kind: Dashboard, fieldPath: spec.of}, targets: [{select: {kind: X}, fieldPaths: [spec]}]}]\n"
	const copying = "replacements: [{source: {kind: Deployment, fieldPath: spec.template.spec.containers.0.image}, targets: [{select: {kind: X}, fieldPaths: [spec]}]}]\n"
	const text = "configMapGenerator: [{name: c, literals: [x=y]}]\nreplacements: [{source: {kind: ConfigMap, name: c, fieldPath: data.x}, targets: [{select: {kind: Dashboard}, fieldPaths: [spec.of]}]}]\n"
	const transforming, prefix = remote + "transformers: [t.yaml]\n", "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: p-\nfieldSpecs: [{path: spec/image}]\n"
	const inflated = "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: it}\nname: it\nversion: 1.0.0\n"
	const patch = "patches: [{path: p.yaml, target: {name: it}}]\n"
	less := strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	other := strings.Replace(dashboard, "of: x", "of: y", 1)
	as := func(kind string) files { return files{"it.yaml": strings.Replace(other, "Dashboard", kind, 1)} }
	const same, changes, named = "no CRD changes", "changes, and what CRDs it brings is not known", "v1alpha1 of widgets.example.com"
	for name, c := range map[string]struct {
		kustomization string
		base, head    files
		says          string
	}{
		"a manifest":                   {remote, nil, files{"it.yaml": other}, same},
		"a manifest that comes":        {remote, nil, files{"kustomization.yaml": "resources: [new.yaml, crd.yaml, it.yaml, 'https://github.com/example/it?ref=v1']\n", "new.yaml": strings.Replace(dashboard, "name: it", "name: new", 1)}, same},
		"a version that leaves":        {remote, nil, files{"crd.yaml": less}, named},
		"a CRD that leaves":            {remote, nil, files{"kustomization.yaml": "resources: [it.yaml, 'https://github.com/example/it?ref=v1']\n"}, "widgets.example.com"},
		"the ref of the base":          {remote, nil, files{"kustomization.yaml": strings.Replace(remote, "v1", "v2", 1)}, changes},
		"another base":                 {remote, nil, files{"kustomization.yaml": remote + "components: [more]\n", "more/kustomization.yaml": "kind: Component\nresources: ['https://example.com/more?ref=v1']\n"}, changes},
		"a prefix":                     {remote, nil, files{"kustomization.yaml": "namePrefix: a-\n" + remote}, changes},
		"an image":                     {remote + "images: [{name: a, newTag: '1'}]\n", nil, files{"kustomization.yaml": remote + "images: [{name: a, newTag: '2'}]\n"}, same},
		"an image that may be a field": {remote + "configurations: [c.yaml]\nimages: [{name: a, newTag: '1'}]\n", files{"c.yaml": "images: [{path: spec/x}]\n"}, files{"c.yaml": "images: [{path: spec/x}]\n", "kustomization.yaml": remote + "configurations: [c.yaml]\nimages: [{name: a, newTag: '2'}]\n"}, changes},
		"an image that is copied":      {remote + "images: [{name: a, newTag: '1'}]\n" + copying, nil, files{"kustomization.yaml": remote + "images: [{name: a, newTag: '2'}]\n" + copying}, changes},
		"an image of CRDs":             {remote + "images: [{name: a-crds, newTag: '1'}]\n", nil, files{"kustomization.yaml": remote + "images: [{name: a-crds, newTag: '2'}]\n"}, changes},
		"a patch":                      {remote + patch, files{"p.yaml": "[{op: add, path: /x, value: 1}]"}, files{"p.yaml": "[{op: add, path: /x, value: 2}]"}, changes},
		"what is patched there alone":  {remote + "patches: [{path: p.yaml}]\n", files{"p.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: x}\nx: 1\n"}, files{"p.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: x}\nx: 1\n", "it.yaml": other}, same},
		"a patch of the base alone":    {remote + "patches: [{path: p.yaml}]\n", files{"p.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: x}\nx: 1\n"}, files{"p.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: x}\nx: 1\n", "crd.yaml": less}, changes},
		"what a base is built with":    {"resources: [crd.yaml, below]\n", files{"below/kustomization.yaml": remote, "below/crd.yaml": strings.ReplaceAll(widgetsCRD, "idget", "adget"), "below/it.yaml": dashboard}, files{"below/kustomization.yaml": "nameSuffix: a\n" + remote}, changes},
		"values":                       {remote, as("ConfigMap"), files{"it.yaml": strings.Replace(dashboard, "Dashboard", "ConfigMap", 1)}, changes},
		"what others name":             {remote, as("Service"), files{"it.yaml": strings.Replace(dashboard, "Dashboard", "Service", 1)}, changes},
		"what is copied":               {remote + "replacements: [{source: {kind: Dashboard, fieldPath: spec}, targets: [{select: {kind: X}, fieldPaths: [spec]}]}]\n", nil, files{"it.yaml": other}, changes},
		"what is copied by a name":     {remote + "replacements: [{source: {name: it, fieldPath: spec}, targets: [{select: {kind: X}, fieldPaths: [spec]}]}]\n", nil, files{"it.yaml": other}, changes},
		"beside what is copied":        {remote + "replacements: [{source: {kind: X, fieldPath: spec}, targets: [{select: {kind: X}, fieldPaths: [spec]}]}]\n", nil, files{"it.yaml": other}, same},
		"beside where names are":       {"resources: [crd.yaml, it.yaml, 'https://github.com/example/it?ref=v1', below]\n", files{"below/kustomization.yaml": "resources: [x.yaml]\nreplacements: [{source: {name: x, fieldPath: spec}, targets: [{select: {kind: X}, fieldPaths: [spec]}]}]\n", "below/x.yaml": strings.Replace(dashboard, "name: it", "name: x", 1)}, files{"it.yaml": other}, same},
		"a folder of a base alone": {
			"resources: [crd.yaml, it.yaml, below]\n",
			files{"below/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: ['https://github.com/example/it?ref=v1']\n"},
			files{"crd.yaml": less}, named,
		},
		"what is no part of it":        {strings.Replace(remote, "it.yaml", "it.yaml, helmrelease.yaml", 1), files{"helmrelease.yaml": strings.Replace(dashboard, "name: it", "name: helm", 1)}, files{"notes.yaml": "x: 2\n"}, same},
		"a manifest beside a chart":    {helm, nil, files{"it.yaml": other}, same},
		"a version beside a chart":     {helm, nil, files{"crd.yaml": less}, named},
		"the chart's version":          {helm, nil, files{"kustomization.yaml": strings.Replace(helm, "1.0.0", "2.0.0", 1)}, changes},
		"its values":                   {helm, nil, files{"v.yaml": "x: 2\n"}, changes},
		"an image among its values":    {helm, files{"v.yaml": "image: {tag: '1'}\n"}, files{"v.yaml": "image: {tag: '2'}\n"}, same},
		"an image that is copied from": {helm + copying, files{"v.yaml": "image: {tag: '1'}\n"}, files{"v.yaml": "image: {tag: '2'}\n"}, changes},
		"an image beside a text":       {helm + text, files{"v.yaml": "image: {tag: '1'}\n"}, files{"v.yaml": "image: {tag: '2'}\n"}, same},
		"a value beside a text":        {helm + text, files{"v.yaml": "image: {tag: '1'}\n"}, files{"v.yaml": "image: {tag: '1'}\nx: 1\n"}, changes},
		"a text that is copied":        {helm + text, nil, files{"kustomization.yaml": strings.Replace(helm+text, "x=y", "x=z", 1)}, changes},
		"beside a transformer":         {transforming, files{"t.yaml": prefix}, files{"it.yaml": other}, same},
		"what a transformer says":      {transforming, files{"t.yaml": prefix}, files{"t.yaml": strings.Replace(prefix, "p-", "q-", 1)}, changes},
		"an image for a transformer":   {transforming + "images: [{name: a, newTag: '1'}]\n", files{"t.yaml": prefix}, files{"t.yaml": prefix, "kustomization.yaml": transforming + "images: [{name: a, newTag: '2'}]\n"}, changes},
		"beside one that copies":       {transforming, files{"t.yaml": prefix + "---\n" + strings.Replace(copier, "NAME", "c", 1)}, files{"it.yaml": other}, changes},
		"a container in place":         {strings.Replace(helm, "valuesFile", "valuesInline: {}, valuesFile", 1), nil, files{"kustomization.yaml": strings.Replace(helm, "valuesFile", "valuesInline: {containers: [{name: a, image: b}]}, valuesFile", 1)}, same},
		"another container in place":   {strings.Replace(helm, "valuesFile", "valuesInline: {containers: [{name: a, image: a}]}, valuesFile", 1), nil, files{"kustomization.yaml": strings.Replace(helm, "valuesFile", "valuesInline: {containers: [{name: a, image: b}]}, valuesFile", 1)}, same},
		"a container about CRDs":       {strings.Replace(helm, "valuesFile", "valuesInline: {containers: [{env: [{name: WITH_CRDS, value: '0'}]}]}, valuesFile", 1), nil, files{"kustomization.yaml": strings.Replace(helm, "valuesFile", "valuesInline: {containers: [{env: [{name: WITH_CRDS, value: '1'}]}]}, valuesFile", 1)}, changes},
		"another chart of its name":    {helm, nil, files{"charts/it/Chart.yaml": "name: it\n"}, changes},
		"what a transformer reads":     {remote + "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: p.yaml, target: {kind: X}}']\n", files{"p.yaml": "[{op: add, path: /x, value: 1}]"}, files{"p.yaml": "[{op: add, path: /x, value: 2}]"}, changes},
		"the chart of a generator":     {generated, files{"g.yaml": inflated, "charts/it/crds/it.yaml": dashboard}, files{"g.yaml": inflated, "charts/it/crds/it.yaml": other}, changes},
		"what a plug-in names":         {generated, files{"g.yaml": strings.Replace(plugin, "secret", "it", 1)}, files{"it.yaml": other}, changes},
		"a manifest beside a plug-in":  {generated, nil, files{"it.yaml": other}, same},
		"a version beside a plug-in":   {generated, nil, files{"crd.yaml": less}, named},
		"the file of a plug-in":        {generated, nil, files{"secret.yaml": "x: 2\n"}, changes},
	} {
		t.Run(name, func(t *testing.T) {
			repository := files{}
			for side, its := range map[string]files{"base": c.base, "head": c.head} {
				all := files{"kustomization.yaml": c.kustomization, "crd.yaml": widgetsCRD, "it.yaml": dashboard, "v.yaml": "x: 1\n", "g.yaml": plugin, "secret.yaml": "x: 1\n"}
				maps.Copy(all, c.base)
				maps.Copy(all, its)
				for file, content := range all {
					repository[side+"/apps/"+file] = content
				}
				repository[side+"/clusters/production/apps.yaml"] = strings.Replace(gitApplication, "path: deploy", "path: apps", 1)
			}
			g := clitest.InRepository(t, repository)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production", "--offline")
			want := cli.ExitUnknown
			if c.says == same {
				want = cli.ExitDone
			}
			g.Expect(code).To(Equal(want), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
			if c.says == changes && !strings.HasPrefix(c.kustomization, generated) {
				g.Expect(out).To(ContainSubstring("leave out --offline"))
			}
		})
	}
}

// The same holds where nothing shows what is applied.
func TestARemoteBaseHidesOnlyItselfWithoutAnEntryPoint(t *testing.T) {
	const kustomization = "resources: [crd.yaml, it.yaml, 'https://github.com/example/it?ref=v1']\n"
	as := func(kind, of string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: it}\ndata: {of: " + of + "}\n"
	}
	patch := func(version string) string { return "[{op: add, path: /metadata/labels, value: {x: " + version + "}}]" }
	for name, c := range map[string]struct {
		base, head map[string]string
		code       int
		says       string
	}{
		"values":              {map[string]string{"it.yaml": as("ConfigMap", "x")}, map[string]string{"it.yaml": as("ConfigMap", "y")}, cli.ExitDone, "no CRD changes"},
		"what a CRD may name": {map[string]string{"it.yaml": as("Service", "x")}, map[string]string{"it.yaml": as("Service", "y")}, cli.ExitUnknown, "deploy/kustomization.yaml changes"},
		"the ref":             {nil, map[string]string{"kustomization.yaml": strings.Replace(kustomization, "v1", "v2", 1)}, cli.ExitUnknown, "deploy/kustomization.yaml changes"},
		"a patch":             {map[string]string{"kustomization.yaml": kustomization + "patches: [{path: p.yaml, target: {kind: CustomResourceDefinition}}]\n", "p.yaml": patch("a")}, map[string]string{"p.yaml": patch("b")}, cli.ExitUnknown, "deploy/kustomization.yaml changes"},
		"a CRD":               {nil, map[string]string{"crd.yaml": strings.Replace(widgetsCRD, "served: true, storage: false", "served: false, storage: false", 1)}, cli.ExitDone, "WARNINGS widgets.example.com: v1alpha1"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := map[string]string{}
			for side, its := range map[string]map[string]string{"base": nil, "head": c.head} {
				all := map[string]string{"kustomization.yaml": kustomization, "crd.yaml": widgetsCRD, "it.yaml": as("ConfigMap", "x")}
				maps.Copy(all, c.base)
				maps.Copy(all, its)
				for file, content := range all {
					repository[side+"/deploy/"+file] = content
				}
			}
			g := clitest.InRepository(t, repository)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}
