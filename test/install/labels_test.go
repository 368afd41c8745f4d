package install

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// manyLabels are as many as etcd takes with one object. In memory they take ten times as much.
func manyLabels() map[string]string {
	labels := map[string]string{}
	for i := int64(36 * 36 * 36); len(labels) < 150_000; i++ { // keys of four letters or digits
		labels[strconv.FormatInt(i, 36)] = ""
	}
	return labels
}

// Tenants may write VersionRemovals, and one may have a hundred thousand labels. API servers before 1.34 send them in pages.
func TestTheShippedMemoryIsEnoughForVersionRemovalsWithManyLabels(t *testing.T) {
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(v1alpha1.MigrateLabel, "true").Build()
	widgets := running.InstallFlipped(t, cp, crd, 5)
	moult := Install(t, cp, "clusters/base")
	moult.Grant("memory-test-objects", lives(widgets)...)
	moult.inForce(t, "/apis/"+crd.Spec.Group+"/v1/widgets", "moult-objects")
	namespace := labelledRemovals(t, widgets, 24)

	began := time.Now()
	controller, within := moult.StartWithin()
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "labelled-000"}}
	c := running.Client(t, cp.Config)
	g.Eventually(func() (int64, error) {
		if controller.hasEnded() {
			kills, err := within.Kills()
			return 0, StopTrying(fmt.Sprintf("moult-controller has ended; killed for memory %d times", kills)).Wrap(err)
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(removal), removal)
		return removal.Status.ObservedGeneration, err
	}, enough, "1s").Should(Equal(int64(1)), "an answer; the controller has listed all before the first")
	peak, err := within.Peak()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
	g.Expect(within.Kills()).To(BeZero())
}

// labelledRemovals are put into etcd as they are, which takes less time than to have the API server compute who owns each label.
func labelledRemovals(t *testing.T, w *running.Witness, n int) (namespace string) {
	t.Helper()
	g, c := NewWithT(t), running.Client(t, cp.Config)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "labelled-"}}
	g.Expect(c.Create(t.Context(), ns)).To(Succeed())
	gr := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "versionremovals"}
	t.Cleanup(func() { _ = cp.Etcd().Purge(context.Background(), gr) })
	labels := manyLabels()
	for i := range n {
		name := fmt.Sprintf("labelled-%03d", i)
		raw, err := json.Marshal(map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "VersionRemoval",
			"metadata": map[string]any{"name": name, "namespace": ns.Name, "uid": ns.Name + name, "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1, "labels": labels},
			"spec":     map[string]any{"crdName": w.GR.String(), "versions": []string{"v1alpha1"}},
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cp.Etcd().Put(t.Context(), gr, ns.Name, name, raw)).To(Succeed())
	}
	return ns.Name
}

// A CRD that has opted in may have as many.
func TestTheShippedMemoryIsEnoughForCRDsWithManyLabels(t *testing.T) {
	g := NewWithT(t)
	moult := Install(t, cp, "clusters/base")
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(v1alpha1.MigrateLabel, "true").Build()
	widgets := running.InstallFlipped(t, cp, crd, 5)
	moult.Grant("memory-test-objects", lives(widgets)...)
	moult.inForce(t, "/apis/"+crd.Spec.Group+"/v1/widgets", "moult-objects")
	gr := schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
	labels := manyLabels()
	labels[v1alpha1.MigrateLabel] = "true"
	group := builders.UniqueGroup(t)
	for i := range 30 {
		plural := fmt.Sprintf("gadget%ds", i)
		crd := builders.CRD(group, plural).Versions("v1").Build()
		crd.APIVersion, crd.Kind, crd.Labels = "apiextensions.k8s.io/v1", "CustomResourceDefinition", labels
		crd.UID, crd.Generation, crd.CreationTimestamp = "u"+crd.UID, 1, metav1.Now()
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		crd.Status.StoredVersions = []string{"v1"}
		raw, err := json.Marshal(crd)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cp.Etcd().Put(t.Context(), gr, "", crd.Name, raw)).To(Succeed())
		t.Cleanup(func() { _ = running.Client(t, cp.Config).Delete(context.Background(), crd) })
	}

	began := time.Now()
	controller, within := moult.StartWithin()
	g.Eventually(func() (string, error) {
		if controller.hasEnded() {
			kills, err := within.Kills()
			return "", StopTrying(fmt.Sprintf("moult-controller has ended; killed for memory %d times", kills)).Wrap(err)
		}
		return widgets.Reason(), nil
	}, enough, "500ms").ShouldNot(BeEmpty(), "a condition; the controller has listed all before the first")
	g.Consistently(controller.hasEnded, 20*time.Second, "1s").Should(BeFalse())
	peak, err := within.Peak()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
	g.Expect(within.Kills()).To(BeZero())
}
