package argocd_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

const doorHealth = `
local health = {status = "Progressing", message = "the door is shut"}
if obj.status ~= nil and obj.status.open then
  health.status = "Healthy"
  health.message = "the door is open"
end
return health
`

// start runs one Argo CD per test, on a cluster with doors and nothing else, and prints the ends of its logs when the test
// fails.
func start(t *testing.T, options argocd.Options) (*argocd.ArgoCD, client.Client) {
	t.Helper()
	g := NewWithT(t)
	controlPlane := controlplane.New(t)
	c, err := cluster.NewClient(controlPlane.Config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.ApplyCRDs(t.Context(), c, "../testdata/door-crd.yaml")).To(Succeed())
	began := time.Now()
	argo, err := argocd.Start(t.Context(), controlPlane.Config, options)
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("Argo CD started in %.1fs", time.Since(began).Seconds())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(argo.LogTail(20))
		}
		argo.Stop()
	})
	return argo, c
}

// configMap is a manifest in a sync wave.
func configMap(name string, wave int, value string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
  annotations: {argocd.argoproj.io/sync-wave: "%d"}
data: {key: %q}
`, name, wave, value)
}

func door(wave, lock int) string {
	return fmt.Sprintf(`apiVersion: e2e.moult.dev/v1
kind: Door
metadata:
  name: front
  annotations: {argocd.argoproj.io/sync-wave: "%d"}
spec: {lock: %d}
`, wave, lock)
}

func TestArgoCD(t *testing.T) {
	ctx := t.Context()
	argo, c := start(t, argocd.Options{Settings: map[string]string{"resource.customizations.health.e2e.moult.dev_Door": doorHealth}})

	t.Run("two waves without a gate are applied in one go", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		repo := argocd.NewRepo(t)
		commit := repo.Commit(map[string]string{
			"app/second.yaml":        configMap("second", 1, "a"),
			"app/kustomization.yaml": "resources: [first.yaml, second.yaml]\n",
			"app/first.yaml":         configMap("first", 0, "a"),
		}, "both")
		g.Expect(argo.CreateApplication(ctx, "plain", repo, "app")).To(Succeed())
		g.Expect(argo.Sync(ctx, "plain")).To(Succeed())
		s.Await("synced", time.Minute, argo.OperationIs("plain", argocd.Succeeded, "successfully synced"))
		s.Await("healthy", time.Minute, argo.HealthIs("plain", commit, "Healthy"))

		operation, err := argo.Operation(ctx, "plain")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(operation.Revision).To(Equal(commit))
		g.Expect(operation.Resource("ConfigMap", "first").Status).To(Equal("Synced"))
		first, err := cluster.Get(ctx, c, "v1", "ConfigMap", "default", "first")
		g.Expect(err).NotTo(HaveOccurred())
		second, err := cluster.Get(ctx, c, "v1", "ConfigMap", "default", "second")
		g.Expect(err).NotTo(HaveOccurred())
		order, err := resourceversion.CompareResourceVersion(first.GetResourceVersion(), second.GetResourceVersion())
		g.Expect(order, err).To(BeNumerically("<", 0), "the wave order")

		removal := repo.Commit(map[string]string{
			"app/kustomization.yaml": "resources: [first.yaml]\n", "app/second.yaml": "",
		}, "only the first")
		g.Expect(argo.Refresh(ctx, "plain")).To(Succeed())
		g.Expect(argo.Status(ctx, "plain")).To(HaveField("Sync", "OutOfSync"))
		g.Expect(argo.Sync(ctx, "plain")).To(Succeed())
		s.Await("pruned", time.Minute, argo.OperationWhere("plain", func(o argocd.Operation) bool {
			return o.Phase == argocd.Succeeded && o.Resource("ConfigMap", "second").Status == "Pruned"
		}))
		repo.Revert(removal)
		g.Expect(argo.Sync(ctx, "plain")).To(Succeed())
		s.Await("rolled back", time.Minute, argo.OperationIs("plain", argocd.Succeeded, ""))
		_, err = cluster.Get(ctx, c, "v1", "ConfigMap", "default", "second")
		g.Expect(err).NotTo(HaveOccurred())
	})

	gated := argocd.NewRepo(t)
	t.Run("a Lua health check holds the next wave until the status changes", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		gated.Commit(map[string]string{
			"door.yaml": door(-1, 1), "behind.yaml": configMap("behind", 0, "a"),
		}, "door")
		g.Expect(argo.CreateApplication(ctx, "gated", gated, ".")).To(Succeed())
		g.Expect(argo.Sync(ctx, "gated")).To(Succeed())
		s.Await("blocked", time.Minute,
			argo.OperationIs("gated", argocd.Running, "waiting for healthy state of e2e.moult.dev/Door/front"))
		s.Holds("nothing behind the door", 3*time.Second, cluster.Absent(c, "v1", "ConfigMap", "default", "behind"))
		g.Expect(cluster.PatchStatus(ctx, c, cluster.Object("e2e.moult.dev/v1", "Door", "default", "front"),
			map[string]any{"open": true})).To(Succeed())
		opened := s.Say("door opened")
		applied := s.Await("next wave applied", 30*time.Second, cluster.Exists(c, "v1", "ConfigMap", "default", "behind"))
		g.Expect(applied.Sub(opened)).To(BeNumerically("<", 5*time.Second))
		s.Say("next wave %.2fs after the door opened", applied.Sub(opened).Seconds())
		s.Await("synced", time.Minute, argo.OperationIs("gated", argocd.Succeeded, ""))
		s.Await("healthy", time.Minute, argo.HealthIs("gated", "", "Healthy"))
		g.Expect(argo.Status(ctx, "gated")).To(WithTransform(func(status argocd.Status) string {
			return status.Object("Door", "front").HealthMessage
		}, Equal("the door is open")))
	})

	t.Run("a changed setting counts at once and a blocked sync can be terminated", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		const key = "resource.customizations.health.e2e.moult.dev_Door"
		g.Expect(argo.SetSettings(ctx, map[string]string{
			key: `return {status = "Progressing", message = "always shut"}`,
		})).To(Succeed())
		g.Expect(argo.Sync(ctx, "gated")).To(Succeed())
		s.Await("blocked", time.Minute, argo.OperationIs("gated", argocd.Running, "waiting for healthy state"))
		g.Expect(argo.Terminate(ctx, "gated")).To(Succeed())
		g.Expect(argo.Operation(ctx, "gated")).To(HaveField("Phase", argocd.Failed))
		s.Await("progressing", time.Minute, argo.HealthIs("gated", "", "Progressing"))

		g.Expect(argo.SetSettings(ctx, map[string]string{key: ""})).To(Succeed())
		g.Expect(argo.Sync(ctx, "gated")).To(Succeed())
		s.Await("without a check nothing is waited for", time.Minute, argo.OperationIs("gated", argocd.Succeeded, ""))
	})

	t.Run("an Application with automatic sync follows its commits", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		repo := argocd.NewRepo(t)
		first := repo.CommitFolder("../testdata", "the CRD")
		g.Expect(argo.CreateApplication(ctx, "auto", repo, ".", argocd.AutoSync(1, "ServerSideApply=true"))).To(Succeed())
		s.Await("nothing to sync for the CRD that is there", time.Minute, argo.HealthIs("auto", first, "Healthy"))
		commit := repo.Commit(map[string]string{"more.yaml": configMap("more", 1, "a")}, "more")
		s.Await("second commit synced", time.Minute, argo.OperationWhere("auto", func(o argocd.Operation) bool {
			return o.Phase == argocd.Succeeded && o.Revision == commit
		}))
	})

	// A new cluster gets the gate at once, and Moult perhaps later.
	t.Run("a gate whose CRD comes later is tried again only as often as retry.limit says", func(t *testing.T) {
		g, s := NewWithT(t), story.Begin(t)
		repo := argocd.NewRepo(t)
		repo.Commit(map[string]string{"gate.yaml": `apiVersion: moult.dev/v1alpha1
kind: VersionRemoval
metadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
spec: {crdName: widgets.example.com, versions: [v1alpha1]}
`}, "gate")
		const refused = "one or more synchronization tasks are not valid"
		g.Expect(argo.CreateApplication(ctx, "ends", repo, ".", argocd.AutoSync(1))).To(Succeed())
		g.Expect(argo.CreateApplication(ctx, "endless", repo, ".", argocd.AutoSync(-1))).To(Succeed())
		s.Await("it gives up", time.Minute, argo.OperationIs("ends", argocd.Failed, refused))
		s.Await("the other one tries again", time.Minute, argo.OperationIs("endless", argocd.Running, refused))
		g.Expect(cluster.ApplyCRDs(ctx, c, "../../../clusters/base/crds/moult.dev_*.yaml")).To(Succeed())
		s.Await("it comes once the CRD is there", 2*time.Minute, argo.OperationIs("endless", argocd.Succeeded, ""))
		g.Expect(argo.Refresh(ctx, "ends")).To(Succeed())
		s.Holds("what has given up stays so", 5*time.Second, argo.OperationIs("ends", argocd.Failed, refused))
	})
}
