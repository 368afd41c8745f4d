package preview

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

// A dashboard decides about no CRD, whether or not what it is built with can be built.
func TestWhatFailsIsNotChangedByWhatDecidesAboutNoCRD(t *testing.T) {
	const broken = "resources: [crd.yaml, it.yaml, missing.yaml]\n"
	dashboard := func(of string) string {
		return "apiVersion: example.com/v1\nkind: Dashboard\nmetadata: {name: it}\nspec:\n  of: " + of + "\n"
	}
	as := func(kind, of string) string { return strings.Replace(dashboard(of), "Dashboard", kind, 1) }
	every := func(interval string) string {
		return strings.Replace(release("1.0.0"), "spec: {", "spec: {interval: "+interval+", ", 1)
	}
	charts := func(host string) string {
		return "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: widgets}\nspec: {url: 'https://" + host + "'}\n"
	}
	ofGit := strings.Replace(release("1.0.0"), "chart: widgets, version: 1.0.0", "chart: ./apps/other, sourceRef: {kind: GitRepository, name: flux-system}", 1)
	const withMore = "resources: [crd.yaml, it.yaml, more.yaml, missing.yaml]\n"
	web := func(version string) string {
		return strings.NewReplacer("name: o", "name: web", "serviceAccountName: o, ", "", "1.0.0", version).Replace(anOperator)
	}
	replicas := func(n string) string {
		return strings.Replace(anOperator, "spec: {template", "spec: {replicas: "+n+", template", 1)
	}
	configured := func(kind string) string {
		return "nameReference: [{kind: " + kind + ", fieldSpecs: [{path: spec/it}]}]\n"
	}
	for name, c := range map[string]struct {
		kustomization string
		base, head    map[string]string
		code          int
	}{
		"a manifest":                   {broken, nil, map[string]string{"it.yaml": dashboard("y")}, cli.ExitDone},
		"a manifest that comes":        {broken, nil, map[string]string{"kustomization.yaml": "resources: [crd.yaml, it.yaml, new.yaml, missing.yaml]\n", "new.yaml": strings.Replace(dashboard("x"), "name: it", "name: new", 1)}, cli.ExitDone},
		"a manifest that goes":         {broken, nil, map[string]string{"kustomization.yaml": "resources: [crd.yaml, missing.yaml]\n"}, cli.ExitDone},
		"its CRD":                      {broken, nil, map[string]string{"crd.yaml": without}, cli.ExitUnknown},
		"a comment in its CRD":         {broken, nil, map[string]string{"crd.yaml": widgetsCRD + "# y\n"}, cli.ExitDone},
		"its kustomization":            {broken, nil, map[string]string{"kustomization.yaml": "namespace: other\n" + broken}, cli.ExitUnknown},
		"a manifest becomes a CRD":     {broken, nil, map[string]string{"it.yaml": strings.ReplaceAll(widgetsCRD, "idget", "adget")}, cli.ExitUnknown},
		"an installer":                 {broken, map[string]string{"it.yaml": release("1.0.0")}, map[string]string{"it.yaml": release("2.0.0")}, cli.ExitUnknown},
		"a program":                    {broken, map[string]string{"it.yaml": anOperator}, map[string]string{"it.yaml": strings.Replace(anOperator, "1.0.0", "2.0.0", 1)}, cli.ExitDone},
		"a program that makes CRDs":    {broken, map[string]string{"it.yaml": anOperator + mayMakeCRDs}, map[string]string{"it.yaml": strings.Replace(anOperator, "1.0.0", "2.0.0", 1) + mayMakeCRDs}, cli.ExitUnknown},
		"a program beside one":         {withMore, map[string]string{"more.yaml": anOperator + mayMakeCRDs, "it.yaml": web("1.0.0")}, map[string]string{"it.yaml": web("2.0.0")}, cli.ExitDone},
		"a program beside a role":      {withMore, map[string]string{"more.yaml": strings.TrimPrefix(aRole, "---\n"), "it.yaml": web("1.0.0")}, map[string]string{"it.yaml": web("2.0.0")}, cli.ExitUnknown},
		"how many of it run":           {broken, map[string]string{"it.yaml": replicas("1") + mayMakeCRDs}, map[string]string{"it.yaml": replicas("2") + mayMakeCRDs}, cli.ExitDone},
		"whether it runs":              {broken, map[string]string{"it.yaml": replicas("0") + mayMakeCRDs}, map[string]string{"it.yaml": replicas("1") + mayMakeCRDs}, cli.ExitUnknown},
		"how often it looks":           {broken, map[string]string{"it.yaml": every("1m")}, map[string]string{"it.yaml": every("5m")}, cli.ExitDone},
		"how often, beside its charts": {broken, map[string]string{"it.yaml": every("1m") + charts("example.com")}, map[string]string{"it.yaml": every("5m") + charts("example.com")}, cli.ExitDone},
		"the charts beside it":         {broken, map[string]string{"it.yaml": every("1m") + charts("example.com")}, map[string]string{"it.yaml": every("1m") + charts("example.org")}, cli.ExitUnknown},
		"another name of it":           {broken, map[string]string{"it.yaml": release("1.0.0")}, map[string]string{"it.yaml": strings.Replace(release("1.0.0"), "name: widgets", "name: w", 1)}, cli.ExitUnknown},
		"an installer elsewhere":       {broken, map[string]string{"it.yaml": every("1m"), "other/h.yaml": every("1m")}, map[string]string{"other/h.yaml": strings.Replace(every("1m"), "1.0.0", "2.0.0", 1)}, cli.ExitDone},
		"its chart elsewhere":          {broken, map[string]string{"it.yaml": ofGit, "other/Chart.yaml": chartC, "other/crds/w.yaml": widgetsCRD}, map[string]string{"other/crds/w.yaml": without}, cli.ExitUnknown},
		"what holds a CRD":             {broken, nil, map[string]string{"it.yaml": dashboard("|\n    " + strings.ReplaceAll(strings.ReplaceAll(widgetsCRD, "\n", "\n    "), "idget", "adget") + "\n#")}, cli.ExitUnknown},
		"a command":                    {broken, nil, map[string]string{"it.yaml": dashboard("['sh', '-c', 'kubectl apply -f https://example.com/crds.yaml']")}, cli.ExitUnknown},
		"values":                       {broken, map[string]string{"it.yaml": as("ConfigMap", "x")}, map[string]string{"it.yaml": as("ConfigMap", "y")}, cli.ExitUnknown},
		"what a CRD may name":          {broken, map[string]string{"it.yaml": as("Service", "x")}, map[string]string{"it.yaml": as("Service", "y")}, cli.ExitUnknown},
		"a patch":                      {broken + "patches: [{path: it.yaml, target: {kind: CustomResourceDefinition}}]\n", nil, map[string]string{"it.yaml": dashboard("y")}, cli.ExitUnknown},
		"what may be copied":           {broken + "replacements: [{source: {kind: Dashboard}, targets: []}]\n", nil, map[string]string{"it.yaml": dashboard("y")}, cli.ExitUnknown},
		"what may become another":      {broken + "patches: [{patch: x, options: {allowKindChange: true}}]\n", nil, map[string]string{"it.yaml": dashboard("y")}, cli.ExitUnknown},
		"a kind that others refer to":  {broken + "configurations: [c.yaml]\n", map[string]string{"c.yaml": configured("Dashboard")}, map[string]string{"it.yaml": dashboard("y")}, cli.ExitUnknown},
		"and another":                  {broken + "configurations: [c.yaml]\n", map[string]string{"c.yaml": configured("Secret")}, map[string]string{"it.yaml": dashboard("y")}, cli.ExitDone},
		"no configuration":             {broken + "configurations: [c.yaml]\n", nil, map[string]string{"it.yaml": dashboard("y")}, cli.ExitUnknown},
		"no manifest":                  {broken, map[string]string{"it.yaml": "{{ x }}"}, map[string]string{"it.yaml": "{{ y }}"}, cli.ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for side, its := range map[string]map[string]string{"base": c.base, "head": c.head} {
				all := map[string]string{"kustomization.yaml": c.kustomization, "crd.yaml": widgetsCRD, "it.yaml": dashboard("x")}
				maps.Copy(all, c.base)
				maps.Copy(all, its)
				for file, content := range all {
					files[side+"/apps/"+file] = content
				}
				files[side+"/clusters/production/apps.yaml"] = appsKustomization
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}

const (
	lent     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {values.yaml: 'crds: true'}\n"
	ofCharts = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r}\nspec: {url: https://example.com}\n"
)

// A folder without a kustomization fails for one of its files, and is the same while all of them are.
func TestAFolderThatFailsIsMadeOfItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		head map[string]string
		code int
	}{
		"as before":                  {nil, cli.ExitDone},
		"its CRD":                    {map[string]string{"apps/crd.yaml": widgetsCRD + "# y\n"}, cli.ExitUnknown},
		"a file that comes":          {map[string]string{"apps/more.yaml": widgetsCRD}, cli.ExitUnknown},
		"a folder beside it":         {map[string]string{"more/it.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\n"}, cli.ExitDone},
		"what its parts apply":       {map[string]string{"led/crd.yaml": widgetsCRD + "# y\n"}, cli.ExitUnknown},
		"values for a release in it": {map[string]string{"clusters/production/lent.yaml": strings.Replace(lent, "true", "false", 1)}, cli.ExitUnknown},
		"how it is looked at":        {map[string]string{"clusters/production/apps.yaml": strings.Replace(gitApplication, "path: deploy", "directory: {exclude: crd.yaml}, path: apps", 1)}, cli.ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, bothSides(map[string]string{
				"clusters/production/apps.yaml": strings.Replace(gitApplication, "path: deploy", "path: apps", 1),
				"apps/led.yaml":                 strings.Replace(gitApplication, "path: deploy", "path: led", 1),
				"led/crd.yaml":                  widgetsCRD,
				"clusters/production/lent.yaml": lent, "clusters/production/charts.yaml": ofCharts,
				"apps/crd.yaml": widgetsCRD, "apps/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ x }}\n",
			}, nil, c.head))
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}
