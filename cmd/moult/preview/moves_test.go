package preview

import (
	"cmp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// What brings a CRD is deleted with it, if the unit that it moves away from comes first and prunes.
func TestWhatBringsACRDMoves(t *testing.T) {
	const (
		child      = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: child, namespace: flux-system}\nspec: {path: ./child, prune: true, interval: 10m, sourceRef: {kind: GitRepository, name: flux-system}}\n"
		kept       = "metadata: {annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}, "
		stays, ran = "", "CRDPruned"
	)
	units := strings.ReplaceAll(fluxTo("./one", "")+"---\n"+strings.Replace(fluxTo("./two", ""), "name: crds", "name: other", 1), "prune: false", "prune: true")
	x := files{"one/x.yaml": aConfigMap, "two/x.yaml": strings.Replace(aConfigMap, "name: ", "name: two-", 1), "clusters/a/k.yaml": units}
	release, chart := ofFlux("")["rel/r.yaml"], files{"c/Chart.yaml": chartC, "c/templates/w.yaml": widgetsCRD, "clusters/a/s.yaml": ofFlux("")["clusters/a/s.yaml"]}
	inChild := files{"child/w.yaml": widgetsCRD}
	for name, c := range map[string]struct {
		moves  string
		common files
		want   string
	}{
		"a release":                           {release, chart, ran},
		"a release that Flux keeps":           {strings.Replace(release, "metadata: {", kept, 1), chart, stays},
		"a release whose CRD Helm keeps":      {release, also(files{"c/templates/w.yaml": strings.Replace(widgetsCRD, "metadata: {", "metadata: {annotations: {helm.sh/resource-policy: keep}, ", 1)}, chart), stays},
		"a Kustomization":                     {child, inChild, ran},
		"a Kustomization that deletes none":   {strings.Replace(child, "prune: true", "prune: false", 1), inChild, stays},
		"a Kustomization that leaves all":     {strings.Replace(child, "prune: true", "prune: true, deletionPolicy: Orphan", 1), inChild, stays},
		"a Kustomization of a release":        {child, also(files{"child/r.yaml": release}, chart), ran},
		"a Kustomization whose CRD is kept":   {child, files{"child/w.yaml": strings.Replace(widgetsCRD, "metadata: {", kept, 1)}, stays},
		"a Kustomization that is itself kept": {strings.Replace(child, "metadata: {", kept, 1), inChild, stays},
	} {
		t.Run(name, func(t *testing.T) {
			o := overlooked{common: also(c.common, x), base: files{"one/m.yaml": c.moves}, head: files{"two/m.yaml": c.moves}}
			g := o.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline", "--entry", "clusters/a")
			if c.want == stays {
				g.Expect(out).NotTo(ContainSubstring(ran), errOut)
				return
			}
			g.Expect(code).To(Equal(cli.ExitNotDone), out+errOut)
			g.Expect(out).To(And(ContainSubstring(ran), ContainSubstring("which brings the CRD, moves from"), ContainSubstring("prune: disabled")))
		})
	}
}

// With a Namespace all goes that is in it, and Helm and Flux take back what they have brought.
func TestWhatBringsACRDGoesWithItsNamespace(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: it}\n"
	release, chart := ofFlux("")["rel/r.yaml"], files{"c/Chart.yaml": chartC, "c/templates/w.yaml": widgetsCRD, "clusters/a/s.yaml": ofFlux("")["clusters/a/s.yaml"]}
	units := strings.ReplaceAll(fluxTo("./ns", "")+"---\n"+strings.Replace(fluxTo("./rel", ""), "name: crds", "name: rel", 1), "prune: false", "prune: true")
	x := also(files{"clusters/a/k.yaml": units, "rel/r.yaml": release, "ns/x.yaml": aConfigMap}, chart)
	for name, c := range map[string]struct {
		common files
		kept   string
		code   int
		says   string
	}{
		"a release":                    {x, "", cli.ExitNotDone, "deletes Namespace it, and with it HelmRelease it/"},
		"one whose Namespace is kept":  {x, "metadata: {annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}, ", cli.ExitDone, "SAFE"},
		"one whose chart is not seen":  {also(files{"rel/r.yaml": strings.Replace(release, "chart: ./c", "chart: ./none", 1)}, x), "", cli.ExitUnknown, "is deleted with Namespace it"},
		"a program":                    {also(files{"rel/r.yaml": strings.ReplaceAll(anOperator+mayMakeCRDs, "namespace: o", "namespace: it")}, x), "", cli.ExitDone, "SAFE"},
		"one in another Namespace":     {also(files{"rel/r.yaml": strings.Replace(release, "namespace: it", "namespace: other", 1)}, x), "", cli.ExitDone, "SAFE"},
		"one whose Namespace is moved": {also(files{"rel/n.yaml": namespace}, x), "", cli.ExitNotDone, "if it comes before"},
	} {
		t.Run(name, func(t *testing.T) {
			o := overlooked{common: c.common, base: files{"ns/n.yaml": strings.Replace(namespace, "metadata: {", cmp.Or(c.kept, "metadata: {"), 1)}}
			g := o.write(t)
			code, out, errOut := previewed(t, "--base", "base", "--head", "head", "--offline", "--entry", "clusters/a")
			g.Expect(code).To(Equal(c.code), out+errOut)
			g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
		})
	}
}
