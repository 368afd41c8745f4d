package argocd_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
	"github.com/moult-dev/moult/test/e2e/story"
)

// The commits of docs/guides/argocd-chart.md, as they are on the page, with the real Argo CD, kustomize and Helm: from the label
// to the release that has lost its old versions; and back to one that has them alone, as docs/guides/roll-back.md has it. The
// chart's repository is served here.
func TestTheGuideAboutAVendorsChart(t *testing.T) {
	g := NewWithT(t)
	s, guide := stage.New(t, stage.Build(t, "moult-controller")), stage.OpenGuide(t, "guides/argocd-chart.md", nil)
	settings := lua.ArgoCDConfig()
	maps.Copy(settings, map[string]string{"kustomize.buildOptions": "--enable-helm"})
	argo := start(t, s.Config, argocd.Options{Settings: settings})
	const objects = 40
	certificates := s.Before(t, "cert-manager-v1.6.0/templates/crds.yaml", "v1alpha2", objects, func(*unstructured.Unstructured) {})
	moult := s.StartMoult(t)
	moult.SlowPass(objects)
	certificates.Witness(t, "cert-manager", "certificates-old")

	charts := stage.ServeCharts(t)
	repo, tale := argocd.NewRepo(t), story.Begin(t)
	const application = "cert-manager"
	synced := func(commit string) story.Check {
		return argo.OperationWhere(application, func(o argocd.Operation) bool { return o.Revision == commit && o.Phase == argocd.Succeeded })
	}

	folder := guide.Commit("https://charts.jetstack.io", charts)
	commit := repo.CommitFolder(folder, "opted in")
	g.Expect(argo.CreateFromManifest(t.Context(), filepath.Join(folder, "clusters/production/cert-manager.yaml"), repo)).To(Succeed())
	tale.Await("the chart is installed while the migration is under way", stage.Patience, synced(commit))
	tale.Await("its CRD has the label", stage.Patience, certificates.Labelled())

	commit = repo.CommitFolder(guide.Commit("https://charts.jetstack.io", charts), "the removal")
	g.Expect(argo.Refresh(t.Context(), application)).To(Succeed())
	tale.Await("the sync waits for the gate, as the page shows", stage.Patience, argo.OperationWhere(application, func(o argocd.Operation) bool {
		return o.Revision == commit && o.Phase == argocd.Running && o.Message == "waiting for healthy state of moult.dev/VersionRemoval/certificates-old"
	}))
	tale.Holds("the CRD keeps its versions", 10*time.Second, certificates.CRD(func(_ *unstructured.Unstructured, versions []string) bool { return len(versions) == 4 }))
	moult.SlowWrites(0)
	tale.Await("synced", stage.Patience, synced(commit))
	tale.Await("the old versions are gone", stage.Patience, certificates.Removed())
	g.Expect(certificates.Stored(t)).To(Equal(map[string]int{"v1": objects}))

	older := stage.OlderRelease{Chart: application, Version: "v0.15.0"}
	push := func(message string) (commit string) {
		commit = repo.CommitFolder(guide.Repository("https://charts.jetstack.io", charts), message)
		g.Expect(argo.Refresh(t.Context(), application)).To(Succeed())
		return commit
	}
	guide.Edit("cert-manager/kustomization.yaml", "version: v1.7.0", "version: "+older.Version)
	commit = push("the older release")
	tale.Await("which is refused", stage.Patience, argo.OperationWhere(application, func(o argocd.Operation) bool {
		refused := o.Resource("CustomResourceDefinition", "certificates.cert-manager.io")
		return o.Revision == commit && strings.Contains(refused.Message, "missing from spec.versions")
	}))
	g.Expect(argo.SetAutomated(t.Context(), application, nil)).To(Succeed())
	g.Expect(argo.Terminate(t.Context(), application)).To(Succeed())
	certificates.BridgeBack(t, tale, charts, older)
	guide.Edit("cert-manager/gates.yaml", "certificates-old", "certificates-v1", "[v1alpha2, v1alpha3, v1beta1], require: [Unserved]", "[v1]")
	commit = push("the older release, behind a gate")
	g.Expect(argo.SetAutomated(t.Context(), application, map[string]any{"selfHeal": true})).To(Succeed())
	tale.Await("synced", stage.Patience, synced(commit))
	tale.Await("what Argo CD does not prune shows", stage.Patience, argo.StatusWhere(application, func(s argocd.Status) bool { return s.Health == "Degraded" }))
	g.Expect(s.Client.Delete(t.Context(), cluster.Object("moult.dev/v1alpha1", "VersionRemoval", "cert-manager", "certificates-old"))).To(Succeed())
	tale.Await("until it is deleted", stage.Patience, argo.HealthIs(application, commit, "Healthy"))
	tale.Await("the older CRD is there", stage.Patience, certificates.CRD(func(_ *unstructured.Unstructured, versions []string) bool {
		return slices.Equal(versions, []string{"v1alpha2", "v1alpha3"})
	}))
	g.Expect(certificates.Stored(t)).To(Equal(map[string]int{"v1alpha2": objects}))
}
