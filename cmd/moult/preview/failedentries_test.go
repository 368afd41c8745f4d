package preview

import (
	"strings"
	"testing"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"

	. "github.com/onsi/gomega"
)

// One folder that only looks like an entry point must not hide what is known of the others.
func TestAnEntryPointThatIsFoundMayFail(t *testing.T) {
	const broken = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: other, name: twice}\nspec: {}\n"
	without := strings.Replace(widgetsCRD, "  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "", 1)
	application := strings.Replace(broken, ", name: twice", "", 1)
	every := func(interval string) map[string]string {
		return map[string]string{"more/it.yaml": strings.Replace(release("1.0.0"), "spec: {", "spec: {interval: "+interval+", ", 1)}
	}
	for name, c := range map[string]struct {
		base, head map[string]string
		args       []string
		code       int
		says       string
	}{
		"as before":                      {code: cli.ExitDone, says: "nothing that it is made of changes"},
		"and a file of it changes":       {head: map[string]string{"apps/broken.yaml": "# it\n" + broken}, code: cli.ExitUnknown, says: "apps cannot be built here, before this change or after it"},
		"and a file beside it changes":   {head: map[string]string{"apps/good.yaml": strings.Replace(application, "spec: {}", "spec: {project: it}", 1)}, code: cli.ExitUnknown, says: "apps cannot be built here, before this change or after it"},
		"and it may lead to a change":    {head: map[string]string{"more/crd.yaml": widgetsCRD}, code: cli.ExitUnknown, says: "it may be applied by what cannot be built: apps"},
		"and may install a change":       {head: map[string]string{"more/it.yaml": strings.ReplaceAll(release("1.0.0"), "helm.toolkit.fluxcd.io/v2\nkind: HelmRelease", "operators.coreos.com/v1alpha1\nkind: Subscription")}, code: cli.ExitUnknown, says: "it may be applied by what cannot be built: apps"},
		"and how often it looks":         {base: every("1m"), head: every("5m"), code: cli.ExitDone, says: "nothing that it is made of changes"},
		"and what changes is no CRD":     {head: map[string]string{"more/it.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\n"}, code: cli.ExitDone, says: "nothing that it is made of changes"},
		"since this change":              {base: map[string]string{"apps/broken.yaml": application}, code: cli.ExitNotDone, says: "apps cannot be built"},
		"since it is none any more":      {base: map[string]string{"old/kustomization.yaml": "resources: [a.yaml]\n", "old/a.yaml": application}, head: map[string]string{"old/install/Chart.yaml": chartC, "old/install/values.yaml": "a: b\n"}, code: cli.ExitUnknown, says: "no longer exists"},
		"and is new":                     {head: map[string]string{"new/good.yaml": application, "new/broken.yaml": broken}, code: cli.ExitUnknown, says: "new is new and looks like an entry point, and cannot be built: "},
		"until this change":              {head: map[string]string{"apps/broken.yaml": application}, code: cli.ExitUnknown, says: "apps cannot be built before this change"},
		"and another loses its CRD":      {head: map[string]string{"crds/crd.yaml": without}, code: cli.ExitUnknown, says: "v1alpha1"},
		"and is named":                   {args: []string{"--entry", "apps"}, code: cli.ExitError},
		"and is named beside a good one": {args: []string{"--entry", "clusters/production", "--entry", "apps"}, code: cli.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			g := clitest.InRepository(t, bothSides(map[string]string{"clusters/production/crds.yaml": fluxOf, "crds/crd.yaml": widgetsCRD, "apps/good.yaml": application, "apps/broken.yaml": broken}, c.base, c.head))
			code, out, errOut := previewed(t, append([]string{"--base", "base", "--head", "head"}, c.args...)...)
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(And(ContainSubstring(c.says), Not(ContainSubstring("cannot be built: apps cannot be built"))))
		})
	}
}

// bothSides is a repository with the folders base and head, which have files in common, and their own.
func bothSides(common, base, head map[string]string) map[string]string {
	all := map[string]string{}
	for side, its := range map[string]map[string]string{"base": base, "head": head} {
		for _, files := range []map[string]string{common, its} {
			for file, content := range files {
				all[side+"/"+file] = content
			}
		}
	}
	return all
}
