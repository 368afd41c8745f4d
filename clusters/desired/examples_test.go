package desired_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/rollout"
)

const root = "../.."

func changesBetween(g *WithT, base, head *delivery.Cluster) []crddiff.Diff {
	var sides [2][]*apiextensionsv1.CustomResourceDefinition
	for i, c := range []*delivery.Cluster{base, head} {
		for _, crd := range c.CRDs() {
			decoded, err := crddiff.Decode(crd.Unstructured)
			g.Expect(err).NotTo(HaveOccurred())
			sides[i] = append(sides[i], decoded)
		}
	}
	return crddiff.Sets(sides[0], sides[1], "moult.dev/migrate")
}

// story is one of the examples as a repository after one of its commits: what is made once, and the commit's folder.
func story(t *testing.T, once []string, commit string) *delivery.Cluster {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", commit)))).To(Succeed())
	for _, path := range once {
		from, to := filepath.Join(root, "examples", path), filepath.Join(dir, "entry", filepath.Base(path))
		g.Expect(os.MkdirAll(filepath.Dir(to), 0o750)).To(Succeed())
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			g.Expect(os.CopyFS(to, os.DirFS(from))).To(Succeed())
			continue
		}
		content, err := os.ReadFile(from)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(to, content, 0o600)).To(Succeed())
	}
	opened, err := repository.Open(t.Context(), dir)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := desired.Follow(t.Context(), opened, "entry", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func stepsOf(r rollout.Rollout) []string {
	var found []string
	for _, s := range r.Steps {
		text := fmt.Sprintf("%d %s", s.Order, s.Unit)
		for _, item := range s.Items {
			text += fmt.Sprintf(" %s %s %s", item.Role, item.Name, item.Place)
		}
		found = append(found, text)
	}
	return found
}

func rulesOf(r rollout.Rollout) []string {
	var found []string
	for _, f := range r.Findings {
		found = append(found, f.Rule+" "+string(f.Severity))
	}
	return found
}

func TestTheFluxExampleIsRolledOutBehindItsGate(t *testing.T) {
	g := NewWithT(t)
	once := []string{"flux/flux-system"}
	base, head := story(t, once, "flux/3-unserved"), story(t, once, "flux/4-removal")
	names := map[string]string{}
	for _, u := range head.Units {
		names[u.Name] = u.Unseen
	}
	g.Expect(names).To(Equal(map[string]string{
		"entry": "", "flux-system/crd-gate": "", "flux-system/crds": "", "flux-system/widgets": "",
		"flux-system/moult": "there is no folder ./clusters/base/crds in this repository",
	}))
	r := rollout.Of(*base, *head, changesBetween(g, base, head), "moult.dev/migrate")
	g.Expect(rulesOf(r)).To(Equal([]string{rollout.NotFollowed + " warning"}), "that folder is in another repository")
	g.Expect(stepsOf(r)).To(Equal([]string{
		"1 entry", "2 flux-system/moult", "3 flux-system/crd-gate gate widgets-system/widgets-v1alpha1 crd-gate/version-removal.yaml:1",
		"4 flux-system/crds removal widgets.example.com crds/crd.yaml:1", "5 flux-system/widgets",
	}))
	g.Expect(head.Findings).To(BeEmpty())
}

func TestTheArgoCDExampleIsRolledOutBehindItsGate(t *testing.T) {
	g := NewWithT(t)
	base, head := story(t, []string{"argocd/application.yaml"}, "argocd/3-unserved"), story(t, []string{"argocd/application.yaml"}, "argocd/4-removal")
	r := rollout.Of(*base, *head, changesBetween(g, base, head), "moult.dev/migrate")
	g.Expect(rulesOf(r)).To(Equal([]string{"SyncWaitsForever info", "GateHealthUnseen info"}))
	g.Expect(stepsOf(r)).To(Equal([]string{
		"1 entry", "2 argocd/widgets gate widgets-system/widgets-v1alpha1 version-removal.yaml:1",
		"3 argocd/widgets removal widgets.example.com crd.yaml:1", "4 argocd/widgets",
	}))
}

func TestTheProductionClustersAreFollowed(t *testing.T) {
	for entry, want := range map[string]map[string][]string{
		"clusters/flux-production": {"clusters/flux-production": {"clusters/flux-production"}, "flux-system/moult": {"clusters/flux-production/moult"}},
		"clusters/argocd-production": {
			"clusters/argocd-production": {"clusters/argocd-production"}, "argocd/moult": {"clusters/argocd-production/moult"},
			"argocd/moult-health": {"clusters/argocd-production/argocd"},
		},
	} {
		t.Run(entry, func(t *testing.T) {
			g := NewWithT(t)
			opened, err := repository.Open(t.Context(), root)
			g.Expect(err).NotTo(HaveOccurred())
			c, err := desired.Follow(t.Context(), opened, entry, desired.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			dirs := map[string][]string{}
			for _, u := range c.Units {
				g.Expect(u.Err).NotTo(HaveOccurred())
				g.Expect(u.Unseen).To(BeEmpty())
				dirs[u.Name] = u.Dirs
			}
			g.Expect(dirs).To(Equal(want))
			g.Expect(c.Findings).To(HaveEach(HaveField("Rule", desired.Pinned)), "they are taken from a tag")
			crds := c.CRDs()
			g.Expect(crds).To(HaveLen(1))
			g.Expect(crds[0].GetName()).To(Equal("versionremovals.moult.dev"))
			g.Expect(crds[0].Unit.Name).To(HaveSuffix("/moult"))
			g.Expect(crds[0].At().String()).To(HavePrefix("clusters/base/crds/moult.dev_versionremovals.yaml:"))
		})
	}
}
