package argocd_test

import (
	"strings"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// uninstalled follows docs/guides/upgrade-uninstall.md, with all of Moult in Git: an Application applies Moult's, as
// clusters/argocd-production has it, and that of the policies, as docs/policies.md has it.
func uninstalled(p *play) {
	const folder, parent = "argocd-production", "production"
	guide := p.OpenUninstall(p.T)
	p.Collect(p.T)
	moult := p.StartMoult(p.T)
	own, fleet, files := argocd.NewRepo(p.T), argocd.NewRepo(p.T), stage.Own(p.T, folder)
	own.Commit(files, "a copy of Moult")
	own.Tag("v0.1.0") // as the Application names it
	address := strings.NewReplacer("https://git.example.com/moult.git", own.URL(), "https://github.com/moult-dev/moult", own.URL())
	children := map[string]string{
		"moult.yaml":    address.Replace(stage.Files(p.T, "clusters/"+folder)["clusters/"+folder+"/moult.yaml"]),
		"policies.yaml": address.Replace(stage.PoliciesOf(p.T, "Application")),
	}
	fleet.Commit(map[string]string{"other.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"}, "what else is there: Argo CD does not prune the last object")
	commit := fleet.Commit(children, "Moult and its policies")
	p.g.Expect(p.argo.CreateApplication(p.T.Context(), parent, fleet, ".", argocd.AutoSync(5))).To(Succeed())
	synced := func(commit string) {
		p.T.Helper()
		p.g.Expect(p.argo.Refresh(p.T.Context(), parent)).To(Succeed())
		p.Await("the parent is synced", stage.Patience, p.argo.OperationWhere(parent, func(o argocd.Operation) bool {
			return o.Revision == commit && o.Phase == argocd.Succeeded
		}))
	}
	synced(commit)
	installed := stage.Installed(p.T, files, folder)
	p.Await("Moult is installed", stage.Patience, p.There(installed, true))
	p.Await("the policies are in force", stage.Patience, p.Guarded())

	widgets := p.OptOut(guide, moult, func() {
		own.Commit(stage.Upgraded(p.T, files), "the next release")
		own.Tag("v0.1.1")
		for name, manifest := range children {
			children[name] = strings.Replace(manifest, "v0.1.0", "v0.1.1", 1)
		}
		synced(fleet.Commit(children, "the next release"))
	}, func() { p.g.Expect(p.argo.Terminate(p.T.Context(), p.application)).To(Succeed()) })
	for name, manifest := range children {
		children[name] = strings.Replace(manifest, "  namespace: argocd\n", "  namespace: argocd\n  finalizers: ["+guide.Line("resources-finalizer")+"]\n", 1)
	}
	synced(fleet.Commit(children, "Argo CD deletes what they have applied"))
	synced(fleet.Commit(map[string]string{"policies.yaml": ""}, "no policies"))
	p.Say("3b. %s", guide.MustRun(guide.Line("kubectl wait --for=delete")))
	synced(fleet.Commit(map[string]string{"moult.yaml": ""}, "no Moult"))
	p.Await("4. the Deployment is deleted", stage.Patience, cluster.Absent(p.Client, "apps/v1", "Deployment", "moult-system", "moult-controller"))
	moult.Stop()
	p.Await("and the Application", stage.Patience, cluster.Absent(p.Client, "argoproj.io/v1alpha1", "Application", argocd.Namespace, "moult"))
	p.Say("%s", guide.MustRun(guide.Line("kubectl delete crd versionremovals.moult.dev")))
	p.Await("nothing of Moult is there", stage.Patience, p.There(installed, false))

	p.NothingWaits(guide, widgets)
}
