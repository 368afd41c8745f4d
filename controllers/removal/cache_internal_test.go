package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestWhatIsKeptOfAVersionRemoval(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 250<<10)
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{
			Name: "r", Namespace: "ns", UID: "u", Generation: 2, ResourceVersion: "7",
			Labels:        map[string]string{fluxName: "k", "example.com/l": "v"},
			Annotations:   map[string]string{v1alpha1.PausedAnnotation: "true", "reconcile.fluxcd.io/requestedAt": long, "example.com/a": long},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec:   v1alpha1.VersionRemovalSpec{CRDName: "widgets.example.com", Versions: []string{"v1alpha1"}},
		Status: v1alpha1.VersionRemovalStatus{ObservedGeneration: 2, LastHandledReconcileAt: long},
	}
	for range 2 { // client-go calls it twice for what it streams
		_, err := slim(removal)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(removal).To(Equal(&v1alpha1.VersionRemoval{
			ObjectMeta: metav1.ObjectMeta{
				Name: "r", Namespace: "ns", UID: "u", Generation: 2, ResourceVersion: "7", Labels: map[string]string{fluxName: "k"},
				Annotations: map[string]string{v1alpha1.PausedAnnotation: "true", "reconcile.fluxcd.io/requestedAt": long[:1024] + "…"},
			},
			Spec:   v1alpha1.VersionRemovalSpec{CRDName: "widgets.example.com", Versions: []string{"v1alpha1"}},
			Status: v1alpha1.VersionRemovalStatus{ObservedGeneration: 2, LastHandledReconcileAt: long[:1024] + "…"},
		}))
	}
}

// A client that may patch the status of a VersionRemoval may fill it.
func TestAStatusIsKeptAsFarAsMoultWritesOne(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("é", 600<<10)
	removal := &v1alpha1.VersionRemoval{Status: v1alpha1.VersionRemovalStatus{
		StoredVersions: append(make([]string, 450_000), "v1"),
		Conditions:     make([]metav1.Condition, 1000),
		Blockers:       []v1alpha1.Blocker{{Kind: long, Message: long, Action: "do"}},
		Warnings:       make([]v1alpha1.Blocker, 1000),
		Proof:          &v1alpha1.ProofStatus{UID: long, StorageVersion: long},
		Progress:       &v1alpha1.ProgressStatus{Summary: long},
	}}
	_, err := slim(removal)
	g.Expect(err).NotTo(HaveOccurred())
	kept, err := json.Marshal(removal.Status)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(kept)).To(BeNumerically("<", 32<<10))
	g.Expect(cap(removal.Status.StoredVersions)).To(BeNumerically("<", 100))
}

// etcd refuses what is longer than 1.5 MiB, and in JSON a character may take six bytes. A gate whose answer cannot be written stays as
// it was, which may be open. The messages of conditions are cut by the library that sets them.
func TestAnAnswerFitsHoweverItIsEscaped(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("<", 300<<10)
	status := v1alpha1.VersionRemovalStatus{}
	for range 2 * maxBlockers {
		status.Blockers = append(status.Blockers, v1alpha1.Blocker{Kind: "k", Message: long, Action: long})
	}
	status.Warnings = slices.Clone(status.Blockers)
	slimStatus(&status)
	raw, err := json.Marshal(status)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 1000<<10))
	again := status.DeepCopy()
	slimStatus(again)
	g.Expect(*again).To(Equal(status), "or an answer would be news for ever")
}

func TestWhetherACRDMayBeApprovedIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   bool
	}{
		"its status has the condition": {`{"f:status":{"f:conditions":{"k:{\"type\":\"VersionsRemovable\"}":{".":{},"f:type":{}}}}}`, true},
		"it has not":                   {`{"f:status":{"f:storedVersions":{}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Name: "widgets.example.com", UID: "u", Generation: 2, ResourceVersion: "7", Labels: map[string]string{"a": "b"}, CreationTimestamp: metav1.Now(),
				Annotations:   map[string]string{v1alpha1.VersionsRemovable: "true"},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(c.fields)}},
			}}
			for range 2 {
				_, err := slim(crd)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(mayBeApproved(crd)).To(Equal(c.want))
				g.Expect(crd.ObjectMeta).To(Equal(metav1.ObjectMeta{Name: "widgets.example.com", UID: "u", ResourceVersion: "7", Generation: 2, Annotations: crd.Annotations}))
				g.Expect(crd.Annotations).To(HaveLen(1))
			}
		})
	}
}

// An API server that does not stream answers a list whole if it is not asked for pages, and of what etcd holds now.
func TestAListComesInPages(t *testing.T) {
	g := NewWithT(t)
	const n = 2*pageSize + 3
	var asked []metav1.ListOptions
	lw := inPages(&toolscache.ListWatch{ListWithContextFunc: func(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		asked = append(asked, opts)
		from := 0
		if opts.Continue != "" {
			_, _ = fmt.Sscan(opts.Continue, &from)
		}
		list := &v1alpha1.VersionRemovalList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
		for i := from; i < min(from+int(opts.Limit), n); i++ {
			list.Items = append(list.Items, v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Annotations: map[string]string{"heavy": "x"}}})
		}
		if to := from + int(opts.Limit); to < n {
			list.Continue = fmt.Sprint(to)
		}
		return list, nil
	}})
	got, err := lw.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	g.Expect(err).NotTo(HaveOccurred())
	list, ok := got.(*v1alpha1.VersionRemovalList)
	g.Expect(ok).To(BeTrue())
	g.Expect(list.ResourceVersion).To(Equal("7"))
	g.Expect(list.Continue).To(BeEmpty())
	g.Expect(list.Items).To(HaveLen(n))
	for i := range list.Items {
		g.Expect(list.Items[i].Name).To(Equal(fmt.Sprint(i)))
		g.Expect(list.Items[i].Annotations).To(BeEmpty())
	}
	g.Expect(asked).To(Equal([]metav1.ListOptions{{Limit: pageSize}, {Limit: pageSize, Continue: fmt.Sprint(pageSize)}, {Limit: pageSize, Continue: fmt.Sprint(2 * pageSize)}}))
}
