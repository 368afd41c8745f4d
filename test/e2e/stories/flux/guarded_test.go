package flux_test

import (
	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// underThePolicies has policies/admission/deny in the cluster, applied by Flux as docs/policies.md tells: the four commits
// go through as without them, and a commit that drops the label does not.
func underThePolicies(p *play) {
	guard(p)
	theRemovalWaits(p, 50, polled)

	file := "crds/crd.yaml"
	revision := p.push(removal, map[string]string{file: stage.Unlabelled(p.T, "examples/flux/"+removal+"/"+file)})
	p.Await("denied", stage.Patience, p.fails(crds, revision, "drops the label moult.dev/migrate"))
	ready, err := p.flux.Ready(p.T.Context(), crds)
	p.g.Expect(err).NotTo(HaveOccurred())
	p.g.Expect(ready.Message).To(And(ContainSubstring(stage.CRD), ContainSubstring("add the label to the manifest in Git")))
	p.Await("still there", stage.Patience, p.Labelled())
	p.Await("put right by a commit", stage.Patience, p.flux.ReadyAt(crds, p.push(removal, nil)))
}

func guard(p *play) {
	p.T.Helper()
	source, err := p.flux.NewSource(p.T.Context(), "moult-policies")
	p.g.Expect(err).NotTo(HaveOccurred())
	revision, err := source.Push(p.T.Context(), stage.PolicyFiles(p.T))
	p.g.Expect(err).NotTo(HaveOccurred())
	p.g.Expect(p.flux.CreateKustomization(p.T.Context(), "moult-policies", source, "path: ./"+stage.Policies)).To(Succeed())
	p.Await("the policies are applied", stage.Patience, p.flux.ReadyAt("moult-policies", revision))
	p.Await("and in force", stage.Patience, p.Guarded())
}
