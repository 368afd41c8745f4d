package removal_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// pullRequest is what the API server asks of a CRD in a group of Kubernetes' own.
const pullRequest = "https://github.com/kubernetes/kubernetes/pull/78458"

// Such objects are from before the resource was built in. The API server answers with its own, from another place in etcd.
func TestACRDWithTheNameOfABuiltInResourceIsNotMigrated(t *testing.T) {
	t.Parallel()
	g := newGate(t, "networking.k8s.io")
	g.GR.Resource = "ingresses"
	crd := builders.CRD(g.GR.Group, g.GR.Resource).Versions("v1alpha9", "v1").Storage("v1alpha9").OptedIn().Annotation("api-approved.kubernetes.io", pullRequest).Build()
	_, err := g.CRDs().Create(t.Context(), crd, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = g.CRDs().Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}) })
	g.Expect(cp.Etcd().Put(t.Context(), g.GR, "default", "custom", []byte(`{"apiVersion":"networking.k8s.io/v1alpha9","kind":"`+crd.Spec.Names.Kind+`",
		"metadata":{"name":"custom","namespace":"default","uid":"11111111-1111-4111-8111-111111111111","creationTimestamp":"2026-01-01T00:00:00Z","generation":1}}`))).To(Succeed())
	g.Flip("v1")
	g.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1alpha9"} })
	g.moult()
	g.eventually("False NotEstablished Reconciling")
	g.Expect(g.Condition().Message).To(And(ContainSubstring("at v1 with a built-in resource of that name"), ContainSubstring("Take the opt-in label off the CRD")))
	g.Expect(g.StoredVersions()).To(Equal([]string{"v1alpha9", "v1"}))
	g.Expect(g.Stored()).To(Equal(map[string]int{"v1alpha9": 1}))
}

func TestACRDInAGroupOfKubernetesOwnIsMigrated(t *testing.T) {
	t.Parallel()
	group := builders.UniqueGroup(t) + ".k8s.io"
	g := newGate(t, group)
	g.install(builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Annotation("api-approved.kubernetes.io", pullRequest), 3)
	g.Flip("v1")
	g.Ask()
	g.moult()
	g.eventually("True SafeToRemove")
}
