package install

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Everything is asked of one installation: a migration and a gate are what it is for, and what it was refused, and in
// which lanes it went, is told by the record of its requests.
func TestTheShippedInstallation(t *testing.T) {
	g := NewWithT(t)
	group := builders.UniqueGroup(t)
	widgets, gadgets := flipped(t, group, "widgets", 60, v1alpha1.MigrateLabel), flipped(t, group, "gadgets", 3, v1alpha1.MigrateLabel)
	gizmos := flipped(t, group, "gizmos", 1) // neither opted in nor granted
	refuseWrites(t, gadgets, "object-00001")

	moult := Install(t, cp, "clusters/base")
	moult.Grant("install-test-objects", lives(widgets, gadgets)...)
	moult.inForce(t, "/apis/"+group+"/v1/widgets", "moult-objects")
	gate := running.GateFor(widgets)
	gate.Ask()
	controller := moult.Start()

	g.Eventually(widgets.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("True SafeToRemove"))
	g.Eventually(gadgets.Reason, running.Soon).Should(Equal(v1alpha1.ReasonObjectsFailed))
	g.Expect(widgets.Stored()).To(Equal(map[string]int{"v1": 60}))
	g.Expect(gizmos.Stored()).To(Equal(map[string]int{"v1alpha1": 1}))

	t.Run("its probes answer", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(controller.probe(controller.container.LivenessProbe)).To(Succeed())
		g.Expect(controller.probe(controller.container.ReadinessProbe)).To(Succeed())
	})
	t.Run("its roles are enough", func(t *testing.T) {
		refused := controller.Seen(func(r Request) bool {
			return r.Code == http.StatusUnauthorized || r.Code == http.StatusForbidden && !r.Is(http.MethodPatch, "/gadgets/object-00001")
		})
		NewWithT(t).Expect(refused).To(BeEmpty())
	})
	t.Run("its roles are no more than enough", func(t *testing.T) { mayDoNothingElse(t, moult, group) })
	t.Run("its work with objects has a lane of its own", func(t *testing.T) { keepsToItsLanes(t, controller, group) })
	t.Run("so has its look at all objects of the cluster", func(t *testing.T) { looksInItsLane(t, moult) })
	t.Run("its metrics and requests name what it was built from", func(t *testing.T) { namesItsBuild(t, moult, controller, widgets.GR.String()) })
	t.Run("every metric that rules and dashboard ask for is there", func(t *testing.T) { hasMetrics(t, controller) })
}

// What the entry points grant is what the command prints for the CRDs of the example.
func TestTheEntryPointsHoldWhatTheCommandPrints(t *testing.T) {
	g := NewWithT(t)
	printed, err := exec.CommandContext(t.Context(), Program(t, "moult"), "rbac", filepath.Join(root, "examples/flux/4-removal/crds")).Output()
	g.Expect(err).NotTo(HaveOccurred())
	for _, cluster := range []string{"flux-production", "argocd-production"} {
		committed, err := os.ReadFile(filepath.Join(root, "clusters", cluster, "moult/widgets.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(committed)).To(Equal(string(printed)), cluster)
	}
}
