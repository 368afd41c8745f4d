package files

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
)

func TestOpenPathsMeanWhatTheyMayLeadTo(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	for _, file := range []string{"apps/c/values-prod.yaml", "apps/c/envs/prod/values.yaml", "apps/c/Chart.yaml", "envs/values-prod.yaml", "renovate.json", ".git/values-x.yaml"} {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(root, file), nil, 0o600)).To(Succeed())
	}
	tree := Of(&repository.Tree{Root: root, Dir: root})
	for _, c := range []struct {
		below, pattern string
		want           []string
	}{
		{"apps/c", "values-{{ .Values.env }}.yaml", []string{"apps/c/values-prod.yaml"}},
		{"apps/c", "./values-*.yaml", []string{"apps/c/values-prod.yaml"}},
		{"apps/c", "envs/${ARGOCD_ENV_X}/values.yaml", []string{"apps/c/envs/prod/values.yaml"}},
		{"apps/c", "envs/[a-z]*/values.{yaml,yml}", []string{"apps/c/envs/prod/values.yaml"}},
		{"apps/c", "env", nil},
		{"apps/c", "{{ .env }}.yaml", []string{"apps/c/Chart.yaml", "apps/c/envs/prod/values.yaml", "apps/c/values-prod.yaml", "envs/values-prod.yaml"}},
		{"apps/c", "../../envs/values-*.yaml", []string{"envs/values-prod.yaml"}},
		{"", "values-$ENV.yaml", []string{"apps/c/values-prod.yaml", "envs/values-prod.yaml"}},
		{"apps/c", "values-$ENV", []string{"apps/c/values-prod.yaml"}},
		{"apps/c", "**", []string{"apps/c/Chart.yaml", "apps/c/envs/prod/values.yaml", "apps/c/values-prod.yaml", "envs/values-prod.yaml", "renovate.json"}},
	} {
		below := c.below
		if below != "" {
			below = filepath.Join(root, below)
		}
		var found []string
		for _, file := range tree.Matching(below, c.pattern) {
			found = append(found, tree.Relative(file))
		}
		g.Expect(found).To(Equal(c.want), c.pattern)
	}
}
