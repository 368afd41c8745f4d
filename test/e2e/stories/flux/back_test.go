package flux_test

import (
	"strings"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theWayBack goes from a release with the old version alone to one with the new version alone, and back again, as moult plan prints it.
func theWayBack(p *play) {
	const crd = "crds/crd.yaml"
	release := stage.Release(p.T, "examples/flux/"+twoVersions+"/"+crd)
	back := p.NewWayBack(p.T, release)
	p.StartMoult(p.T, "--references")
	// kustomize-controller looks for objects at the version of their kind that it has met first (fluxcd/cli-utils,
	// pkg/kstatus/polling/engine), until it is started anew.
	restart := func() { p.g.Expect(p.flux.Restart(p.T.Context())).To(Succeed()) }
	p.install(twoVersions, map[string]string{crd: release}, everything...)
	before := p.CreateWidgets(p.T, 50)
	for _, folder := range []string{twoVersions, storageFlip, unserved, removal} {
		revision := p.push(folder, nil)
		if folder == unserved {
			p.Await("applied", stage.Patience, p.flux.ReadyAt(crds, revision))
			restart()
		}
		p.Await("upgraded", stage.Patience, p.flux.ReadyAt(widgets, revision))
	}
	p.AllAlive(before)
	p.Await("the revert alone is rejected", stage.Patience, p.fails(crds, p.push(twoVersions, map[string]string{crd: release}), "missing from spec.versions"))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.NewVersion: len(before)}))

	last := map[string]string{}
	committed := back.Follow(p.T, p.Story, func(step runbook.Name, manifest, gate string) {
		last = map[string]string{crd: manifest}
		if gate != "" {
			last[gateFile] = gate
		}
		revision := p.push(twoVersions, last)
		if step == runbook.Unserve {
			p.Await("the CRD is applied", stage.Patience, p.flux.ReadyAt(crds, revision))
			restart()
		}
		p.Await("applied", stage.Patience, p.flux.ReadyAt(widgets, revision))
	})
	p.g.Expect(committed).To(Equal([]runbook.Name{runbook.Serve, runbook.Flip, runbook.Unserve, runbook.Ask}))
	p.Await("the older CRD is there", stage.Patience, p.Versions(stage.OldVersion))
	p.g.Expect(last).To(HaveKey(gateFile))
	p.g.Expect(last[gateFile]).To(ContainSubstring(string(v1alpha1.NoReferences)))
	p.g.Expect(p.Widgets(p.T, stage.OldVersion)).To(Equal(before))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.OldVersion: len(before)}))
	p.Say("all %d widgets are alive and stored at %s again", len(before), stage.OldVersion)

	const garden = "widgets/garden.yaml"
	folder := "examples/flux/" + twoVersions
	other := strings.Replace(stage.Files(p.T, folder)[folder+"/"+garden], "name: garden", "name: meadow", 1)
	last = map[string]string{crd: release, garden: other}
	p.Await("applied", stage.Patience, p.flux.ReadyAt(widgets, p.push(twoVersions, last)))
	p.Await("the tool prunes what it owns", stage.Patience, p.NoGarden())
}
