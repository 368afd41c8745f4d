// Package manifests builds the kustomizations that people install from.
package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

const root = "../.."

// build builds a kustomization of the test's own, beside the project's.
func build(t *testing.T, files map[string]string) resmap.ResMap {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), write(t, files))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return built
}

// write writes files into a folder of the test's own. PROJECT stands for the way from there to the repository.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	g := NewWithT(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	here, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	project, err := filepath.Rel(dir, here)
	g.Expect(err).NotTo(HaveOccurred())
	for name, content := range files {
		content = strings.ReplaceAll(content, "PROJECT", project)
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
	}
	return dir
}

func manifest(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	raw, err := yaml.Marshal(crd)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" + string(raw)
}

func TestTheOptInComponentLabelsCRDsAndNothingElse(t *testing.T) {
	g := NewWithT(t)
	bare := builders.CRD("bare.example.com", "widgets").Versions("v1", "v1alpha1", "v1beta1").Build()
	labelled := builders.CRD("labelled.example.com", "widgets").Versions("v1alpha1", "v1").Label("team", "a").Build()
	built := build(t, map[string]string{
		"kustomization.yaml": "resources: [bare.yaml, labelled.yaml, other.yaml]\ncomponents: [PROJECT/clusters/components/opt-in]\n",
		"bare.yaml":          manifest(t, bare),
		"labelled.yaml":      manifest(t, labelled),
		"other.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
	})
	g.Expect(built.Resources()).To(HaveLen(3))
	for _, resource := range built.Resources() {
		if resource.GetKind() != "CustomResourceDefinition" {
			g.Expect(resource.GetLabels()).To(BeEmpty())
			continue
		}
		want := bare
		if strings.HasPrefix(resource.GetName(), "widgets.labelled") {
			want = labelled
		}
		want = want.DeepCopy()
		if want.Labels == nil {
			want.Labels = map[string]string{}
		}
		want.Labels[v1alpha1.MigrateLabel] = v1alpha1.MigrateLabelValue
		raw, err := resource.AsYAML()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(raw)).To(MatchYAML(manifest(t, want)), "the label is all that has changed")
	}
}

func TestTheGatesCRDIsOptedInItself(t *testing.T) {
	g := NewWithT(t)
	raw, err := os.ReadFile(root + "/clusters/base/crds/moult.dev_versionremovals.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.Unmarshal(raw, crd)).To(Succeed())
	g.Expect(crd.Labels).To(HaveKeyWithValue(v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue))
}
