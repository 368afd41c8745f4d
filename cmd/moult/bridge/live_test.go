package bridge

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
)

// A cluster skips the release that had both versions. What is printed is taken by the API server, the objects are
// migrated, the new CRD is taken as well, and no object is lost.
func TestABridgeLeadsFromOneReleaseToTheNextButOne(t *testing.T) {
	group := builders.UniqueGroup(t)
	label := group + "/migrate"
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1"))
	w.Create(30)
	head := builders.CRD(group, "widgets").Versions("v1").Build()
	head.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	text, err := yaml.Marshal(head)
	w.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "head.yaml")
	w.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	w.Expect(takes(w, head)).To(MatchError(ContainSubstring("storedVersions")), "that is why there has to be something in between")

	got := w.Run("bridge", "--live", "--context", contextName(w), "--head", file)
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	between := &apiextensionsv1.CustomResourceDefinition{}
	w.Expect(yaml.UnmarshalStrict([]byte(got.Out), between)).To(Succeed())
	w.Expect(between.Labels).To(HaveKeyWithValue(label, "true"))
	w.Expect(takes(w, between)).To(Succeed())
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 30}), "nothing is rewritten yet")
	w.Expect(builders.WaitServed(t.Context(), cp.Config, between)).To(Succeed())

	got = w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(takes(w, head)).To(Succeed())
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 30}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
	w.Eventually(func() (int, error) {
		list, err := w.Objects("v1").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		return len(list.Items), nil
	}, "2m").Should(Equal(30))

	got = w.Run("bridge", "--live", "--context", contextName(w), "--head", file)
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), "there is nothing to bridge any more")
}

// takes reports whether the API server takes a CRD in place of what it has.
func takes(w *clitest.World, crd *apiextensionsv1.CustomResourceDefinition) error {
	return builders.Update(w.T.Context(), cp.Config, crd.Name, func(live *apiextensionsv1.CustomResourceDefinition) {
		live.Labels, live.Spec = crd.Labels, *crd.Spec.DeepCopy()
	})
}

// contextName is the name of the control plane's context in the kubeconfig.
func contextName(w *clitest.World) string {
	w.T.Helper()
	content, err := cp.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(content)
	w.Expect(err).NotTo(HaveOccurred())
	return config.CurrentContext
}
