package entry

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/flux"
)

const behind = `apiVersion: v1
kind: ConfigMap
metadata: {name: behind, namespace: default}
`

// TestFluxProduction bootstraps a cluster with clusters/flux-production. There is no source-controller, so the test plays
// its part: the artifact of the GitRepository moult is the repository as it is here.
func TestFluxProduction(t *testing.T) {
	s := begin(t)
	f, err := flux.Start(t.Context(), s.controlPlane.Config, flux.Options{})
	s.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.LogTail(20))
		}
		f.Stop()
	})
	files := repository(s.g)
	moult, err := f.NewSource(t.Context(), "moult")
	s.g.Expect(err).NotTo(HaveOccurred())
	revision, err := moult.Push(t.Context(), files)
	s.g.Expect(err).NotTo(HaveOccurred())
	fleet, err := f.NewSource(t.Context(), "flux-system")
	s.g.Expect(err).NotTo(HaveOccurred())
	bootstrap, err := fleet.Push(t.Context(), map[string]string{
		"clusters/flux-production/kustomization.yaml": files["clusters/flux-production/kustomization.yaml"],
		"clusters/flux-production/moult.yaml":         files["clusters/flux-production/moult.yaml"],
		"behind/config.yaml":                          behind,
	})
	s.g.Expect(err).NotTo(HaveOccurred())
	s.g.Expect(f.CreateKustomization(t.Context(), "flux-system", fleet, "path: ./clusters/flux-production")).To(Succeed())
	s.g.Expect(f.CreateKustomization(t.Context(), "behind", fleet, "{path: ./behind, dependsOn: [{name: moult}]}")).To(Succeed())
	s.Await("bootstrapped", patience, f.ReadyAt("flux-system", bootstrap))

	objects := built(s.g, "clusters/flux-production/moult")
	s.Await("everything is applied", patience, s.allThere(objects))
	s.Await("Flux waits for the Deployment", patience, f.KustomizationWhere("moult", func(k flux.Kustomization) bool {
		return !k.Ready() && k.Condition("Reconciling").Status == "True" && k.LastAttemptedRevision == revision
	}))
	s.Holds("what depends on Moult waits for Moult", 3*time.Second, cluster.Absent(s.client, "v1", "ConfigMap", "default", "behind"))

	s.becomesAvailable()
	s.Await("Moult is ready", patience, f.ReadyAt("moult", revision))
	s.Await("and so is what depends on it", patience, f.ReadyAt("behind", bootstrap))
	found, err := f.Kustomization(t.Context(), "moult")
	s.g.Expect(err).NotTo(HaveOccurred())
	s.g.Expect(found.Inventory).To(HaveLen(len(objects)))

	aggregated := s.aggregate()
	reconciled, err := f.Reconciled(t.Context(), "moult")
	s.g.Expect(err).NotTo(HaveOccurred())
	s.Await("reconciled", patience, reconciled)
	s.Await("Flux leaves the rules of the aggregated role alone", patience, aggregated)
	s.Await("and is content", patience, f.ReadyAt("moult", revision))
}
