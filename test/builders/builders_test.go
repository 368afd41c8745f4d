package builders_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Run(m, &cp) }

func TestBuilderMakesWhatItsMethodsSay(t *testing.T) {
	g := NewWithT(t)
	builder := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1beta1").
		Unserved("v1alpha1").ClusterScoped().OptedIn().Label("team", "a").Annotation("note", "b").WithStatus().
		ConversionWebhook("https://127.0.0.1:1/", []byte("pem"))
	crd := builder.Build()

	g.Expect(crd.Name).To(Equal("widgets.example.com"))
	g.Expect(crd.Spec.Names.Kind).To(Equal("Widget"))
	g.Expect(crd.Spec.Scope).To(Equal(apiextensionsv1.ClusterScoped))
	g.Expect(crd.Labels).To(Equal(map[string]string{"moult.dev/migrate": "true", "team": "a"}))
	g.Expect(crd.Annotations).To(Equal(map[string]string{"note": "b"}))
	g.Expect(*crd.Spec.Conversion.Webhook.ClientConfig.URL).To(Equal("https://127.0.0.1:1/"))

	type version struct {
		name            string
		served, storage bool
	}
	var versions []version
	for _, v := range crd.Spec.Versions {
		versions = append(versions, version{v.Name, v.Served, v.Storage})
		g.Expect(v.Subresources.Status).NotTo(BeNil())
	}
	g.Expect(versions).To(HaveExactElements(version{"v1alpha1", false, false}, version{"v1beta1", true, true}, version{"v1", true, false}))

	builder.Label("team", "c")
	g.Expect(crd.Labels).To(HaveKeyWithValue("team", "a"), "what was built is a copy")
}

func TestGroupsAreUnique(t *testing.T) {
	g := NewWithT(t)
	g.Expect(builders.UniqueGroup(t)).NotTo(Equal(builders.UniqueGroup(t)))
	t.Run("A name with spaces, (brackets) and far more letters than a DNS label may have", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(builders.UniqueGroup(t)).To(MatchRegexp(`^t-[a-z0-9-]{1,50}\.example\.com$`))
	})
}

func TestCRDLivesFromFlipToRemoval(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").WithStatus().Build()
	gvr := builders.Resource(crd, "v1")
	running.Install(t, cp, crd)
	g.Expect(builders.FlipStorage(ctx, cp.Config, crd.Name, "v1")).To(Succeed())

	err := builders.RemoveVersion(ctx, cp.Config, crd.Name, "v1alpha1")
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "still in status.storedVersions: %v", err)
	refusal := "must appear in spec.versions"
	if cp.Minor >= 33 {
		refusal = "missing from spec.versions; v1alpha1 was previously a storage version"
	}
	g.Expect(err).To(MatchError(ContainSubstring(refusal)))

	// The API server may still be replacing the storage: creating must get through all the same.
	g.Expect(builders.CreateObjects(ctx, cp.Config, gvr, "default", 200,
		builders.Prefix("big"), builders.Payload(3000), builders.Each(func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"made-by": "test"})
		}))).To(Succeed())
	client, err := dynamic.NewForConfig(cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	list, err := client.Resource(gvr).List(ctx, metav1.ListOptions{LabelSelector: "made-by=test"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(list.Items).To(HaveLen(200))
	g.Expect(list.Items[199].GetName()).To(Equal("big-00199"))
	raw, err := cp.Etcd().Raw(ctx, gvr.GroupResource(), "default", "big-00199")
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("an object with a payload of 3000 bytes is stored in %d", len(raw))
}

func TestCreatingTheSameObjectsTwiceFails(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "gadgets").Build()
	running.Install(t, cp, crd)
	gvr := builders.Resource(crd, "v1")
	g.Expect(builders.CreateObjects(t.Context(), cp.Config, gvr, "default", 3)).To(Succeed())
	g.Expect(builders.CreateObjects(t.Context(), cp.Config, gvr, "default", 3)).To(MatchError(ContainSubstring("already exists")))
}
