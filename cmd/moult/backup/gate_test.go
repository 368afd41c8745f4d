package backup

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// gate is a CRD with objects, and a VersionRemoval that requires a backup of it.
type gate struct {
	*clitest.World
	gate   *running.Gate
	folder string
	taken  int
}

func newGate(t *testing.T) *gate {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(group+"/migrate", "true"))
	w.Create(3)
	return &gate{World: w, gate: running.GateFor(w.Witness), folder: t.TempDir()}
}

// asked asks for the removal, with Moult at work.
func (g *gate) asked() {
	g.T.Helper()
	g.gate.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Backup} })
	m := running.Quick(g.CRD.Spec.Group)
	m.LabelKey = g.Label
	running.Moult(g.T, cp.Config, m, removal.Options{Namespaces: []string{g.gate.Name.Namespace}})
}

// backup takes a true one.
func (g *gate) backup() {
	g.T.Helper()
	g.taken++
	got := g.Run("backup", g.CRD.Name, "-f", filepath.Join(g.folder, fmt.Sprintf("%d.tar.gz", g.taken)), "--annotate")
	g.Expect(got.Code).To(BeZero(), got.ErrOut)
	g.Expect(got.ErrOut).To(ContainSubstring(g.CRD.Name + " is annotated with moult.dev/backup"))
}

// annotation is what the CRD says, and annotate makes it say something; nil for nothing.
func (g *gate) annotation() string { return g.Live().Annotations[v1alpha1.BackupAnnotation] }

func (g *gate) annotate(value any) {
	g.T.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.BackupAnnotation: value}}})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = g.CRDs().Patch(g.T.Context(), g.CRD.Name, apitypes.MergePatchType, body, metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
}

func (g *gate) record(change func(*crds.Backup)) string {
	g.T.Helper()
	last := crds.LastBackupOf(g.Live())
	g.Expect(last.Record).NotTo(BeNil())
	change(last.Record)
	return last.Record.Annotation()
}

func (g *gate) shut(says ...string) {
	g.T.Helper()
	matchers := []types.GomegaMatcher{
		HavePrefix("False NotBackedUp Reconciling " + g.CRD.Name + ": every object is stored at v1; spec.require asks for a backup since the flip to it, and "),
		HaveSuffix(". To do: take one with `moult backup " + g.CRD.Name + " -f FILE --annotate`, or with the Job of examples/backup"),
	}
	for _, text := range says {
		matchers = append(matchers, ContainSubstring(text))
	}
	g.Eventually(g.says, running.Soon).Should(And(matchers...))
}

func (g *gate) says() string { return g.gate.Verdict() + " " + g.gate.Message() }

func (g *gate) open() {
	g.T.Helper()
	g.Eventually(g.says, running.Soon).Should(And(HavePrefix("True SafeToRemove "), ContainSubstring("; the backup of 2"), HaveSuffix(" is of the CRD as it is (3 objects)")))
}

func TestAGateWaitsForABackupSinceTheFlip(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.Flip("v1")
	g.asked()
	g.shut("the CRD has no annotation moult.dev/backup")
	g.backup()
	g.open()
	good := g.annotation()
	at := g.Live().Generation

	for _, garbage := range []string{"", "true", `{"time":"2`, `{}`, strings.Replace(good, "sha256:", "sha1:", 1), strings.Replace(good, `"objects":3`, `"objects":-3`, 1), good + good} {
		g.annotate(good)
		g.open()
		g.annotate(garbage)
		g.shut("the annotation moult.dev/backup of the CRD is not what `moult backup --annotate` writes")
	}
	g.annotate(good)
	g.open()
	future := time.Now().Add(24 * time.Hour)
	g.annotate(g.record(func(b *crds.Backup) { b.Time = future }))
	g.shut("the last backup, of " + future.UTC().Format(time.RFC3339) + ", is in the future: a clock is wrong")

	g.annotate(good)
	g.open()
	g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	g.shut(fmt.Sprintf("was taken at generation %d of the CRD, which is at %d now: whether the storage version was another one in between cannot be known", at, at+1))
	g.backup()
	g.open()
}

// There and back again: what was written in between may be in no backup.
func TestABackupFromBeforeAFlipDoesNotCount(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.backup()
	g.Flip("v1")
	g.asked()
	g.shut("was taken while v1alpha1 was the storage version")
	g.backup()
	g.open()
	at := g.Live().Generation
	g.Flip("v1alpha1")
	g.Flip("v1")
	g.shut(fmt.Sprintf("was taken at generation %d of the CRD, which is at %d now", at, at+2))
	g.backup()
	g.open()
}

func TestABackupOfACRDThatWasDeletedDoesNotCount(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.Flip("v1")
	g.backup()
	again := g.Live()
	g.Expect(g.CRDs().Delete(t.Context(), again.Name, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() bool {
		_, err := g.CRDs().Get(t.Context(), again.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, running.Soon).Should(BeTrue())
	again.UID, again.ResourceVersion, again.Status = "", "", apiextensionsv1.CustomResourceDefinitionStatus{}
	g.Expect(builders.Install(t.Context(), cp.Config, again)).To(Succeed())
	g.Create(3)
	g.asked()
	g.shut("is of another CRD of this name, which was deleted since")
	g.backup()
	g.open()
}
