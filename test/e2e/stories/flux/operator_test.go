package flux_test

import (
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// The Kustomizations of examples/operator, which are named from examples/flux here.
const (
	operatorGate = "operator-gate"
	operator     = "operator"
)

var operatorFiles = []string{"../operator/flux/flux-system/operator-gate.yaml", "../operator/flux/flux-system/operator.yaml"}

// theOperatorWaits makes the commits of examples/operator: no manifest in Git holds the CRD, so the gate holds the operator.
func theOperatorWaits(p *play) {
	const manifest, removalFile = "operator/deployment.yaml", operatorGate + "/version-removal.yaml"
	moult := p.StartMoult(p.t, "--references")
	p.Witness(p.t, p.RemovalReady(), p.Versions(stage.NewVersion), p.OperatorRuns(stage.OperatorAfter))
	p.InstallOld(p.t)
	before := p.CreateWidgets(p.t, 50)
	moult.SlowPass(len(before))
	p.RunOperator(p.t)
	p.install("../operator/flux", map[string]string{manifest: stage.OperatorAt(p.t, "flux/"+manifest), removalFile: ""}, operatorFiles...)
	p.Await("release 1.1 has flipped the CRD", stage.Patience, p.Versions(stage.OldVersion, stage.NewVersion))

	revision := p.push("../operator/flux", nil)
	waiting := p.held(operator, operatorGate, revision)
	p.Await("the operator's Kustomization waits for the gate", stage.Patience, waiting)
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonMigrating))
	p.Holds("the operator is not replaced", 5*time.Second, stage.All(waiting, p.StoredAtOld(), p.OperatorRuns(stage.OperatorBefore)))

	moult.SlowWrites(0)
	p.Await("the new release runs", stage.Patience, p.OperatorRuns(stage.OperatorAfter))
	p.Await("it has removed the version", stage.Patience, p.Versions(stage.NewVersion))
	p.Await("all are ready", stage.Patience, p.flux.ReadyAt(operator, revision))
	p.allAlive(before)
}

// theFirstOperator is a new cluster: only the last commit is there.
func theFirstOperator(p *play) {
	p.StartMoult(p.t, "--references")
	p.RunOperator(p.t)
	p.install("../operator/flux", nil, operatorFiles...)
	p.Await("the operator has brought its CRD", stage.Patience, p.Versions(stage.NewVersion))
	p.Await("kubectl get vr", stage.Patience, p.RemovalSays(v1alpha1.ReasonAlreadyRemoved))
}
