package migration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/test/builders"
)

// A tenant's object may have a key of half a megabyte. It is named in the message three times.
func TestALongFieldNameIsCut(t *testing.T) {
	g := NewWithT(t)
	f := &fields{storage: "v1", why: "objects would lose"}
	object := map[string]any{"metadata": map[string]any{"namespace": "team-a", "name": "rose"}}
	f.losses = f.count(nil, "v1alpha1", "spec."+strings.Repeat("x", 600<<10), object)
	g.Expect(f.failure().Message).To(And(ContainSubstring("team-a/rose"), ContainSubstring("spec.xxx")))
	g.Expect(len(f.failure().Message)).To(BeNumerically("<", 2000))
}

// Tenants, webhooks and the API server may write any length. What is said of objects has a bound, since it goes into the status of a CRD
// and of VersionRemovals.
func TestWhatIsSaidOfObjectsIsCut(t *testing.T) {
	g := NewWithT(t)
	f := &fields{storage: "v1", why: "objects would lose"}
	for i := range 150 {
		f.losses = f.count(f.losses, "v1alpha1", fmt.Sprintf("spec.%03d%s", i, strings.Repeat("é", 1000)), map[string]any{})
	}
	quoted := errors.New(strings.Repeat("no", 1<<20))
	for _, failed := range []*plan.Failure{
		f.failure(), failureOf(nil, rewrite.Result{}, quoted), failureOf(nil, rewrite.Result{}, &rewrite.Stopped{Cause: rewrite.Unavailable, Err: quoted}),
		forbiddenFailure(quoted, "example.com", "widgets", "get"),
	} {
		g.Expect(len(failed.Public)+len(failed.Message)).To(BeNumerically("<", 6*maxFailure), failed.Reason)
	}
}

// Any tenant may make up names of field managers, and what one has lost is remembered for good.
func TestLossesOfMadeUpManagersAreForgotten(t *testing.T) {
	g := NewWithT(t)
	var known []plan.Loss
	for walk := range 3 {
		var lost []plan.Loss
		for i := range 100 {
			lost = append(lost, plan.Loss{Manager: fmt.Sprintf("made-up-%d-%d", walk, i)})
		}
		known = lossesAfter(known, append(lost, plan.Loss{Manager: "waits", Waits: true}))
	}
	g.Expect(known).To(HaveLen(maxLosses + 1))
	g.Expect(known[maxLosses].Waits).To(BeTrue(), "it holds a gate")
}

// A CRD may have thousands of versions, of which each lacks other fields.
func TestOfManyVersionsNotAllLossesAreKept(t *testing.T) {
	g := NewWithT(t)
	var of []rewrite.FieldLoss
	for i := range 3 * maxFieldLosses {
		of = most(append(of, rewrite.FieldLoss{Field: fmt.Sprint(i), Version: "v1alpha1", Allowed: i != 2*maxFieldLosses}))
	}
	g.Expect(of).To(HaveLen(maxFieldLosses))
	g.Expect(of).To(ContainElement(HaveField("Allowed", false)))

	crd := builders.CRD("example.com", "widgets").Versions("v1").Storage("v1").Build()
	for i := range 3 * maxFieldLosses {
		old := *crd.Spec.Versions[0].DeepCopy()
		old.Name, old.Served, old.Storage = fmt.Sprint("v1alpha", i+1), false, false
		old.Schema.OpenAPIV3Schema.Properties["more"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			strings.Repeat("a", 90): {Type: "string"}, strings.Repeat("b", 90): {Type: "string"},
		}}
		crd.Spec.Versions = append(crd.Spec.Versions, old)
		crd.Status.StoredVersions = append(crd.Status.StoredVersions, old.Name)
	}
	r := &Reconciler{}
	f, err := r.fieldsIn(crd)
	g.Expect(err).NotTo(HaveOccurred())
	fields := 0
	for _, u := range f.unseen {
		fields += len(u.fields)
	}
	g.Expect(f.unseen).To(HaveLen(3 * maxFieldLosses))
	g.Expect(fields).To(BeNumerically("<", 4*maxFieldLosses))
}

func TestWhatAWalkThatIsStoppedHasCostIsAdded(t *testing.T) {
	loss := func(manager string, objects int64, waits bool) plan.Loss {
		return plan.Loss{Manager: manager, Version: "v1alpha1", Objects: objects, Waits: waits}
	}
	NewWithT(t).Expect(lossesOnTheWay([]plan.Loss{loss("a", 2, false), loss("b", 1, true)}, []plan.Loss{loss("a", 3, false), loss("c", 1, false)})).To(
		ConsistOf(loss("a", 5, false), loss("b", 1, true), loss("c", 1, false)))
}
