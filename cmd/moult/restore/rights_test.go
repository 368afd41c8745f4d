package restore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
)

// The role of examples/backup is enough for a backup, and what the help says for a restore.
func TestTheRightsThatAreNeeded(t *testing.T) {
	w := ownedBy(t, 3, func(int) int { return 0 })
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "backup", "role.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	role := rbacv1.ClusterRole{}
	w.Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(string(content), "example.com", w.CRD.Spec.Group)), &role)).To(Succeed())
	w.Expect(role.Rules).To(HaveLen(2))
	w.Expect(role.Rules[0].ResourceNames).To(Equal([]string{w.CRD.Name}))
	as := w.KubeconfigAs(role.Rules...)
	got := suite.Moult.Run(t, "backup", w.CRD.Name, "-f", w.file, "--annotate", "--kubeconfig", as)
	w.Expect(got.Code).To(Equal(0), got.ErrOut)
	w.Expect(w.Live().Annotations).To(HaveKey(v1alpha1.BackupAnnotation))
	was := w.all("v1")
	w.delete()

	group := w.CRD.Spec.Group
	got = suite.Moult.Run(t, "restore", "-f", w.file, "--kubeconfig", w.KubeconfigAs(
		running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get"),
		running.Rule(group, "widgets", "get", "create", "patch"), running.Rule(group, "widgets/status", "update"),
	))
	w.Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
	w.Expect(w.all("v1")).To(Equal(was))
}
