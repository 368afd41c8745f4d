package flux_test

import (
	"strings"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/flux"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// uninstalled follows docs/guides/upgrade-uninstall.md, with all of Moult in Git: a Kustomization applies Moult's, as
// clusters/flux-production has it, and that of the policies, as docs/policies.md has it.
func uninstalled(p *play) {
	const folder, parent = "flux-production", "flux-system"
	guide := p.OpenUninstall(p.T)
	p.Collect(p.T)
	moult := p.StartMoult(p.T)
	files := stage.Own(p.T, folder)
	revision, err := p.own.Push(p.T.Context(), files)
	p.g.Expect(err).NotTo(HaveOccurred())
	fleet, err := p.flux.NewSource(p.T.Context(), parent)
	p.g.Expect(err).NotTo(HaveOccurred())
	p.g.Expect(p.flux.CreateKustomization(p.T.Context(), parent, fleet, "path: ./")).To(Succeed())
	applied := func(files map[string]string) {
		p.T.Helper()
		revision, err := fleet.Push(p.T.Context(), files)
		p.g.Expect(err).NotTo(HaveOccurred())
		p.Await("the parent is applied", stage.Patience, p.flux.ReadyAt(parent, revision))
	}
	applied(map[string]string{
		"moult.yaml":    stage.Files(p.T, "clusters/"+folder)["clusters/"+folder+"/moult.yaml"],
		"policies.yaml": strings.Split(stage.PoliciesOf(p.T, "Kustomization"), "---\n")[1], // of the same GitRepository
	})
	installed := stage.Installed(p.T, files, folder)
	p.Await("Moult is applied", stage.Patience, p.There(installed, true))
	p.g.Expect(cluster.BecomesAvailable(p.T.Context(), p.Client, "moult-system", "moult-controller")).To(Succeed())
	p.Await("Moult is installed", stage.Patience, p.flux.ReadyAt("moult", revision))
	p.Await("the policies are in force", stage.Patience, p.Guarded())

	before := p.OptOut(guide, moult, func() {
		_, err := p.own.Push(p.T.Context(), stage.Upgraded(p.T, files))
		p.g.Expect(err).NotTo(HaveOccurred())
	}, func() {})
	p.Say("3a. %s", guide.MustRun(guide.Line("kubectl annotate --field-manager")))
	reconciled, err := p.flux.Reconciled(p.T.Context(), "moult")
	p.g.Expect(err).NotTo(HaveOccurred())
	p.Await("Flux looks once more, and leaves the annotation", stage.Patience, reconciled)
	kustomizations, err := cluster.ParseFiles(stage.Path("examples/flux/" + gateAndCRDs[0]))
	p.g.Expect(err).NotTo(HaveOccurred())
	delete(kustomizations[0].Object["spec"].(map[string]any), "dependsOn")
	p.g.Expect(cluster.Apply(p.T.Context(), p.Client, kustomizations...)).To(Succeed())
	applied(map[string]string{"moult.yaml": "", "README.md": "empty"})
	p.Await("4. the Deployment is deleted", stage.Patience, cluster.Absent(p.Client, "apps/v1", "Deployment", "moult-system", "moult-controller"))
	moult.Stop()
	p.Await("nothing of Moult is there", stage.Patience, p.There(installed, false))
	p.Await("and its Kustomization", stage.Patience, cluster.Absent(p.Client, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", flux.Namespace, "moult"))

	p.NothingWaits(guide, before)
}
