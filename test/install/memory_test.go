package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// heavy are annotations as large as the API server takes: 256 KiB is the most, over all of them.
func heavy() map[string]string {
	return map[string]string{"example.com/load": strings.Repeat("x", 250<<10)}
}

// smallMaps are a list that is one field, whatever it holds, and a field that another version calls otherwise.
func smallMaps(field string) string {
	return `{type: object, properties: {spec: {type: object, properties: {` + field + `: {type: integer},
		items: {type: array, x-kubernetes-list-type: atomic, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}`
}

// enough is long: what is measured is memory, and each status is a write to an object of 250 KiB.
const enough = 8 * time.Minute

// The controller runs with the memory that the Deployment gives it, in a cgroup, so that the kernel kills it if it takes
// more. What is asked for can be made by tenants: objects, and VersionRemovals in a namespace.
func TestTheShippedMemoryIsEnough(t *testing.T) {
	for name, c := range map[string]struct {
		objects, removals int
		opened            int  // gates; the controller has listed all of them before the first
		converted         bool // by a webhook that renames a field
	}{
		"for 600 objects with annotations of 250 KiB":                     {objects: 600, removals: 1, opened: 1},
		"for 700 VersionRemovals with annotations of 250 KiB":             {objects: 5, removals: 700, opened: 100},
		"for 6 objects with 400,000 small maps, which a webhook converts": {objects: 6, removals: 1, opened: 1, converted: true},
	} {
		t.Run(name, func(t *testing.T) {
			g, group := NewWithT(t), builders.UniqueGroup(t)
			crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").WithStatus().Label(v1alpha1.MigrateLabel, "true")
			load := func(o *unstructured.Unstructured) { o.SetAnnotations(heavy()) }
			if c.converted {
				hook := webhooks.Converting(t)
				hook.Rename("v1", "size", "replicas")
				crd.Schema("v1alpha1", smallMaps("size")).Schema("v1", smallMaps("replicas")).ConversionWebhook(hook.URL(), hook.CABundle())
				load = func(o *unstructured.Unstructured) {
					o.Object["spec"] = map[string]any{"size": int64(1), "items": slices.Repeat([]any{map[string]any{}}, 400_000)}
				}
			}
			widgets := running.InstallFlipped(t, cp, crd.Build(), c.objects, builders.Each(load))
			moult := Install(t, cp, "clusters/base")
			moult.Grant("memory-test-objects", lives(widgets)...)
			moult.inForce(t, "/apis/"+group+"/v1/widgets", "moult-objects")
			namespace := removals(t, widgets, c.removals)

			began := time.Now()
			controller, within := moult.StartWithin()
			alive := func() error {
				if !controller.hasEnded() {
					return nil
				}
				kills, err := within.Kills()
				return StopTrying(fmt.Sprintf("moult-controller has ended; killed for memory %d times", kills)).Wrap(err)
			}
			g.Eventually(func() (string, error) { return widgets.Reason(), alive() }, enough, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
			g.Eventually(func() (int, error) { return ready(t.Context(), namespace), alive() }, enough, "1s").Should(BeNumerically(">=", c.opened), "gates that are open")
			g.Expect(widgets.Stored()).To(Equal(map[string]int{"v1": c.objects}))
			g.Expect(within.Kills()).To(BeZero())
			peak, err := within.Peak()
			g.Expect(err).NotTo(HaveOccurred())
			t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
		})
	}
}

// removals are n heavy VersionRemovals in a namespace of their own, which go when the test ends.
func removals(t *testing.T, w *running.Witness, n int) (namespace string) {
	t.Helper()
	g, c := NewWithT(t), running.Client(t, cp.Config)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "heavy-"}}
	g.Expect(c.Create(t.Context(), ns)).To(Succeed())
	t.Cleanup(func() {
		_ = c.DeleteAllOf(context.Background(), &v1alpha1.VersionRemoval{}, client.InNamespace(ns.Name))
	})
	var workers errgroup.Group
	workers.SetLimit(8)
	for i := range n {
		workers.Go(func() error {
			return c.Create(t.Context(), &v1alpha1.VersionRemoval{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: fmt.Sprintf("heavy-%04d", i), Annotations: heavy()},
				Spec:       v1alpha1.VersionRemovalSpec{CRDName: w.GR.String(), Versions: []string{"v1alpha1"}},
			})
		})
	}
	g.Expect(workers.Wait()).To(Succeed())
	return ns.Name
}

// ready counts the VersionRemovals of a namespace that are Ready. It asks for a table, since all of them are as much as the
// controller must not hold.
func ready(ctx context.Context, namespace string) (n int) {
	raw, err := kubernetes.NewForConfigOrDie(cp.Config).RESTClient().Get().AbsPath("/apis/moult.dev/v1alpha1/namespaces/"+namespace+"/versionremovals").
		Param("includeObject", "None").SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(ctx).Raw()
	table := &metav1.Table{}
	if err != nil || json.Unmarshal(raw, table) != nil {
		return 0
	}
	for _, row := range table.Rows {
		if slices.Contains(row.Cells, any(v1alpha1.ReasonSafeToRemove)) {
			n++
		}
	}
	return n
}
