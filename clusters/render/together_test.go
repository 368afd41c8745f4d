package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// A CRD of megabytes with a dozen patches took minutes, with one for all of them it takes seconds.
func TestPatchesOfOneSpecAreOne(t *testing.T) {
	const (
		rename = "- patch: '[{\"op\": \"replace\", \"path\": \"/spec/names/kind\", \"value\": \"Gadget\"}]'\n  target: {kind: CustomResourceDefinition}\n"
		again  = "- path: again.yaml\n  target: {kind: CustomResourceDefinition}\n"
		title  = "- patch: |-\n    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/title, value: x}\n  target: {kind: CustomResourceDefinition}\n"
	)
	for name, c := range map[string]struct {
		patches string
		left    int
	}{
		"one":                {title, 1},
		"several":            {rename + again + title, 1},
		"another between":    {rename + "- patch: '- {op: add, path: /metadata/annotations, value: {a: b}}'\n  target: {kind: CustomResourceDefinition}\n" + again + title, 3},
		"another target":     {rename + strings.Replace(again, "kind:", "version: v1, kind:", 1) + title, 3},
		"with options":       {rename + again + "  options: {allowNameChange: true}\n" + title, 3},
		"copies of metadata": {rename + "- patch: '- {op: copy, from: /metadata/name, path: /spec/names/singular}'\n  target: {kind: CustomResourceDefinition}\n" + again + title, 3},
		"a merge between":    {rename + "- patch: '{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {names: {singular: x}}}'\n" + again + title, 3},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := NewWithT(t), t.TempDir()
			kustomization := "resources: [crd.yaml]\npatches:\n" + c.patches
			for file, content := range map[string]string{
				"kustomization.yaml": kustomization, "crd.yaml": crdWith("widgets", "type: object"),
				"again.yaml": "- {op: test, path: /spec/names/kind, value: Gadget}\n- {op: replace, path: /spec/names/kind, value: Thing}\n",
			} {
				g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600)).To(Succeed())
			}
			var k types.Kustomization
			o := &overlay{FileSystem: filesys.MakeFsOnDisk(), read: map[string]bool{}}
			g.Expect(k.Unmarshal(o.together(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization)))).To(Succeed())
			g.Expect(k.Patches).To(HaveLen(c.left))
			built, err := Folder(dir, Options{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(built.Files).To(HaveLen(2 + strings.Count(c.patches, "path: again")))
			crd := built.Objects[0]
			if c.patches != title {
				g.Expect(crd.Text("spec", "names", "kind")).To(Equal("Thing"), "one after the other")
			}
		})
	}
}
