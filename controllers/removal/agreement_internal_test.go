package removal

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestTheAgreement(t *testing.T) {
	of := func(v vote, versions ...string) ballot { return ballot{versions: versions, vote: v} }
	a, both, none := []string{"v1alpha1"}, []string{"v1alpha1", "v1beta1"}, []string(nil)
	for name, c := range map[string]struct {
		ballots    []ballot
		said, want []string
	}{
		"nobody asks":                                    {nil, a, none},
		"one has found it safe":                          {[]ballot{of(agrees, "v1alpha1")}, none, a},
		"a version that the CRD does not have":           {[]ballot{of(agrees, "v1alpha1", "v2")}, none, a},
		"one has not":                                    {[]ballot{of(objects, "v1alpha1")}, a, none},
		"each of its own versions":                       {[]ballot{of(agrees, "v1beta1"), of(agrees, "v1alpha1")}, none, both},
		"one objects to one version":                     {[]ballot{of(agrees, "v1alpha1", "v1beta1"), of(objects, "v1beta1")}, both, a},
		"one of before does not add":                     {[]ballot{of(agreed, "v1alpha1")}, none, none},
		"one of before keeps":                            {[]ballot{of(agreed, "v1alpha1")}, a, a},
		"one of before is waited for":                    {[]ballot{of(agrees, "v1alpha1"), of(agreed, "v1alpha1")}, none, none},
		"one of before keeps beside one of now":          {[]ballot{of(agrees, "v1alpha1"), of(agreed, "v1alpha1")}, a, a},
		"one of before keeps nothing against another":    {[]ballot{of(agreed, "v1alpha1"), of(objects, "v1alpha1")}, a, none},
		"what was said and is asked for no more is gone": {[]ballot{of(agrees, "v1alpha1")}, both, a},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(agreement(both, c.ballots, c.said)).To(Equal(c.want))
		})
	}
}

// Tenants may make up any number of versions.
func TestVersionsThatTheCRDDoesNotHaveCostNothing(t *testing.T) {
	cost := func(names int) float64 {
		ballots := make([]ballot, names)
		for i := range ballots {
			ballots[i] = ballot{versions: []string{fmt.Sprintf("v%d", i+2)}, vote: objects}
		}
		return testing.AllocsPerRun(1, func() { agreement([]string{"v1alpha1", "v1"}, ballots, nil) })
	}
	NewWithT(t).Expect(cost(10_000)).To(Equal(cost(10)))
}

func TestWhatACRDSays(t *testing.T) {
	const ours = `{"f:status":{"f:conditions":{"k:{\"type\":\"VersionsRemovable\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	const keyOnly = `{"f:status":{"f:conditions":{"k:{\"type\":\"VersionsRemovable\"}":{".":{},"f:type":{}}}}}`
	for name, c := range map[string]struct {
		status  apiextensionsv1.ConditionStatus
		message string
		fields  string
		want    []string
	}{
		"two versions":                        {"True", "generation 3: v1alpha1, v1beta1", ours, []string{"v1alpha1", "v1beta1"}},
		"of another generation":               {"True", "generation 2: v1alpha1", ours, nil},
		"a denial":                            {"False", "generation 3: no VersionRemoval has found a version safe to remove", ours, nil},
		"somebody else has changed what ours": {"True", "generation 3: v1alpha1", keyOnly, nil},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Generation: 3, ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: v1alpha1.RemovalFieldManager, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status", FieldsV1: metav1.NewFieldsV1(c.fields),
			}}}}
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: v1alpha1.VersionsRemovable, Status: c.status, Message: c.message}}
			NewWithT(t).Expect(said(crd, v1alpha1.RemovalFieldManager)).To(Equal(c.want))
		})
	}
}
