package backup

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/words"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// One object that cannot be converted is named, and the others are backed up. A gate that asks for a backup waits for a whole one.
func TestAGateWaitsForAWholeBackup(t *testing.T) {
	t.Parallel()
	hook := webhooks.Converting(t)
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		ConversionWebhook(hook.URL(), hook.CABundle()).Label(group+"/migrate", "true"))
	w.Create(60)
	g := &gate{World: w, gate: running.GateFor(w.Witness), folder: t.TempDir()}
	g.Flip("v1")
	g.asked()
	g.shut("the CRD has no annotation moult.dev/backup")
	t.Cleanup(func() { g.Expect(hook.Heal()).To(Succeed()) }) // what is deleted is read
	hook.RejectObjectSaying("object-00031", "no parts")
	_, err := g.Objects("v1").Patch(t.Context(), "object-00031", types.MergePatchType, []byte(`{"spec":{"size":77}}`), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred(), "what the API server has converted before, it keeps")

	file := filepath.Join(g.folder, "incomplete.tar.gz")
	got := g.Run("backup", g.CRD.Name, "-f", file, "--annotate")
	g.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	g.Expect(got.Out).To(ContainSubstring("60 objects, at v1, v1alpha1; incomplete: 1 could not be read"))
	g.Expect(got.ErrOut).To(And(
		ContainSubstring("the backup is incomplete: 1 of 60 objects of "+g.CRD.Name+" could not be read: default/object-00031 at v1alpha1 ("),
		ContainSubstring("no parts"), ContainSubstring("); repair or delete what cannot be read, and back up again")))
	got = g.Run("backup", "verify", file)
	g.Expect(got.Code).To(Equal(cli.ExitUnknown))
	g.Expect(got.ErrOut).To(ContainSubstring("default/object-00031 at v1alpha1"))
	g.shut("is incomplete: 1 of 60 objects could not be read, and `moult backup verify FILE` names them")

	g.Expect(hook.Heal()).To(Succeed())
	g.backup()
	g.Eventually(g.says, running.Soon).Should(And(HavePrefix("True SafeToRemove "), HaveSuffix(" is of the CRD as it is (60 objects)")))
}

// An object that is none in etcd fails every list. It is passed over, also beside another and at the end.
func TestABackupPassesOverWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1"))
	w.Create(120)
	unreadable := []string{"object-00000", "object-00015", "object-00020", "object-00070", "object-00071", "object-00119"}
	for _, name := range unreadable {
		w.Expect(cp.Etcd().Put(t.Context(), w.GR, "default", name, []byte("garbage"))).To(Succeed())
	}
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	got := w.Run("backup", w.CRD.Name, "-f", file, "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	written := archive.Manifest{}
	w.Expect(json.Unmarshal([]byte(got.Out), &written)).To(Succeed())
	of := written.CRDs[0]
	want := words.Of(unreadable, func(name string) string { return "default/" + name })
	if cp.Minor < 37 { // which does not name them: of those that stand together, the last is found
		want = slices.DeleteFunc(want, func(name string) bool { return name == "default/object-00070" })
	}
	w.Expect(of.Objects).To(BeEquivalentTo(114 + len(want)))
	var names []string
	for _, m := range of.Missing {
		names = append(names, m.Object)
		w.Expect(m.At).To(ConsistOf("v1alpha1", "v1"))
		w.Expect(m.Why).To(ContainSubstring("invalid character 'g'"))
	}
	w.Expect(names).To(ConsistOf(want))
}
