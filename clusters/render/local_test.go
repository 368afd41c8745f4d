package render

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A program that a kustomization runs may read any file beside it.
func TestBesideAProgramEachFileMayBeBuilt(t *testing.T) {
	generator := "apiVersion: v1\nkind: Any\nmetadata: {name: g, annotations: {config.kubernetes.io/function: 'exec: {path: ./gen.sh}'}}\n"
	for name, c := range map[string]struct {
		files  map[string]string
		folder bool
	}{
		"in a file":            {map[string]string{"kustomization.yaml": "generators: [g.yaml]\n", "g.yaml": generator, "gen.sh": "echo"}, true},
		"by an older name":     {map[string]string{"kustomization.yaml": "generators: [g.yaml]\n", "g.yaml": strings.Replace(generator, "kubernetes", "k8s", 1), "gen.sh": "echo"}, true},
		"in the kustomization": {map[string]string{"kustomization.yaml": "transformers:\n- |\n  kind: Any\n  metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: ./gen.sh}'}}\n", "gen.sh": "echo"}, true},
		"none":                 {map[string]string{"kustomization.yaml": "transformers: [g.yaml]\n", "g.yaml": "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: g}\n", "gen.sh": "echo"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, c.files)
			NewWithT(t).Expect(Local(dir, dir)).To(WithTransform(func(files []string) bool {
				for _, file := range files {
					if file == dir {
						return true
					}
				}
				return false
			}, Equal(c.folder)))
		})
	}
}
