package argocd_test

import (
	"time"

	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theCRDAsGate needs no VersionRemoval: with the script for CRDs in argocd-cm, the second commit is not synced before all
// objects are migrated, and until then Argo CD does not begin the next.
func theCRDAsGate(p *play) {
	moult := p.StartMoult(p.T)
	p.Witness(p.T, p.GardenHasSize(stage.SizeAfter), p.Versions(stage.NewVersion))
	p.set(lua.CRDHealthKey, lua.ArgoCDConfig()[lua.CRDHealthKey])
	p.install(twoVersions)
	widgets := p.CreateWidgets(p.T, 100)

	moult.SlowPass(100)
	commit := p.push(storageFlip, nil)
	waiting := p.waitsFor(commit, theCRD)
	p.Await("blocked", stage.Patience, waiting)
	p.Await("shown", stage.Patience, p.NewPage(p.T, "examples/argocd/README.md").Prints("kubectl get application", "apiextensions.k8s.io"))
	next := p.push(removal, withoutGate)
	before := stage.All(waiting, p.GardenHasSize(stage.SizeBefore))
	p.Holds("blocked at the second commit, the garden as it was", 5*time.Second, stage.All(before, p.StoredAtOld()))

	moult.SlowWrites(0)
	p.Say("the pass may go at full speed")
	trimmed := p.AwaitWhile("trimmed", stage.Patience, p.Trimmed(), before)
	applied := p.Await("next wave applied", stage.Patience, p.GardenHasSize(stage.SizeAfter))
	p.Say("the next wave was applied %.2fs after the trim", applied.Sub(trimmed).Seconds())
	p.Await("removed", stage.Patience, p.synced(next))
	p.AllAlive(widgets)
}
