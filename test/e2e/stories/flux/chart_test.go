package flux_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/flux"
	"github.com/moult-dev/moult/test/e2e/stories/stage"
	"github.com/moult-dev/moult/test/e2e/story"
)

// The commits of docs/guides/flux-helmrelease.md, as they are on the page, with the real kustomize-controller and
// helm-controller: from the label to the release that has lost its old version; and back to one that has it alone, as
// docs/guides/roll-back.md has it.
func TestTheGuideAboutAVendorsChart(t *testing.T) {
	g := NewWithT(t)
	s, guide := stage.New(t, stage.Build(t, "moult-controller")), stage.OpenGuide(t, "guides/flux-helmrelease.md", nil)
	f := start(t, s, flux.Options{})
	charts := stage.ServeCharts(t)
	stop, err := f.StartHelm(t.Context(), s.Config, charts)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stop)
	const objects, name = 40, "external-secrets"
	secrets := s.Before(t, "external-secrets-0.17.0/templates/crds/externalsecret.yaml", "v1beta1", objects, func(crd *unstructured.Unstructured) {
		crd.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"}) // as an earlier release of the chart has left it
		crd.SetAnnotations(map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": name})
	})
	moult := s.StartMoult(t)
	moult.SlowPass(objects)
	secrets.Witness(t, name, "externalsecrets-v1beta1")

	tale := story.Begin(t)
	source, err := f.NewSource(t.Context(), "gitops")
	g.Expect(err).NotTo(HaveOccurred())
	folder := guide.Commit()
	revision, err := source.PushFolder(t.Context(), folder)
	g.Expect(err).NotTo(HaveOccurred())
	applied, err := cluster.ParseFiles(filepath.Join(folder, "clusters/production/external-secrets.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	applied = slices.DeleteFunc(applied, func(o *unstructured.Unstructured) bool { return o.GetKind() == "GitRepository" }) // the source above
	g.Expect(cluster.Apply(t.Context(), s.Client, applied...)).To(Succeed())
	tale.Await("applied", stage.Patience, f.ReadyAt(name, revision))
	tale.Await("the chart is installed while the migration is under way", stage.Patience, f.ReleasedAt(name, name, "0.17.0"))
	tale.Await("its CRD has the label", stage.Patience, secrets.Labelled())

	revision, err = source.PushFolder(t.Context(), guide.Commit())
	g.Expect(err).NotTo(HaveOccurred())
	tale.Await("the Kustomization of the release waits for the gate, as the page shows", stage.Patience, f.NotReady(name, "dependency 'flux-system/crd-gate' is not ready"))
	tale.Holds("the release stays", 10*time.Second, f.ReleasedAt(name, name, "0.17.0"))
	moult.SlowWrites(0)
	tale.Await("applied", stage.Patience, f.ReadyAt(name, revision))
	tale.Await("upgraded", stage.Patience, f.ReleasedAt(name, name, "9.0.0"))
	tale.Await("the old version is gone", stage.Patience, secrets.Removed())
	g.Expect(secrets.Stored(t)).To(Equal(map[string]int{"v1": objects}))

	older := stage.OlderRelease{Chart: name, Version: "0.15.0"}
	guide.Edit("external-secrets/release.yaml", "version: 9.0.0", "version: "+older.Version)
	_, err = source.PushFolder(t.Context(), guide.Repository())
	g.Expect(err).NotTo(HaveOccurred())
	tale.Await("the older release is refused", stage.Patience, f.ReleaseFails(name, name, "missing from spec.versions"))
	g.Expect(f.SuspendRelease(t.Context(), name, name, true)).To(Succeed())
	secrets.BridgeBack(t, tale, charts, older)
	guide.Edit("crd-gate/externalsecrets-v1beta1.yaml", "externalsecrets-v1beta1", "externalsecrets-v1", "[v1beta1], require: [Unserved]", "[v1]")
	revision, err = source.PushFolder(t.Context(), guide.Repository())
	g.Expect(err).NotTo(HaveOccurred())
	tale.Await("the gate is open", stage.Patience, f.ReadyAt(name, revision))
	g.Expect(f.SuspendRelease(t.Context(), name, name, false)).To(Succeed())
	tale.Await("released", stage.Patience, f.ReleasedAt(name, name, older.Version))
	tale.Await("the older CRD is there", stage.Patience, secrets.CRD(func(_ *unstructured.Unstructured, versions []string) bool {
		return slices.Equal(versions, []string{"v1beta1"})
	}))
	g.Expect(secrets.Stored(t)).To(Equal(map[string]int{"v1beta1": objects}))
}
