package ci_test

import (
	"slices"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	. "github.com/onsi/gomega"
)

// A pull request that may change a CRD, or what applies it, has to start the preview; what is documentation or a program's
// text need not.
func TestThePreviewRunsOnlyIfManifestsChange(t *testing.T) {
	var workflow struct {
		On struct {
			PullRequest struct {
				Paths []string `json:"paths"`
			} `json:"pull_request"`
		} `json:"true"` // which is what YAML 1.1 makes of on
	}
	parsed(t, "github/workflow.yml", &workflow)
	var template map[string]struct {
		Rules []struct {
			Changes []string `json:"changes"`
		} `json:"rules"`
	}
	parsed(t, "gitlab/moult-preview.gitlab-ci.yml", &template)
	for name, patterns := range map[string][]string{
		"GitHub": workflow.On.PullRequest.Paths, "GitLab": template["moult-preview"].Rules[0].Changes,
	} {
		for file, starts := range map[string]bool{
			"crd.yaml": true, "config/crd/bases/x.yml": true, "a/kustomization.yaml": true, "a/Kustomization": true, "charts/c/Chart.yaml": true, "charts/c/Chart.lock": true,
			"charts/c/templates/_helpers.tpl": true, "charts/c/charts/d.tgz": true, "charts/c/.helmignore": true, ".sourceignore": true, "a/.sourceignore": true, ".gitmodules": true,
			".moult.yaml": true, "a/x.json": true, "a/x.jsonnet": true, "a/x.libsonnet": true, "a/cluster.env": true, "a/cluster.properties": true, "roles/a/crd.yaml.j2": true,
			"a/values.yaml.gotmpl": true, "a/values.gotmpl": true, "charts/c/files/crds.txt": true, "README.md": false, "docs/a.md": false, "cmd/main.go": false, "web/a.tsx": false, "LICENSE": false,
		} {
			matches := slices.ContainsFunc(patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, file) })
			NewWithT(t).Expect(matches).To(Equal(starts), "%s: %s", name, file)
		}
	}
}
