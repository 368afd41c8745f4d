package flux_test

import (
	"os"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theRemovalWaits pushes each commit as soon as the one before it is applied, while a pass over many objects is slowed.
func theRemovalWaits(p *play, objects int, within time.Duration, flags ...string) stage.Widgets {
	moult, page := p.StartMoult(p.T, flags...), p.NewPage(p.T, "examples/flux/README.md")
	p.Witness(p.T, p.RemovalReady(), p.Versions(stage.NewVersion))
	p.install(twoVersions, nil, everything...)
	before := p.CreateWidgets(p.T, objects)
	p.Say("created %d widgets at %s", objects, stage.OldVersion)

	moult.SlowPass(objects)
	flip := p.push(storageFlip, nil)
	p.Await("flipped: the label and the condition on the CRD do not slow Flux", 30*time.Second, p.flux.ReadyAt(crds, flip))
	status, message := p.Migrated(p.T)
	p.Say("meanwhile the CRD says StorageMigrated=%s: %s", status, message)
	p.g.Expect(status).To(Equal("False"))
	p.Await("shown", stage.Patience, page.Prints("kubectl get crd", "rewriting objects"))

	p.Await("unserved", stage.Patience, p.flux.ReadyAt(crds, p.push(unserved, nil)))
	revision := p.push(removal, nil)
	waiting := p.Waits(revision)
	p.Await("blocked", stage.Patience, waiting)
	p.Await("shown", stage.Patience, page.Prints("kubectl get vr", v1alpha1.ReasonMigrating))
	p.Await("shown", stage.Patience, page.Prints("kubectl get kustomizations", "is not ready"))
	both := p.Versions(stage.OldVersion, stage.NewVersion)
	p.Holds("blocked with old bytes in etcd and both versions in the CRD", 5*time.Second,
		stage.All(waiting, p.StoredAtOld(), both))

	moult.SlowWrites(0)
	p.Say("the pass may go at full speed")
	trimmed := p.AwaitWhile("trimmed", stage.Patience, p.Trimmed(), stage.All(waiting, both))
	applied := p.Await("next Kustomization applied", stage.Patience, p.Versions(stage.NewVersion))
	p.Say("the next Kustomization was applied %.2fs after the trim", applied.Sub(trimmed).Seconds())
	p.g.Expect(applied.Sub(trimmed)).To(BeNumerically("<", within))
	p.Await("all are ready", stage.Patience, p.flux.ReadyAt(widgets, revision))
	p.Await("shown", stage.Patience, page.Prints("kubectl get vr", v1alpha1.ReasonAlreadyRemoved))
	p.AllAlive(before)
	return before
}

// takenBack pushes what was there before the version stopped being served.
func takenBack(p *play, before stage.Widgets) {
	p.Await("rolled back", stage.Patience, p.flux.ReadyAt(crds, p.push(storageFlip, nil)))
	p.Await("both versions are there", stage.Patience, p.Versions(stage.OldVersion, stage.NewVersion))
	p.g.Expect(p.Widgets(p.T, stage.OldVersion)).To(Equal(before))
}

// firstInstall has the last commit only: a new cluster, or one that is restored.
func firstInstall(p *play) {
	p.StartMoult(p.T)
	began := time.Now()
	p.install(removal, nil, everything...)
	p.g.Expect(time.Since(began)).To(BeNumerically("<", 45*time.Second))
	p.Await("the last Kustomization is applied", stage.Patience, p.GardenHasSize(stage.SizeAfter))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
}

// squashed leaves out the second commit and the third. Moult cannot do it by itself: objects are written at the version that is to go.
func squashed(p *play) {
	p.StartMoult(p.T)
	page := p.NewPage(p.T, "examples/flux/README.md")
	p.Witness(p.T, p.RemovalReady(), p.Versions(stage.NewVersion))
	p.install(twoVersions, nil, gateAndCRDs...)
	before := p.CreateWidgets(p.T, 20)

	revision := p.push(removal, nil)
	p.Await("refused", stage.Patience, p.fails(gate, revision, "status: 'Failed'"))
	p.Await("shown", stage.Patience, page.Prints("kubectl get vr", v1alpha1.ReasonIntermediateRevisionRequired))
	p.Await("shown", stage.Patience, page.Prints("kubectl get kustomization", "status: 'Failed'"))
	p.Holds("nothing has changed", 3*time.Second, stage.All(p.StoredAtOld(), p.Versions(stage.OldVersion, stage.NewVersion)))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.OldVersion: len(before)}))

	p.Await("put right", stage.Patience, p.flux.ReadyAt(crds, p.push(storageFlip, nil)))
	p.Await("unserved", stage.Patience, p.flux.ReadyAt(crds, p.push(unserved, nil)))
	p.Await("removed", stage.Patience, p.flux.ReadyAt(crds, p.push(removal, nil)))
	p.AllAlive(before)
}

// missedCommits is squashed, with what docs/guides/many-clusters.md has instead of a commit for each of the others. The tool is not
// stopped: it applies no CRD while the gate is not ready.
func missedCommits(p *play) {
	guide := stage.OpenGuide(p.T, "guides/many-clusters.md", map[string]*rest.Config{"oslo": p.Config})
	p.StartMoult(p.T)
	p.Witness(p.T, p.RemovalReady(), p.Versions(stage.NewVersion))
	p.install(twoVersions, nil, gateAndCRDs...)
	before := p.CreateWidgets(p.T, 20)
	revision := p.push(removal, nil)
	p.Await("its gate refuses the last commit alone", stage.Patience, p.fails(gate, revision, "status: 'Failed'"))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonIntermediateRevisionRequired))

	repository := p.T.TempDir()
	p.g.Expect(os.CopyFS(repository+"/widgets", os.DirFS(stage.Path(p.Example+"/"+removal+"/crds")))).To(Succeed())
	in := guide.In(repository)
	in.MustRun("git init -q -b main && git add . && git commit -q -m last")
	p.RepairByHand(guide, in, "oslo")
	p.Await("the last commit is applied", stage.Patience, p.flux.ReadyAt(crds, revision))
	p.Await("without the version", stage.Patience, p.Versions(stage.NewVersion))
	p.AllAlive(before)
}

// withoutTheGate is what users have without Moult.
func withoutTheGate(p *play) {
	p.install(twoVersions, nil, gateAndCRDs...)
	before := p.CreateWidgets(p.T, 20)
	p.Await("flipped", stage.Patience, p.flux.ReadyAt(crds, p.push(storageFlip, nil)))
	p.Await("rejected", stage.Patience, p.fails(crds, p.push(removal, withoutGate), "missing from spec.versions"))
	p.Await("shown", stage.Patience, p.NewPage(p.T, "examples/flux/README.md").Prints("kubectl get kustomization", "missing from spec.versions"))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.OldVersion: len(before)}))
}
