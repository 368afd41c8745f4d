package argocd_test

import (
	"strings"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// underThePolicies has policies/admission/deny in the cluster, applied by Argo CD as docs/policies.md tells: the four
// commits go through as without them, and a commit that drops the label does not.
func underThePolicies(p *play) {
	guard(p)
	theRemovalWaits(p, 50)

	commit := p.push(removal, map[string]string{"crd.yaml": stage.Unlabelled(p.T, "examples/argocd/"+removal+"/crd.yaml")})
	p.Await("denied", stage.Patience, p.argo.OperationWhere(p.application, func(o argocd.Operation) bool {
		refused := o.Resource("CustomResourceDefinition", stage.CRD)
		return o.Revision == commit && refused.Status == "SyncFailed" &&
			strings.Contains(refused.Message, "CRD "+stage.CRD+": this write by") &&
			strings.Contains(refused.Message, "drops the label moult.dev/migrate") &&
			strings.Contains(refused.Message, "add the label to the manifest in Git")
	}))
	p.Await("still there", stage.Patience, p.Labelled())
	p.Await("put right by a commit", stage.Patience, p.synced(p.push(removal, nil)))
}

func guard(p *play) {
	p.T.Helper()
	const name = "moult-policies"
	repo := argocd.NewRepo(p.T)
	commit := repo.Commit(stage.PolicyFiles(p.T), "policies")
	p.g.Expect(p.argo.CreateApplication(p.T.Context(), name, repo, stage.Policies, argocd.AutoSync(5))).To(Succeed())
	p.Await("the policies are applied", stage.Patience, p.argo.HealthIs(name, commit, "Healthy"))
	p.Await("and in force", stage.Patience, p.Guarded())
}
