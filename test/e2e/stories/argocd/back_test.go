package argocd_test

import (
	"strings"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theWayBack goes from a release with the old version alone to one with the new version alone, and back again, as moult plan prints it.
func theWayBack(p *play) {
	const crd = "crd.yaml"
	release := stage.Release(p.T, "examples/argocd/"+twoVersions+"/"+crd)
	back := p.NewWayBack(p.T, release)
	p.StartMoult(p.T, "--references")
	p.Install(twoVersions, map[string]string{crd: release})
	before := p.CreateWidgets(p.T, 50)
	for _, folder := range []string{twoVersions, storageFlip, unserved, removal} {
		p.Await("upgraded", stage.Patience, p.synced(p.push(folder, nil)))
	}
	p.AllAlive(before)
	p.Await("the revert alone is rejected", stage.Patience, p.rejected(p.push(twoVersions, map[string]string{crd: release})))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.NewVersion: len(before)}))

	last := map[string]string{}
	committed := back.Follow(p.T, p.Story, func(_ runbook.Name, manifest, gate string) {
		last = map[string]string{crd: manifest}
		if gate != "" {
			last[gateFile] = gate
		}
		p.Await("applied", stage.Patience, p.synced(p.push(twoVersions, last)))
	})
	p.g.Expect(committed).To(Equal([]runbook.Name{runbook.Serve, runbook.Flip, runbook.Unserve, runbook.Ask}))
	p.Await("the older CRD is there", stage.Patience, p.Versions(stage.OldVersion))
	p.g.Expect(last).To(HaveKey(gateFile))
	p.g.Expect(last[gateFile]).To(ContainSubstring(string(v1alpha1.NoReferences)))
	p.g.Expect(p.Widgets(p.T, stage.OldVersion)).To(Equal(before))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.OldVersion: len(before)}))
	p.Say("all %d widgets are alive and stored at %s again", len(before), stage.OldVersion)

	const garden = "garden.yaml"
	folder := "examples/argocd/" + twoVersions
	other := strings.Replace(stage.Files(p.T, folder)[folder+"/"+garden], "name: garden", "name: meadow", 1)
	last = map[string]string{crd: release, garden: other}
	p.Await("applied", stage.Patience, p.synced(p.push(twoVersions, last)))
	p.Await("the tool prunes what it owns", stage.Patience, p.NoGarden())
}
