package flux_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/health"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
)

// theCRDAsGate needs no VersionRemoval: a Kustomization without content looks at the CRD, and what uses the CRD depends
// on it.
func theCRDAsGate(p *play) {
	empty, err := os.ReadFile(stage.Path("examples/flux/crd-as-gate/migrated/kustomization.yaml"))
	p.g.Expect(err).NotTo(HaveOccurred())
	withEmpty := map[string]string{"migrated/kustomization.yaml": string(empty)}

	moult := p.StartMoult(p.T)
	p.Witness(p.T, p.GardenHasSize(stage.SizeAfter))
	p.install(twoVersions, withEmpty,
		"flux-system/crd-gate.yaml", "flux-system/crds.yaml", "crd-as-gate/crds-migrated.yaml", "crd-as-gate/widgets.yaml")
	before := p.CreateWidgets(p.T, 100)

	moult.SlowPass(100)
	revision := p.push(storageFlip, withEmpty)
	p.Await("flipped", stage.Patience, p.flux.ReadyAt(crds, revision))
	waiting := stage.All(p.checks(migrated, revision), p.GardenHasSize(stage.SizeBefore))
	p.Await("blocked", stage.Patience, waiting)
	p.Holds("blocked with old bytes in etcd, the garden as it was", 5*time.Second, stage.All(waiting, p.StoredAtOld()))

	moult.SlowWrites(0)
	p.Say("the pass may go at full speed")
	trimmed := p.AwaitWhile("trimmed", stage.Patience, p.Trimmed(), waiting)
	applied := p.Await("next Kustomization applied", stage.Patience, p.GardenHasSize(stage.SizeAfter))
	p.Say("the next Kustomization was applied %.2fs after the trim", applied.Sub(trimmed).Seconds())
	p.g.Expect(applied.Sub(trimmed)).To(BeNumerically("<", polled))
	p.Await("all are ready", stage.Patience, p.flux.ReadyAt(widgets, revision))
	p.AllAlive(before)
}

func TestTheExampleHasTheExpressionsOfPackageHealth(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(stage.Path("examples/flux/crd-as-gate/crds-migrated.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var kustomization struct {
		Spec struct{ HealthCheckExprs []health.Expressions }
	}
	g.Expect(yaml.Unmarshal(content, &kustomization)).To(Succeed())
	g.Expect(kustomization.Spec.HealthCheckExprs).To(ConsistOf(health.FluxCRDExpressions))
}
