package rehearse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
)

// An object is counted once, also if its CRD lies twice where CRDs are taken from, or if a backup and the cluster have it.
func TestAnObjectIsCountedOnce(t *testing.T) {
	w := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1"))
	w.Create(3, builders.By("flux"))
	folder := t.TempDir()
	put := func(file, storage string) {
		crd := builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1alpha1", "v1").Storage(storage).Build()
		crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
		content, err := yaml.Marshal(crd)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(os.WriteFile(filepath.Join(folder, file), content, 0o600)).To(Succeed())
	}
	backup := filepath.Join(t.TempDir(), "backup.tar.gz")
	w.Expect(w.Run("backup", w.CRD.Name, "-f", backup).Code).To(Equal(cli.ExitDone))
	config, err := clientcmd.LoadFromFile(w.Kubeconfig())
	w.Expect(err).NotTo(HaveOccurred())

	put("crd.yaml", "v1")
	got := w.Run("rehearse", "--crds", folder, "--objects", backup, "--context", config.CurrentContext)
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(strings.Split(got.Out, "\n")).To(ContainElements(
		w.CRD.Name+": 3 objects, to be stored at v1, read at v1alpha1; 3 come back the same",
		w.CRD.Name+" in "+backup+": 3 objects, to be stored at v1, read at v1alpha1; 3 come back the same"))

	stream := filepath.Join(t.TempDir(), "both.yaml")
	for second, says := range map[string]string{"v1": "3 objects, ", "v1alpha1": w.CRD.Name + " is in " + stream + " more than once, and differs: at "} {
		put("second.yaml", second)
		one, err := os.ReadFile(filepath.Join(folder, "crd.yaml"))
		w.Expect(err).NotTo(HaveOccurred())
		other, err := os.ReadFile(filepath.Join(folder, "second.yaml"))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(os.WriteFile(stream, append(append(one, "\n---\n"...), other...), 0o600)).To(Succeed())
		got := w.Run("rehearse", "--crds", stream)
		w.Expect(got.Out+got.ErrOut).To(ContainSubstring(says), second)
	}
}
