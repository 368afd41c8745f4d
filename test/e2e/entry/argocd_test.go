package entry

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
)

// TestArgoCDProduction syncs clusters/argocd-production as the Application of Applications. Argo CD knows nothing of Moult
// before, and has a setting of its own.
func TestArgoCDProduction(t *testing.T) {
	s := begin(t)
	argo, err := argocd.Start(t.Context(), s.controlPlane.Config, argocd.Options{
		Settings:  map[string]string{"url": "https://argocd.example.com"},
		WaveDelay: 2 * time.Second, // as installed
	})
	s.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(argo.LogTail(20))
		}
		argo.Stop()
	})
	repo := argocd.NewRepo(t)
	files := repository(s.g)
	for name, content := range files {
		if strings.HasPrefix(name, "clusters/argocd-production/") {
			files[name] = strings.ReplaceAll(content, "https://git.example.com/moult.git", repo.URL())
		}
	}
	commit := repo.Commit(files, "a copy of Moult")
	repo.Tag("v0.1.0") // as the Applications name it
	s.g.Expect(argo.CreateApplication(t.Context(), "production", repo, "clusters/argocd-production", argocd.AutoSync(5))).To(Succeed())

	s.Await("Argo CD is told of Moult", patience, argo.HealthIs("moult-health", commit, "Healthy"))
	settings, err := cluster.Get(t.Context(), s.client, "v1", "ConfigMap", argocd.Namespace, "argocd-cm")
	s.g.Expect(err).NotTo(HaveOccurred())
	data, _, _ := unstructured.NestedStringMap(settings.Object, "data")
	s.g.Expect(data).To(HaveKeyWithValue("url", "https://argocd.example.com"), "what others have set stays")
	s.g.Expect(data).To(HaveKeyWithValue(lua.GateHealthKey, lua.ArgoCDConfig()[lua.GateHealthKey]))

	objects := built(s.g, "clusters/argocd-production/moult")
	s.Await("everything is applied", patience, s.allThere(objects))
	s.g.Expect(s.created("moult-health")).To(BeTemporally("<", s.created("moult")), "the wave that tells Argo CD comes first")
	s.Await("the sync has succeeded", patience, argo.OperationWhere("moult", func(o argocd.Operation) bool {
		return o.Phase == argocd.Succeeded && o.Revision == commit && len(o.Resources) == len(objects)
	}))
	s.Await("it is not healthy before the Deployment is", patience, argo.HealthIs("moult", commit, "Progressing"))

	s.becomesAvailable()
	s.Await("Moult is healthy", patience, argo.HealthIs("moult", commit, "Healthy"))

	aggregated := s.aggregate()
	s.g.Expect(argo.Refresh(t.Context(), "moult")).To(Succeed())
	s.Holds("Argo CD leaves the rules of the aggregated role alone", 10*time.Second, aggregated)
	s.Await("and is content", patience, argo.HealthIs("moult", commit, "Healthy"))
}

// created is when an Application was, to the second.
func (s *scene) created(application string) time.Time {
	s.t.Helper()
	object, err := cluster.Get(s.t.Context(), s.client, "argoproj.io/v1alpha1", "Application", argocd.Namespace, application)
	s.g.Expect(err).NotTo(HaveOccurred())
	return object.GetCreationTimestamp().Time
}
