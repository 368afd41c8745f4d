package argocd_test

import (
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theRemovalWaits pushes each commit as soon as the one before it is applied, while a pass over many objects is slowed.
func theRemovalWaits(p *play, objects int, flags ...string) (commit string, widgets stage.Widgets) {
	moult, page := p.StartMoult(p.T, flags...), p.NewPage(p.T, "examples/argocd/README.md")
	p.Witness(p.T, p.RemovalReady(), p.Versions(stage.NewVersion))
	p.install(twoVersions)
	widgets = p.CreateWidgets(p.T, objects)
	p.Say("created %d widgets at %s", objects, stage.OldVersion)

	moult.SlowPass(objects)
	p.Await("flipped", stage.Patience, p.synced(p.push(storageFlip, nil)))
	p.Await("shown", stage.Patience, page.Prints("kubectl get crd", "rewriting objects"))
	p.Await("unserved", stage.Patience, p.synced(p.push(unserved, nil)))
	commit = p.push(removal, nil)
	waiting := p.waitsFor(commit, theGate)
	p.Await("blocked", stage.Patience, waiting)
	p.Await("shown", stage.Patience, page.Prints("kubectl get application", "Running: waiting for healthy state"))
	p.Await("shown", stage.Patience, page.Prints("kubectl get vr", v1alpha1.ReasonMigrating))
	both := p.Versions(stage.OldVersion, stage.NewVersion)
	p.Holds("blocked with old bytes in etcd and both versions in the CRD", 5*time.Second,
		stage.All(waiting, p.StoredAtOld(), both))

	moult.SlowWrites(0)
	p.Say("the pass may go at full speed")
	trimmed := p.AwaitWhile("trimmed", stage.Patience, p.Trimmed(), stage.All(waiting, both))
	applied := p.Await("next wave applied", stage.Patience, p.Versions(stage.NewVersion))
	p.Say("the next wave was applied %.2fs after the trim", applied.Sub(trimmed).Seconds())
	p.g.Expect(applied.Sub(trimmed)).To(BeNumerically("<", soon))
	p.Await("synced", stage.Patience, p.synced(commit))
	p.Await("shown", stage.Patience, page.Prints("kubectl get vr", v1alpha1.ReasonAlreadyRemoved))
	p.AllAlive(widgets)
	return commit, widgets
}

// takenBack reverts the removal, and then the commit that stopped serving the version.
func takenBack(p *play, commit string, widgets stage.Widgets) {
	back := p.repo.Revert(commit)
	p.Say("reverted commit %.7s as %.7s", commit, back)
	p.g.Expect(p.argo.Refresh(p.T.Context(), p.application)).To(Succeed())
	p.Await("rolled back", stage.Patience, p.synced(back))
	p.Await("both versions are there", stage.Patience, p.Versions(stage.OldVersion, stage.NewVersion))
	p.Await("served again", stage.Patience, p.synced(p.push(storageFlip, nil)))
	p.g.Expect(p.Widgets(p.T, stage.OldVersion)).To(Equal(widgets))
}

// firstInstall has the last commit only: a new cluster, or one that is restored.
func firstInstall(p *play) {
	p.StartMoult(p.T)
	p.install(removal)
	operation, err := p.argo.Operation(p.T.Context(), p.application)
	p.g.Expect(err).NotTo(HaveOccurred())
	p.g.Expect(operation.RetryCount).To(BeZero())
	p.g.Expect(operation.FinishedAt.Sub(operation.StartedAt)).To(BeNumerically("<", time.Minute), "a gate that waits does so for longer, and this takes 22 s on a busy machine")
	p.Await("the last wave is there", stage.Patience, p.GardenHasSize(stage.SizeAfter))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
}

// squashed leaves out the second commit and the third. Moult cannot do it by itself: objects are written at the version that is to go.
func squashed(p *play) {
	p.StartMoult(p.T)
	page := p.NewPage(p.T, "examples/argocd/README.md")
	p.Witness(p.T, p.RemovalReady(), p.Versions(stage.NewVersion))
	p.install(twoVersions)
	widgets := p.CreateWidgets(p.T, 20)

	commit := p.push(removal, nil)
	p.Await("refused", stage.Patience, p.argo.OperationWhere(p.application, func(o argocd.Operation) bool {
		gate := o.Resource("VersionRemoval", stage.Removal)
		return o.Revision == commit && gate.Phase == argocd.Failed
	}))
	p.Await("shown", stage.Patience, page.Prints("kubectl get application", "Retrying attempt"))
	p.Await("shown", stage.Patience, page.Prints("kubectl get vr", v1alpha1.ReasonIntermediateRevisionRequired))
	p.Holds("nothing has changed", 3*time.Second, stage.All(p.StoredAtOld(), p.Versions(stage.OldVersion, stage.NewVersion)))
	p.g.Expect(p.Stored(p.T)).To(Equal(map[string]int{stage.OldVersion: len(widgets)}))

	p.Await("put right", stage.Patience, p.synced(p.push(storageFlip, nil)))
	p.Await("unserved", stage.Patience, p.synced(p.push(unserved, nil)))
	p.Await("removed", stage.Patience, p.synced(p.push(removal, nil)))
	p.AllAlive(widgets)
}

// withoutTheGate is what users have without Moult.
func withoutTheGate(p *play) {
	p.install(twoVersions)
	widgets := p.CreateWidgets(p.T, 20)
	p.Await("flipped", stage.Patience, p.synced(p.push(storageFlip, nil)))
	p.Await("rejected", stage.Patience, p.rejected(p.push(removal, withoutGate)))
	p.Await("shown", stage.Patience, p.NewPage(p.T, "examples/argocd/README.md").Prints("kubectl get application", "missing from spec.versions"))
	p.g.Expect(p.Stored(p.T)).To(HaveKeyWithValue(stage.OldVersion, len(widgets)-1), "all but the garden, which is in Git")
}

// withoutTheKey shows the risk of an Argo CD that was not told of Moult: the API server's own rule is all that is left.
func withoutTheKey(p *play) {
	moult := p.StartMoult(p.T)
	moult.SlowPass(20)
	p.set(lua.GateHealthKey, "")
	p.install(twoVersions)
	p.CreateWidgets(p.T, 20)
	p.Await("flipped", stage.Patience, p.synced(p.push(storageFlip, nil)))
	commit := p.push(removal, nil)
	p.Await("rejected, not held back", stage.Patience, p.rejected(commit))

	p.set(lua.GateHealthKey, lua.ArgoCDConfig()[lua.GateHealthKey])
	p.Say("the key is in argocd-cm")
	waiting := p.waitsFor(commit, theGate)
	p.Await("blocked at the next try", stage.Patience, waiting)
	p.Holds("blocked with old bytes in etcd", 3*time.Second, stage.All(waiting, p.StoredAtOld()))
}

// set changes argocd-cm.
func (p *play) set(key, value string) {
	p.T.Helper()
	p.g.Expect(p.argo.SetSettings(p.T.Context(), map[string]string{key: value})).To(Succeed())
}
