package argocd_test

import (
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theOperatorWaits makes the commits of examples/operator: no manifest in Git holds the CRD, so the gate holds the operator.
func theOperatorWaits(p *play) {
	const manifest = "operator.yaml"
	moult := p.StartMoult(p.t, "--references")
	p.Witness(p.t, p.RemovalReady(), p.Versions(stage.NewVersion), p.OperatorRuns(stage.OperatorAfter))
	p.InstallOld(p.t)
	widgets := p.CreateWidgets(p.t, 50)
	moult.SlowPass(len(widgets))
	p.RunOperator(p.t)
	p.installChanged("../operator/argocd", map[string]string{manifest: stage.OperatorAt(p.t, "argocd/"+manifest), gateFile: ""})
	p.Await("release 1.1 has flipped the CRD", stage.Patience, p.Versions(stage.OldVersion, stage.NewVersion))

	commit := p.push("../operator/argocd", nil)
	waiting := p.waitsFor(commit, theGate)
	p.Await("the sync waits for the gate", stage.Patience, waiting)
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonMigrating))
	p.Holds("the operator is not replaced", 5*time.Second, stage.All(waiting, p.StoredAtOld(), p.OperatorRuns(stage.OperatorBefore)))

	moult.SlowWrites(0)
	p.Await("the new release runs", stage.Patience, p.OperatorRuns(stage.OperatorAfter))
	p.Await("it has removed the version", stage.Patience, p.Versions(stage.NewVersion))
	p.Await("synced", stage.Patience, p.synced(commit))
	p.allAlive(widgets)
}

// theFirstOperator is a new cluster: only the last commit is there.
func theFirstOperator(p *play) {
	p.StartMoult(p.t, "--references")
	p.RunOperator(p.t)
	p.installChanged("../operator/argocd", nil)
	p.Await("the operator has brought its CRD", stage.Patience, p.Versions(stage.NewVersion))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
}
