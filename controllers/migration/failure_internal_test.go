package migration

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/builders"
)

// The right that is missing may be one to read the CRD itself.
func TestAMissingPermissionNamesTheResourceThatWasRefused(t *testing.T) {
	g := NewWithT(t)
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1").Build()
	refused := func(group, resource, verb string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "x",
			errors.New(`User "moult" cannot `+verb+` resource "`+resource+`" in API group "`+group+`" at the cluster scope`))
	}
	of := func(err error) string {
		f := stoppedFailure(crd, rewrite.Result{}, rewrite.StoppedBy(err))
		g.Expect(f.Reason).To(Equal(v1alpha1.ReasonForbidden))
		return f.Public
	}
	g.Expect(of(refused("apiextensions.k8s.io", "customresourcedefinitions", "get"))).
		To(ContainSubstring(`{apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get"]}`))
	g.Expect(of(refused("example.com", "widgets", "patch"))).To(ContainSubstring(`{apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get", "list", "patch"]}`))
	g.Expect(stoppedFailure(crd, rewrite.Result{}, rewrite.StoppedBy(errors.New("no answer"))).Reason).To(Equal(v1alpha1.ReasonUnavailable))
}
