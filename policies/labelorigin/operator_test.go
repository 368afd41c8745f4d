package labelorigin_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/policies/labelorigin"
)

// A person with kubectl, and a tool that applies files, has a manifest. What else writes the versions of a CRD is an operator.
func TestAnOperatorIsNeitherAPersonNorATool(t *testing.T) {
	const versions = `{"f:spec":{"f:versions":{}}}`
	operator := applied("cilium-operator-generic", 2, versions)
	for name, c := range map[string]struct {
		managedFields []metav1.ManagedFieldsEntry
		operator      bool
	}{
		"nobody":                            {nil, false},
		"an operator":                       {[]metav1.ManagedFieldsEntry{operator}, true},
		"an operator that creates":          {[]metav1.ManagedFieldsEntry{updated("crossplane", 2, versions)}, true},
		"kubectl apply":                     {[]metav1.ManagedFieldsEntry{updated("kubectl-client-side-apply", 2, versions)}, false},
		"kubectl apply --server-side":       {[]metav1.ManagedFieldsEntry{applied("kubectl", 2, versions)}, false},
		"kubectl create":                    {[]metav1.ManagedFieldsEntry{updated("kubectl-create", 2, versions)}, false},
		"kubectl edit":                      {[]metav1.ManagedFieldsEntry{updated("kubectl-edit", 2, versions)}, false},
		"Terraform":                         {[]metav1.ManagedFieldsEntry{applied("Terraform", 2, versions)}, false},
		"Pulumi":                            {[]metav1.ManagedFieldsEntry{applied("pulumi-kubernetes-1a2b3c4d", 2, versions)}, false},
		"kapp":                              {[]metav1.ManagedFieldsEntry{updated("kapp-server", 2, versions)}, false},
		"Flux":                              {[]metav1.ManagedFieldsEntry{applied("kustomize-controller", 2, versions)}, false},
		"kubectl apply, later than another": {[]metav1.ManagedFieldsEntry{operator, applied("kubectl", 3, versions)}, false},
		"an operator, later than kubectl":   {[]metav1.ManagedFieldsEntry{applied("kubectl", 1, versions), operator}, true},
		"what writes other fields":          {[]metav1.ManagedFieldsEntry{applied("cert-manager-cainjector", 2, `{"f:spec":{"f:conversion":{}}}`)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := labelorigin.Operator(&metav1.ObjectMeta{Name: "widgets.example.com", ManagedFields: c.managedFields})
			g.Expect(found != "").To(Equal(c.operator), found)
		})
	}
}
