package flux_test

import (
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/e2e/flux"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// thePlan follows what moult plan prints, commit by commit, from two versions to one.
func thePlan(p *play) {
	planner := p.NewPlanner(p.t)
	p.StartMoult(p.t, "--references")
	p.Witness(p.t, p.RemovalReady(), p.Versions(stage.NewVersion))
	crd := "crds/crd.yaml"
	p.install(twoVersions, map[string]string{crd: stage.Unlabelled(p.t, "examples/flux/"+twoVersions+"/"+crd)}, everything...)
	before := p.CreateWidgets(p.t, 50)

	folders := map[runbook.Name]string{runbook.OptIn: twoVersions, runbook.Flip: storageFlip, runbook.Unserve: unserved, runbook.Ask: removal}
	committed := planner.Follow(p.t, p.Story, func(step runbook.Step, gate string) {
		changes := map[string]string{}
		if gate != "" {
			changes[gateFile] = gate
		}
		p.Await("applied", stage.Patience, p.flux.ReadyAt(widgets, p.push(folders[step.Name], changes)))
	})
	p.g.Expect(committed).To(Equal([]runbook.Name{runbook.OptIn, runbook.Flip, runbook.Unserve, runbook.Ask}))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
	p.allAlive(before)
}

// theGateTooEarly has the VersionRemoval before the version stops being served: it holds back what it waits for, until a commit
// takes it out, as the plan says.
func theGateTooEarly(p *play) {
	planner := p.NewPlanner(p.t)
	p.StartMoult(p.t)
	p.install(storageFlip, nil, everything...)
	early := map[string]string{gateFile: stage.Files(p.t, "examples/flux/"+removal)["examples/flux/"+removal+"/"+gateFile]}
	p.Await("the gate is too early", stage.Patience, p.fails(gate, p.push(storageFlip, early), "status: 'Failed'"))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonStillServed))
	locked := p.push(unserved, early)
	p.Await("and is so at the commit that it asks for", stage.Patience, p.fails(gate, locked, "status: 'Failed'"))
	p.Holds("which is not applied", 20*time.Second, p.flux.KustomizationWhere(crds, notAt(locked)))

	step, err := planner.Step(p.t.Context())
	p.g.Expect(err).NotTo(HaveOccurred())
	p.g.Expect(step.Name).To(Equal(runbook.Unserve))
	p.g.Expect(step.Commit).To(ContainSubstring("in the same commit take out VersionRemoval " + stage.Namespace + "/" + stage.Removal))
	p.Await("applied without the gate", stage.Patience, p.flux.ReadyAt(crds, p.push(unserved, nil)))
	p.Await("removed", stage.Patience, p.flux.ReadyAt(crds, p.push(removal, nil)))
}

// notAt has not applied a revision.
func notAt(revision string) func(flux.Kustomization) bool {
	return func(k flux.Kustomization) bool { return k.LastAppliedRevision != revision }
}
