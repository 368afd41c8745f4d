package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/e2e/tools"
)

func TestTools(t *testing.T) {
	all := map[string]struct {
		find func() (tools.Tool, error)
		crds string
	}{
		"Argo CD has its CRDs beside its source":              {tools.ArgoCD, "manifests/crds/application-crd.yaml"},
		"kubectl has none":                                    {tools.Kubectl, "cmd/kubectl/kubectl.go"},
		"kustomize has none":                                  {tools.Kustomize, "main.go"},
		"kustomize-controller has its CRDs beside its source": {tools.KustomizeController, "config/crd/bases"},
	}
	for name, tool := range all {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, err := tool.find()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Binary).To(BeARegularFile())
			g.Expect(found.Binary).To(ContainSubstring(found.Version))
			_, err = os.Stat(filepath.Join(found.Source, tool.crds))
			g.Expect(err).NotTo(HaveOccurred())
		})
		t.Run(name+"; the make target is named when it is not built", func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			_, err := tool.find()
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("make e2e-tools")))
		})
	}
	t.Run("source-controller has its CRDs beside its source", func(t *testing.T) {
		g := NewWithT(t)
		source, err := tools.SourceController()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(filepath.Join(source, "config/crd/bases")).To(BeADirectory())
	})
}
