package scan_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/clusters/repository"
)

// A repository may hold the same large CRDs in a dozen files.
func TestCopiesOfACRDShareTheirSpecAndKnowTheirPlaces(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	const crd = "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: widgets.example.com}\nspec:\n  group: example.com\n"
	for file, content := range map[string]string{"bundle/all.yaml": "kind: Namespace\napiVersion: v1\nmetadata: {name: w}\n---\n" + crd, "crds/w.yaml": crd} {
		g.Expect(os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600)).To(Succeed())
	}
	tree, err := repository.Open(t.Context(), dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer tree.Close()
	found, err := scan.CRDs(t.Context(), tree, nil, scan.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	all := found.CRDs()
	g.Expect(all).To(HaveLen(2))
	for i, want := range [][2]string{{"bundle/all.yaml:5", "bundle/all.yaml:9"}, {"crds/w.yaml:1", "crds/w.yaml:5"}} {
		g.Expect([2]string{all[i].Place().String(), all[i].Place("spec", "group").String()}).To(Equal(want))
	}
	same := reflect.ValueOf(all[0].Field("spec")).Pointer() == reflect.ValueOf(all[1].Field("spec")).Pointer()
	g.Expect(same).To(BeTrue(), "one spec in memory")
}
