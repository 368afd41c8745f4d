package preview

import (
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

func TestAStreamWithoutManifestsIsNoDeletion(t *testing.T) {
	for name, content := range map[string]string{"nothing": "", "comments": "# none\n---\n", "a scalar": "---\nError: chart not found\n"} {
		t.Run(name, func(t *testing.T) {
			_, err := openSide(t.Context(), "-", strings.NewReader(content), nil)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
	side, err := openSide(t.Context(), "-", strings.NewReader(widgetsCRD), nil)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(side.stream.CRDs()).To(HaveLen(1))
}

// What fails here may be built where it is applied, so the pull request is not to blame for it.
func TestWhatCannotBeBuiltIsUnknown(t *testing.T) {
	const good, broken = "resources: [crd.yaml]\n", "resources: [crd.yaml, missing.yaml]\n"
	for name, c := range map[string]struct {
		base, head string
		code       int
		says       string
	}{
		"before and after":  {broken, broken, cli.ExitDone, "nothing that it is made of changes"},
		"and changes":       {broken, "namespace: other\n" + broken, cli.ExitUnknown, "before this change or after it"},
		"before":            {broken, good, cli.ExitUnknown, "cannot be built before this change"},
		"after":             {good, broken, cli.ExitNotDone, "cannot be built"},
		"in different ways": {broken, "resources: [crd.yaml, other.yaml]\n", cli.ExitNotDone, "cannot be built before this change"},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"base/clusters/production/apps.yaml": appsKustomization, "base/apps/crd.yaml": widgetsCRD, "base/apps/kustomization.yaml": c.base,
				"head/clusters/production/apps.yaml": appsKustomization, "head/apps/crd.yaml": widgetsCRD, "head/apps/kustomization.yaml": c.head,
			})
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

// Which of two units has the last word is not known, and one of them still has the version.
func TestACRDThatTwoUnitsApplyDifferentlyIsBlocked(t *testing.T) {
	second := strings.NewReplacer("name: apps", "name: more", "path: apps", "path: more").Replace(appsKustomization)
	less := strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	files := map[string]string{}
	for _, side := range []string{"base", "head"} {
		files[side+"/clusters/production/apps.yaml"], files[side+"/clusters/production/more.yaml"] = appsKustomization, second
		files[side+"/apps/crd.yaml"], files[side+"/more/crd.yaml"] = widgetsCRD, widgetsCRD
	}
	files["head/apps/crd.yaml"] = less
	g := clitest.InRepository(t, files)
	code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
	g.Expect(code).To(Equal(cli.ExitNotDone), out+errOut)
	g.Expect(out).To(ContainSubstring("they differ"))
}

// While its Kustomization was suspended, a cluster may have stayed behind what Git says.
func TestWhatIsResumedIsAskedAboutAnew(t *testing.T) {
	rests := strings.Replace(appsKustomization, "prune: false", "prune: false\n  suspend: true", 1)
	for name, c := range map[string]struct {
		base, head string
		code       int
	}{
		"rests before and after": {rests, rests, cli.ExitDone},
		"is resumed":             {rests, appsKustomization, cli.ExitUnknown},
		"goes on":                {appsKustomization, appsKustomization, cli.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"base/clusters/production/apps.yaml": c.base, "base/apps/crd.yaml": widgetsCRD,
				"head/clusters/production/apps.yaml": c.head, "head/apps/crd.yaml": widgetsCRD,
			})
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
		})
	}
}

// What a tool leaves alone is not what Git says, either, until the annotation for that goes.
func TestWhatIsNoLongerLeftAloneIsAskedAboutAnew(t *testing.T) {
	for metadata, code := range map[string]int{
		"annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}":    cli.ExitUnknown,
		"labels: {kustomize.toolkit.fluxcd.io/reconcile: Disabled}":         cli.ExitUnknown,
		"annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}":      cli.ExitUnknown,
		"annotations: {argocd.argoproj.io/hook: Skip}":                      cli.ExitUnknown,
		"annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}":             cli.ExitDone,
		"annotations: {argocd.argoproj.io/hook: Sync, example.com/a: Skip}": cli.ExitDone,
	} {
		t.Run(metadata, func(t *testing.T) {
			g := clitest.InRepository(t, map[string]string{
				"base/clusters/production/apps.yaml": appsKustomization, "base/apps/crd.yaml": strings.Replace(widgetsCRD, "metadata: {", "metadata: {"+metadata+", ", 1),
				"head/clusters/production/apps.yaml": appsKustomization, "head/apps/crd.yaml": widgetsCRD,
			})
			got, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(got).To(Equal(code), out+errOut)
		})
	}
}

const appsKustomization = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 1h
  path: apps
  prune: false
  sourceRef: {kind: GitRepository, name: flux-system}
`

// What is built of another repository, or by what only its tool has, may be built there.
func TestWhatCanBeBuiltElsewhereIsUnknownIfItChanges(t *testing.T) {
	const local = "resources: [crd.yaml]\n"
	remote := func(more string) string {
		return "resources: [crd.yaml, \"file:///nowhere/at/all.git" + more + "\", ../shared]\n"
	}
	const chart = "resources: [crd.yaml, ../shared]\nhelmCharts: [{name: x, repo: https://charts.example.com, version: 1.2.3}]\n"
	const plugin = "resources: [crd.yaml]\ngenerators: [generator.yaml]\n"
	for name, c := range map[string]struct {
		base, head map[string]string
		code       int
		says       string
	}{
		"the same remote base":                   {map[string]string{"kustomization.yaml": remote("")}, map[string]string{"kustomization.yaml": remote("")}, cli.ExitDone, "could not be fetched"},
		"a remote base that is bumped":           {map[string]string{"kustomization.yaml": remote("?ref=v1")}, map[string]string{"kustomization.yaml": remote("?ref=v2")}, cli.ExitUnknown, "its remote base file:///nowhere/at/all.git (v2) could not be fetched"},
		"a remote base that comes":               {map[string]string{"kustomization.yaml": local}, map[string]string{"kustomization.yaml": remote("?ref=v2")}, cli.ExitUnknown, "v2) could not be fetched"},
		"a remote base that goes":                {map[string]string{"kustomization.yaml": remote("")}, map[string]string{"kustomization.yaml": local}, cli.ExitUnknown, "could not be fetched"},
		"a file beside it":                       {map[string]string{"kustomization.yaml": remote("")}, map[string]string{"kustomization.yaml": remote(""), "crd.yaml": widgetsCRD + "# changed\n"}, cli.ExitDone, ""},
		"a folder that it is built of":           {map[string]string{"kustomization.yaml": remote("")}, map[string]string{"kustomization.yaml": remote(""), "../shared/kustomization.yaml": "namespace: y\n"}, cli.ExitUnknown, "changes"},
		"a file beside it that it does not name": {map[string]string{"kustomization.yaml": remote("")}, map[string]string{"kustomization.yaml": remote(""), "../shared/more.yaml": "{}\n"}, cli.ExitDone, ""},
		"a folder that it is not built of":       {map[string]string{"kustomization.yaml": remote("")}, map[string]string{"kustomization.yaml": remote(""), "../other/more.yaml": "{}\n"}, cli.ExitDone, ""},
		"the same chart":                         {map[string]string{"kustomization.yaml": chart}, map[string]string{"kustomization.yaml": chart}, cli.ExitDone, "it takes Helm to build it"},
		"a chart that is bumped":                 {map[string]string{"kustomization.yaml": chart}, map[string]string{"kustomization.yaml": strings.Replace(chart, "1.2.3", "1.3.0", 1)}, cli.ExitUnknown, "it takes Helm to build it"},
		"a plug-in":                              {map[string]string{"kustomization.yaml": plugin}, map[string]string{"kustomization.yaml": plugin}, cli.ExitDone, "it takes a plug-in to build it"},
		"a plug-in whose settings change":        {map[string]string{"kustomization.yaml": plugin}, map[string]string{"kustomization.yaml": plugin, "generator.yaml": generator + "more: x\n"}, cli.ExitUnknown, "it takes a plug-in to build it"},
		"a remote base, and a manifest breaks":   {map[string]string{"kustomization.yaml": local}, map[string]string{"kustomization.yaml": "resources: [crd.yaml, missing.yaml]\n"}, cli.ExitNotDone, "missing.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for side, its := range map[string]map[string]string{"base": c.base, "head": c.head} {
				files[side+"/clusters/production/apps.yaml"], files[side+"/apps/crd.yaml"] = appsKustomization, widgetsCRD
				files[side+"/shared/kustomization.yaml"], files[side+"/apps/generator.yaml"] = "namespace: x\n", generator
				for file, content := range its {
					files[path.Join(side, "apps", file)] = content
				}
			}
			g := clitest.InRepository(t, files)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--entry", "clusters/production")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}

const generator = "apiVersion: example.com/v1\nkind: Generator\nmetadata: {name: x}\n"
