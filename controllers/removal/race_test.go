package removal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

// The race between the last look at managedFields and the removal. A client that writes at the old version in between
// leaves an entry that names it. Then the next write of any client makes the API server forget all owners of the
// object, Flux among them.

const (
	fluxManager = "kustomize-controller"
	oldTool     = "old-tool"
	owned       = 8 // objects
)

// ownedByFlux has objects that Flux has applied at v1alpha1, and v1 as the storage version.
func ownedByFlux(t *testing.T) *gate {
	t.Helper()
	g, crd := widgets(t)
	g.install(crd, 0)
	for i := range owned {
		g.Eventually(func() error {
			return g.apply(cp.Config, i, "v1alpha1", fluxManager, map[string]any{"size": int64(1), "color": "green"})
		}, soon).Should(Succeed())
	}
	g.Flip("v1")
	return g
}

// apply applies an object server-side, as Flux does.
func (g *gate) apply(cfg *rest.Config, i int, version, manager string, spec map[string]any) error {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(g.GR.Group + "/" + version)
	object.SetKind("Widget")
	object.SetName(fmt.Sprintf("owned-%d", i))
	objects := dynamic.NewForConfigOrDie(cfg).Resource(g.GR.WithVersion(version)).Namespace("default")
	_, err := objects.Apply(context.WithoutCancel(g.ctx), object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// busily writes to one object after the other until stop is called, which returns how many writes there were.
func (g *gate) busily(write func(i, n int) error) (stop func() int64) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.ctx)
	wrote, group := atomic.Int64{}, sync.WaitGroup{}
	for i := range owned {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if write(i, n) == nil {
					wrote.Add(1)
				}
				time.Sleep(300 * time.Millisecond)
			}
		})
	}
	stop = func() int64 { cancel(); group.Wait(); return wrote.Load() }
	g.t.Cleanup(func() { stop() })
	return stop
}

// owners are, for each object as etcd holds it, its managers and the versions of their entries.
func (g *gate) owners() map[string]map[string]string {
	g.t.Helper()
	found := map[string]map[string]string{}
	g.Expect(cp.Etcd().Walk(g.ctx, g.GR, func(s controlplane.Stored) {
		object := metav1.PartialObjectMetadata{}
		_ = json.Unmarshal(s.Raw, &object)
		found[s.Name] = map[string]string{}
		for _, entry := range object.ManagedFields {
			found[s.Name][entry.Manager] = strings.TrimPrefix(entry.APIVersion, g.GR.Group+"/")
		}
	})).To(Succeed())
	return found
}

// fluxPrunes applies all objects as Flux does, without a field that it has applied before, and looks whether it goes.
func (g *gate) fluxPrunes() {
	g.t.Helper()
	for i := range owned {
		g.Eventually(func() error { return g.apply(cp.Config, i, "v1", fluxManager, map[string]any{"size": int64(1)}) }, soon).Should(Succeed())
		object, err := g.Objects("v1").Get(g.ctx, fmt.Sprintf("owned-%d", i), metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		_, kept, _ := unstructured.NestedString(object.Object, "spec", "color")
		g.Expect(kept).To(BeFalse(), "Flux does not own spec.color of owned-%d any more", i)
	}
}

func leave(g *gate) {
	g.Expect(builders.RemoveVersion(g.ctx, cp.Config, g.GR.String(), "v1alpha1")).To(Succeed())
	g.eventually("True AlreadyRemoved")
}

// An API server that stands still while the version stops being served takes writes at it for longer than the others.
// The test fails when the gate does not wait for them (stillLanding) or does not look after that (landedBy in
// opensFrom).
func TestWithUnservedNoOwnerIsLost(t *testing.T) {
	t.Parallel()
	g := ownedByFlux(t)
	second, err := cp.SecondAPIServer()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = second.Stop() })
	lateByOld := g.busily(func(i, n int) error {
		return g.apply(second.Config, i, "v1alpha1", oldTool, map[string]any{"enabled": n%2 == 0})
	})
	others := g.busily(func(i, n int) error {
		_, err := g.Objects("v1").Patch(context.WithoutCancel(g.ctx), fmt.Sprintf("owned-%d", i), types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"payload":"%d"}}`, n), metav1.PatchOptions{FieldManager: "new-tool"})
		return err
	})
	g.Eventually(g.owners, soon).Should(HaveEach(And(HaveKeyWithValue(oldTool, "v1alpha1"), HaveKey("new-tool"))))
	g.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved} })
	clock := &running.Clock{}
	g.moult(settle(time.Hour), func(m *migration.Options, r *removal.Options) { m.Clock, r.Clock = clock, clock })
	g.settled(clock, "False StillServed Stalled")

	g.Expect(second.Pause()).To(Succeed())
	g.Update(func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	g.eventually("False Settling Reconciling")
	g.Expect(g.Message()).To(ContainSubstring("no API server can still take a write at v1alpha1"))
	g.Expect(second.Resume()).To(Succeed())
	g.Eventually(func() error { // the last write that it takes has been answered
		return g.apply(second.Config, 0, "v1alpha1", oldTool, map[string]any{"enabled": true})
	}, soon).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	g.Expect(lateByOld()).To(BeNumerically(">", 0))
	g.Expect(g.Verdict()).To(Equal("False Settling Reconciling"))
	g.settled(clock, "True SafeToRemove")
	g.Expect(g.Message()).NotTo(ContainSubstring("still served"))
	g.Expect(g.owners()).To(HaveEach(Not(ContainElement("v1alpha1"))), "an entry names the version after the gate has opened")
	leave(g)
	g.Expect(g.owners()).To(HaveEach(And(
		HaveKeyWithValue(fluxManager, "v1"), HaveKeyWithValue(oldTool, "v1"), HaveKeyWithValue("new-tool", "v1"))))
	g.Expect(others()).To(BeNumerically(">", 20))
	g.fluxPrunes()
}

// settled waits for a verdict, and ends settle times by a clock until it is there.
func (g *gate) settled(clock *running.Clock, verdict string) {
	g.t.Helper()
	g.Eventually(func() string {
		now := g.Verdict()
		if now != verdict {
			clock.Leap(time.Hour)
			g.Update(func(c *apiextensionsv1.CustomResourceDefinition) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, "woken-at", clock.Now().Format(time.RFC3339Nano))
			})
		}
		return now
	}, soon, "500ms").Should(Equal(verdict), func() string { return g.Message() })
}

// While the version is served that cannot be promised. What is written between the look and the removal is fixed after
// it, unless somebody else writes first.
func TestWithoutUnservedWhatIsWrittenUntilTheRemovalIsRepairedAfterIt(t *testing.T) {
	t.Parallel()
	g := ownedByFlux(t)
	stop := g.busily(func(i, n int) error {
		return g.apply(cp.Config, i, "v1alpha1", oldTool, map[string]any{"enabled": n%2 == 0})
	})
	g.Ask()
	g.moult()
	g.eventually("True SafeToRemove")
	g.Expect(g.Message()).To(ContainSubstring("with `require: [Unserved]` no client can write at it"))
	g.Eventually(g.owners, soon).Should(HaveEach(HaveKeyWithValue(oldTool, "v1alpha1")), "it goes on writing")
	leave(g)
	stop()
	g.Eventually(g.owners, soon).Should(HaveEach(And(HaveKeyWithValue(fluxManager, "v1"), HaveKeyWithValue(oldTool, "v1"))))
	g.fluxPrunes()
}
