package migration_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// The scenarios every storage version migrator has to pass. Each judges by the
// bytes in etcd: storedVersions alone cannot tell a migration from a lie.

func TestObjectsStoredAtThePriorVersionAreRewrittenAndTheListIsTrimmed(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 120)
	w.controller(w.quick())
	w.eventuallyMigrated(120)
	w.Expect(w.Writes()).To(BeEquivalentTo(120), "every object is written once")

	c := w.Condition()
	w.Expect(c.Status).To(Equal(apiextensionsv1.ConditionTrue))
	w.Expect(v1alpha1.SpeaksOf(c.Message, w.Live().Generation)).To(BeTrue(), c.Message)
	w.Expect(c.Message).To(ContainSubstring("120 of 120 objects, 0 failed"))
}

func TestACleanCRDIsProvedWithoutAWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Storage("v1").Build())
	w.Create(30)
	w.controller(w.quick())
	w.eventuallyMigrated(30)
	w.Expect(w.Writes()).To(BeZero())
}

func TestACleanListIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 40)
	w.lie()
	w.controller(w.quick())
	w.eventuallyMigrated(40)
	w.Expect(w.Writes()).To(BeEquivalentTo(40))
}

// lie trims storedVersions without rewriting anything, as the folklore does.
func (w *world) lie() {
	w.t.Helper()
	_, err := w.CRDs().Patch(w.ctx, w.crd.Name, types.MergePatchType,
		[]byte(`{"status":{"storedVersions":["v1"]}}`), metav1.PatchOptions{}, "status")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
}

func TestOneRefusedObjectIsNamedAndStopsNoOther(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 60)
	hook := webhooks.Refusing(t, cp.Config, w.GR.WithVersion("v1"), "the freezer is locked", "object-00007")
	w.controller(w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1, "v1": 59}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}), "nothing is trimmed")
	w.Expect(w.Condition().Message).To(And(ContainSubstring("60 of 60 objects, 1 failed"), ContainSubstring("default/object-00007"),
		ContainSubstring("AdmissionDenied"), ContainSubstring("the freezer is locked")))

	hook.Allow("object-00007")
	w.triesAgain()
	w.eventuallyMigrated(60)
}

func TestABusyWriterNeitherStarvesNorFoolsTheProof(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 20)
	wrote := w.churn("v1", 20)
	valve, _ := w.midPass(20, w.quick()) // all are rewritten, listed, and about to be checked
	before := wrote.Load()
	w.Eventually(wrote.Load, soon, "10ms").Should(BeNumerically(">", before+2*20), "the writer must be faster with each object")
	valve.open()
	w.eventuallyMigrated(20)
	w.Expect(w.eventNotes()).NotTo(ContainElement(HavePrefix(v1alpha1.ReasonObjectsFailed)), "to be overtaken is no failure")
}

// churn writes all objects, over and over, until the test ends; it counts the
// writes that succeed.
func (w *world) churn(version string, n int) (wrote *atomic.Int64) {
	client, wrote := w.Objects(version), &atomic.Int64{}
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	w.t.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"churn":"%d"}}}`, i)
			if _, err := client.Patch(ctx, fmt.Sprintf("object-%05d", i%n), types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
				wrote.Add(1)
			}
		}
	}()
	return wrote
}

func TestACRDWithoutTheLabelIsNeverWrittenTo(t *testing.T) {
	t.Parallel()
	unlabelled := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1")
	for name, crd := range map[string]*builders.CRDBuilder{
		"no label":      unlabelled,
		"another value": builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(v1alpha1.MigrateLabel, "yes"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := flippedWorld(t, crd, 10)
			w.neverWrittenTo(w.later(builders.CRD(w.GR.Group, "zebras").OptedIn()), w.quick())
		})
	}
}

func TestACRDOfAForeignGroupIsNeverWrittenTo(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 10)
	opts := w.quick()
	opts.Groups = []string{builders.UniqueGroup(t)}
	w.neverWrittenTo(w.later(builders.CRD(opts.Groups[0], "zebras").OptedIn()), opts)
}

// neverWrittenTo runs a controller until it has migrated another CRD. That comes later in the list of CRDs, so in the queue, too,
// and the controller stops when all that it has begun has ended.
func (w *world) neverWrittenTo(other *world, opts migration.Options) {
	w.t.Helper()
	before := w.Live().ResourceVersion
	stop := w.controller(opts)
	other.Eventually(other.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
	stop()
	w.Expect(w.Live().ResourceVersion).To(Equal(before))
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 10}))
}

// later installs another CRD.
func (w *world) later(b *builders.CRDBuilder) *world {
	w.t.Helper()
	other := newWorld(w.t, b.Build())
	w.Expect(other.crd.Name > w.crd.Name).To(BeTrue(), "it comes later in each list")
	return other
}

func TestManyPagesAreWalkedToTheEnd(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 105)
	opts := w.quick()
	opts.PageSize = 10
	w.controller(opts)
	w.eventuallyMigrated(105)
	w.Expect(w.Condition().Message).To(ContainSubstring("105 of 105 objects"))
}

func TestClusterScopedObjectsAreMigrated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).ClusterScoped().Build())
	w.Expect(builders.CreateObjects(w.ctx, cp.Config, w.GR.WithVersion("v1alpha1"), "", 15)).To(Succeed())
	w.Flip("v1")
	w.controller(w.quick())
	w.eventuallyMigrated(15)
}

// The life of a version, T1 to T4: it is joined by a newer one, loses the
// storage, is no longer served, and goes.
func TestTheLifeOfAVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1").OptedIn().Build())
	w.Create(50)
	opts := w.quick()
	opts.Settle = time.Hour // after the flip there must be time to see that a removal is refused
	w.controller(opts)
	w.eventuallySettling()
	w.triesAgain()
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated), "one version, nothing to migrate")

	// T1: v1 is added, v1alpha1 keeps the storage.
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		v1 := *crd.Spec.Versions[0].DeepCopy()
		v1.Name, v1.Storage = "v1", false
		crd.Spec.Versions = append(crd.Spec.Versions, v1)
	})
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated), "the proof reaches over a change that leaves the storage version alone")
	w.Expect(w.Writes()).To(BeZero())

	// T2: the storage moves to v1. Removing v1alpha1 now is refused.
	w.Flip("v1")
	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(MatchError(ContainSubstring("spec.versions")))
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
	w.eventuallySettling()
	w.triesAgain()
	w.eventuallyMigrated(50)

	// T3: v1alpha1 is no longer served.
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
	w.eventuallyMigrated(50)

	// T4: v1alpha1 goes.
	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(Succeed())
	w.Eventually(w.speaksOfNow, soon).Should(BeTrue())
	w.eventuallyMigrated(50)
	w.Expect(w.Writes()).To(BeEquivalentTo(50), "each object was written once in its life")
}

// speaksOfNow reports whether the condition is about the CRD as it is.
func (w *world) speaksOfNow() bool {
	return v1alpha1.SpeaksOf(w.Condition().Message, w.Live().Generation)
}

func TestTerminatingObjectsAreMigratedAndKeepTheirFinalizers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	w.Create(10, builders.Each(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/hold"}) }))
	client := w.Objects("v1alpha1")
	w.Expect(client.Delete(w.ctx, "object-00003", metav1.DeleteOptions{})).To(Succeed())
	t.Cleanup(func() {
		for i := range 10 {
			_, _ = client.Patch(context.Background(), fmt.Sprintf("object-%05d", i), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	})
	w.Flip("v1")
	w.controller(w.quick())
	w.eventuallyMigrated(10)
	terminating, err := w.Objects("v1").Get(w.ctx, "object-00003", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(terminating.GetDeletionTimestamp()).NotTo(BeNil())
	w.Expect(terminating.GetFinalizers()).To(Equal([]string{"example.com/hold"}))
}

func TestObjectsDeletedAndMadeAnewMeanwhileDoNoHarm(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	opts := w.quick()
	opts.PageSize, opts.MaxInFlight = 10, 1
	client := w.Objects("v1")
	w.controller(opts)
	for i := 99; i >= 70; i-- {
		name := fmt.Sprintf("object-%05d", i)
		w.Expect(client.Delete(w.ctx, name, metav1.DeleteOptions{})).To(Succeed())
		if i%2 == 0 {
			w.Expect(builders.CreateObjects(w.ctx, cp.Config, w.GR.WithVersion("v1"), "default", 1, builders.Prefix(name))).To(Succeed())
		}
	}
	w.eventuallyMigrated(85)
}

func TestTheCRDIsDeletedInMidPass(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 100)
	opts := w.quick()
	opts.MaxInFlight, opts.Settle = 1, time.Minute
	stop := w.controller(opts)
	w.Eventually(w.Reason, soon).ShouldNot(BeEmpty())
	w.Expect(w.CRDs().Delete(w.ctx, w.crd.Name, metav1.DeleteOptions{})).To(Succeed())
	w.Eventually(func() error {
		_, err := w.CRDs().Get(w.ctx, w.crd.Name, metav1.GetOptions{})
		return err
	}, soon).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	stop()
}
