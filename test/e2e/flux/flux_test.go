package flux_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/flux"
	"github.com/moult-dev/moult/test/e2e/story"
)

var controlPlane *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Run(m, &controlPlane) }

// start runs one controller per test and prints the end of its log when the test fails.
func start(t *testing.T, options flux.Options) *flux.Flux {
	t.Helper()
	began := time.Now()
	f, err := flux.Start(t.Context(), controlPlane.Config, options)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Logf("Flux started in %.1fs", time.Since(began).Seconds())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.LogTail(20))
		}
		f.Stop()
	})
	return f
}

func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\ndata: {key: %q}\n", name, value)
}

func door(lock int) string {
	return fmt.Sprintf("apiVersion: e2e.moult.dev/v1\nkind: Door\nmetadata: {name: front, namespace: default}\nspec: {lock: %d}\n", lock)
}

func TestFlux(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	f := start(t, flux.Options{
		RequeueDependency: 2 * time.Second,
		FeatureGates:      map[string]bool{"CancelHealthCheckOnNewRevision": true},
	})
	c, err := cluster.NewClient(controlPlane.Config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.ApplyCRDs(ctx, c, "../testdata/door-crd.yaml")).To(Succeed())
	gated, err := f.NewSource(ctx, "gated")
	g.Expect(err).NotTo(HaveOccurred())
	front := cluster.Object("e2e.moult.dev/v1", "Door", "default", "front")
	openDoor := func(g Gomega, generation int) {
		status := map[string]any{"open": true, "observedGeneration": generation}
		g.Expect(cluster.PatchStatus(ctx, c, front, status)).To(Succeed())
	}

	t.Run("what depends on a Kustomization that waits for a gate comes after the gate opens", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		g.Expect(f.CreateKustomization(ctx, "gate", gated, "{path: ./gate, wait: true, timeout: 2m}")).To(Succeed())
		g.Expect(f.CreateKustomization(ctx, "behind", gated, "{path: ./behind, wait: true, dependsOn: [{name: gate}]}")).To(Succeed())
		revision, err := gated.Push(ctx, map[string]string{
			"gate/door.yaml": door(1), "behind/config.yaml": configMap("behind", "a"),
		})
		g.Expect(err).NotTo(HaveOccurred())

		s.Await("the gate is applied", time.Minute, cluster.Exists(c, "e2e.moult.dev/v1", "Door", "default", "front"))
		s.Await("behind waits", time.Minute, f.NotReady("behind", "dependency"))
		s.Holds("nothing behind the door", 3*time.Second, cluster.Absent(c, "v1", "ConfigMap", "default", "behind"))
		openDoor(g, 1)
		opened := s.Say("door opened")
		s.Await("gate ready", time.Minute, f.ReadyAt("gate", revision))
		applied := s.Await("next one applied", 30*time.Second, cluster.Exists(c, "v1", "ConfigMap", "default", "behind"))
		s.Say("behind applied %.1fs after the door opened", applied.Sub(opened).Seconds())
		g.Expect(applied.Sub(opened)).To(BeNumerically("<", 12*time.Second))
		s.Await("behind ready", time.Minute, f.ReadyAt("behind", revision))
		g.Expect(f.Ready(ctx, "behind")).To(HaveField("Reason", "ReconciliationSucceeded"))
		g.Expect(f.Kustomization(ctx, "behind")).To(HaveField("Inventory", ConsistOf("default_behind__ConfigMap")))
	})

	t.Run("a new revision that changes the gate shuts it again", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		revision, err := gated.Push(ctx, map[string]string{"gate/door.yaml": door(2), "behind/more.yaml": configMap("more", "a")})
		g.Expect(err).NotTo(HaveOccurred())
		s.Await("behind waits", time.Minute, f.NotReady("behind", "dependency"))
		s.Holds("nothing more behind the door", 3*time.Second, cluster.Absent(c, "v1", "ConfigMap", "default", "more"))
		openDoor(g, 2)
		opened := s.Say("door opened")
		applied := s.Await("next one applied", 30*time.Second, cluster.Exists(c, "v1", "ConfigMap", "default", "more"))
		g.Expect(applied.Sub(opened)).To(BeNumerically("<", 12*time.Second))
		s.Await("behind ready", time.Minute, f.ReadyAt("behind", revision))
	})

	// So docs/guides/gate-waits.md has its reader name a field manager.
	t.Run("an annotation that kubectl has set is taken off, and one under another name stays", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		pausedBy := func(manager string) map[string]string {
			pause := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"moult.dev/paused":"true"}}}`))
			g.Expect(c.Patch(ctx, front.DeepCopy(), pause, client.FieldOwner(manager))).To(Succeed())
			reconciled, err := f.Reconciled(ctx, "gate")
			g.Expect(err).NotTo(HaveOccurred())
			s.Await("applied again", time.Minute, reconciled)
			after := front.DeepCopy()
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
			return after.GetAnnotations()
		}
		g.Expect(pausedBy("kubectl-annotate")).NotTo(HaveKey("moult.dev/paused"))
		g.Expect(pausedBy("pause")).To(HaveKeyWithValue("moult.dev/paused", "true"))
	})

	t.Run("a folder is a source too", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		source, err := f.NewSource(ctx, "folder")
		g.Expect(err).NotTo(HaveOccurred())
		revision, err := source.PushFolder(ctx, "../testdata")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.CreateKustomization(ctx, "crd", source, "wait: true")).To(Succeed())
		s.Await("applied", time.Minute, f.ReadyAt("crd", revision))
	})

	t.Run("healthChecks and a CEL expression hold a Kustomization without content", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		source, err := f.NewSource(ctx, "looking")
		g.Expect(err).NotTo(HaveOccurred())
		revision, err := source.Push(ctx, map[string]string{
			"empty/kustomization.yaml": "resources: []\n", "after/config.yaml": configMap("after", "a"),
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cluster.PatchStatus(ctx, c, front, map[string]any{"open": false})).To(Succeed())
		g.Expect(f.CreateKustomization(ctx, "look", source, `
path: ./empty
timeout: 2m
healthChecks:
  - {apiVersion: e2e.moult.dev/v1, kind: Door, name: front, namespace: default}
healthCheckExprs:
  - apiVersion: e2e.moult.dev/v1
    kind: Door
    inProgress: "!has(status.open) || !status.open"
    current: "has(status.open) && status.open"
`)).To(Succeed())
		g.Expect(f.CreateKustomization(ctx, "after", source, "{path: ./after, dependsOn: [{name: look}]}")).To(Succeed())
		s.Await("it waits", time.Minute, f.NotReady("look", "Progressing"))
		s.Holds("nothing after it", 3*time.Second, cluster.Absent(c, "v1", "ConfigMap", "default", "after"))
		openDoor(g, 2)
		opened := s.Say("door opened")
		s.Await("ready", time.Minute, f.ReadyAt("look", revision))
		g.Expect(f.RequestReconcile(ctx, "after")).To(Succeed())
		applied := s.Await("next one applied", 30*time.Second, cluster.Exists(c, "v1", "ConfigMap", "default", "after"))
		g.Expect(applied.Sub(opened)).To(BeNumerically("<", 12*time.Second))
	})
}
