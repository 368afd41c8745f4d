package restore

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const (
	withClientID    = `{type: object, properties: {spec: {type: object, properties: {name: {type: string}, clientId: {type: string}}}}}`
	withoutClientID = `{type: object, properties: {spec: {type: object, properties: {name: {type: string}, size: {type: integer, default: 1}}}}}`
)

// bridge has n objects that are stored at v1alpha1, three of them with a field that v1 does not have; v1 is the storage version now.
func bridge(t *testing.T, n int) *world {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := newWorld(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		Label(group+"/migrate", "true").Annotation(v1alpha1.AllowFieldLossAnnotation, "spec.clientId").
		Schema("v1alpha1", withClientID).Schema("v1", withoutClientID))
	for i := range n {
		content := map[string]any{"name": "rose"}
		if i%4 == 1 {
			content["clientId"] = fmt.Sprint("client-", i)
		}
		w.make("v1alpha1", name(i), content)
	}
	w.Flip("v1")
	return w
}

func (w *world) make(version, name string, spec map[string]any) {
	w.T.Helper()
	w.Eventually(func() error {
		_, err := w.Objects(version).Create(w.T.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": w.CRD.Spec.Group + "/" + version, "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
		}}, metav1.CreateOptions{})
		return err
	}, running.Soon).Should(Succeed())
}

func (w *world) clientIDs() map[string]any {
	w.T.Helper()
	found := map[string]any{}
	for name, object := range w.all("v1alpha1") {
		if id := object["spec"].(map[string]any)["clientId"]; id != nil {
			found[name] = id
		}
	}
	return found
}

// A field that a migration has dropped comes back from the backup as soon as the CRD is stored at a version that has it.
func TestADroppedFieldComesBack(t *testing.T) {
	w := bridge(t, 12)
	was := w.clientIDs()
	w.Expect(was).To(HaveLen(3))
	migrate := []string{"migrate", w.CRD.Name, "--settle", "1s", "--backup", w.file}
	got := w.Run(migrate...)
	w.Expect(got.Code).To(Equal(0), got.ErrOut)
	w.Expect(got.ErrOut).To(ContainSubstring("is written and verified: sha256:"))
	w.Expect(w.clientIDs()).To(BeEmpty())
	got = w.Run(migrate...)
	w.Expect(got.Code).To(Equal(2))
	w.Expect(got.ErrOut).To(ContainSubstring("leave --backup out"))

	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Unchanged: 9, restore.Differs: 3}))
	for _, result := range of.Results {
		w.Expect(result.Paths).To(Equal([]string{"spec.clientId"}))
	}
	for _, args := range [][]string{{"--overwrite", "--dry-run"}, {"--overwrite"}} {
		of, code = w.restore(args...)
		w.Expect(code).To(Equal(cli.ExitNotDone))
		w.Expect(of.NotKept).To(BeEquivalentTo(3), "the storage version does not have it: %v", of)
		w.Expect(w.clientIDs()).To(BeEmpty())
	}

	w.Flip("v1alpha1")
	w.Eventually(func() map[string]any {
		of, code = w.restore("--overwrite")
		return w.clientIDs()
	}, running.Soon, "200ms").Should(Equal(was), "the API server takes a moment to store at another version")
	w.Expect(code).To(Equal(0), "%+v", of)
}

// The cluster has only a version that was not served when the backup was made.
func TestConversionByTheBackupsCRD(t *testing.T) {
	w := bridge(t, 4)
	unserve := func(version string, is bool) {
		w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			for i := range crd.Spec.Versions {
				crd.Spec.Versions[i].Served = (crd.Spec.Versions[i].Name == version) != is
			}
		})
		w.Expect(builders.WaitServed(t.Context(), cp.Config, w.Live())).To(Succeed())
	}
	unserve("v1", true)
	w.Eventually(func() bool {
		_, err := w.Objects("v1").List(t.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	}, running.Soon).Should(BeTrue())
	got := w.Run("backup", w.CRD.Name, "-f", w.file)
	w.Expect(got.Code).To(Equal(cli.ExitUnknown))
	w.Expect(got.ErrOut).To(ContainSubstring("may be stored at v1, which was not read, and these fields show only there: spec.size"))
	unserve("v1", false)
	w.delete()

	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 4}))
	w.Expect(of.NotKept).To(BeEquivalentTo(1))
	w.Expect(of.Results).To(HaveLen(1))
	w.Expect(of.Results[0].Paths).To(Equal([]string{"spec.clientId"}))
	w.Expect(of.Managers).To(BeZero(), "v1alpha1 is still a version of the CRD")
	for _, object := range w.all("v1") {
		w.Expect(object["spec"]).To(Equal(map[string]any{"name": "rose", "size": int64(1)}))
	}
}

func TestWithoutACommonVersionItSaysWhatIsNeeded(t *testing.T) {
	w := bridge(t, 1)
	got := w.Run("backup", w.CRD.Name, "-f", w.file, "--version", "v1alpha1")
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.ErrOut)
	of, code := w.restore("--version", "v1beta1")
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Needed).To(ContainSubstring("v1beta1 is not among the versions"))

	w.remove()
	of, code = w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Needed).To(ContainSubstring("--with-crds makes it"))
	w.installs(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v2").ClusterScoped())
	of, code = w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Needed).To(Equal("the CRD is of kind Widget and Cluster in the cluster, and was of kind Widget and Namespaced in the backup: these are other objects. Restore into a cluster without the CRD, with --with-crds"))
	w.remove()
	moved := builders.CRD("moved."+w.CRD.Spec.Group, "widgets").Versions("v2").Build()
	w.Expect(builders.Install(t.Context(), cp.Config, moved)).To(Succeed())
	t.Cleanup(func() {
		w.Expect(w.CRDs().Delete(context.Background(), moved.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	of, code = w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Needed).To(HavePrefix("the cluster does not have this CRD, and has "))
	w.Expect(of.Needed).To(ContainSubstring(": if the group changed from " + w.CRD.Spec.Group + ", its objects are other ones; --with-crds makes it"))
}

// installs makes the CRD anew as another release has it.
func (w *world) installs(builder *builders.CRDBuilder) {
	w.T.Helper()
	w.Expect(builders.Install(w.T.Context(), cp.Config, builder.Build())).To(Succeed())
}

// A release that has only another version, and no webhook: the API server would keep the fields that it has.
func TestABackupIsRestoredAtAVersionThatItsCRDDidNotHave(t *testing.T) {
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1").Schema("v1alpha1", withClientID))
	w.make("v1alpha1", name(0), map[string]any{"name": "rose"})
	w.make("v1alpha1", name(1), map[string]any{"name": "rose", "clientId": "x"})
	w.backup()
	w.remove()
	w.installs(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1").Schema("v1", withoutClientID))
	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 2}))
	w.Expect(of.Results).To(ConsistOf(And(HaveField("Object", "default/"+name(1)), HaveField("Paths", []string{"spec.clientId"}))))
	for _, object := range w.all("v1") {
		w.Expect(object["spec"]).To(Equal(map[string]any{"name": "rose", "size": int64(1)}))
	}
}

// The cluster's CRD has lost the version of the backup, and the webhook still converts it.
func TestTheWebhookConvertsABackupOfAVersionThatHasLeft(t *testing.T) {
	w, hook := newWorldThatLost(t)
	report, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(report.Needed).To(ContainSubstring("The cluster serves v1, and the backup has the objects at v1alpha1. A webhook converts them: name one that knows both with --webhook or --webhook-command"))

	hook.RejectObjectSaying(name(1), "no parts")
	report, code = w.restore("--webhook", "crd")
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(report.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 2, restore.Refused: 1}))
	w.Expect(report.Results).To(ConsistOf(And(HaveField("Object", "default/"+name(1)), HaveField("Why", And(HavePrefix("it cannot be converted from v1alpha1 to v1: "), ContainSubstring("no parts"))))))
	w.Expect(hook.Heal()).To(Succeed())
	report, code = w.restore("--webhook", "crd")
	w.Expect(code).To(Equal(cli.ExitDone), "%+v", report)
	for i := range 3 {
		w.Expect(w.get("v1", name(i)).Object["spec"]).To(Equal(map[string]any{"replicas": int64(i)}))
	}
}

// remove deletes the CRD with all objects.
func (w *world) remove() {
	w.T.Helper()
	w.Expect(w.CRDs().Delete(w.T.Context(), w.CRD.Name, metav1.DeleteOptions{})).To(Succeed())
	w.Eventually(func() bool {
		_, err := w.CRDs().Get(w.T.Context(), w.CRD.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, running.Soon).Should(BeTrue())
}

// A CRD that was deleted took its objects along.
func TestTheCRDIsMadeOnRequest(t *testing.T) {
	w := ownedBy(t, 3, func(int) int { return 0 })
	was := w.all("v1")
	w.backup()
	w.remove()
	of, code := w.restore("--with-crds", "--dry-run")
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Needed).To(ContainSubstring("would be made"))
	of, code = w.restore("--with-crds")
	w.Expect(code).To(Equal(0), "%+v", of)
	w.Expect(w.all("v1")).To(Equal(was))
	w.checkOwners()
}

// A schema that has become stricter refuses some; the others are restored.
func TestWhatTheClusterRefusesIsNamed(t *testing.T) {
	w := ownedBy(t, 4, func(int) int { return 0 })
	w.patch("v1", name(2), "hand", spec("too long for the new schema"))
	w.backup()
	w.delete()
	most := int64(10)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			props := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties
			color := props["color"]
			color.MaxLength = &most
			props["color"] = color
		}
	})
	w.Eventually(func() error {
		_, err := w.Objects("v1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": w.CRD.Spec.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"color": "longer than that"},
		}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}, running.Soon).Should(MatchError(ContainSubstring("spec.color")))
	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 3, restore.Refused: 1}))
	w.Expect(of.Results).To(HaveLen(1))
	w.Expect(of.Results[0].Object).To(Equal("default/" + name(2)))
	w.Expect(of.Results[0].Why).To(ContainSubstring("spec.color"))
}

// Objects that are written and deleted while they are read are in the backup as they were when it began, at all versions.
func TestABackupIsOfOneMoment(t *testing.T) {
	const n = 450 // several pages
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").WithStatus())
	w.Create(n)
	was := w.all("v1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := n - 1; i >= 0 && ctx.Err() == nil; i-- {
			if i == n-3 {
				close(started)
			}
			_ = w.Objects("v1").Delete(ctx, name(i), metav1.DeleteOptions{})
		}
	}()
	<-started
	w.backup()
	cancel()
	<-ended
	w.delete()
	of, code := w.restore()
	w.Expect(code).To(Equal(0), "%+v", of)
	is := w.all("v1")
	w.Expect(len(is)).To(BeNumerically("<", n))
	for i := range len(is) {
		w.Expect(is).To(HaveKeyWithValue(name(i), was[name(i)]), "all up to the moment, and none after it")
	}
}
