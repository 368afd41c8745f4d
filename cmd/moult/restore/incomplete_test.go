package restore

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// What an incomplete backup lacks is named where it is used, and all else is used.
func TestAnIncompleteBackupIsUsedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	hook := webhooks.Converting(t)
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1").ConversionWebhook(hook.URL(), hook.CABundle()))
	w.Create(4)
	t.Cleanup(func() { w.Expect(hook.Heal()).To(Succeed()) })
	hook.RejectObject(name(1))
	w.patch("v1", name(1), "hand", map[string]any{"spec": map[string]any{"size": 7}})
	w.Expect(cp.Etcd().Put(t.Context(), w.GR, "default", name(3), []byte("garbage"))).To(Succeed())
	got := w.Run("backup", w.CRD.Name, "-f", w.file)
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.ErrOut)
	w.Expect(got.ErrOut).To(And(ContainSubstring("2 of 4 objects"), ContainSubstring("default/object-00001 at v1alpha1 ("), ContainSubstring("default/object-00003 at v1, v1alpha1 (")))

	w.Expect(hook.Heal()).To(Succeed())
	w.Expect(cp.Etcd().Purge(t.Context(), w.GR)).To(Succeed())
	of, code := w.restore()
	w.Expect(code).To(Equal(cli.ExitNotDone), "%+v", of)
	w.Expect(of.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 3, restore.Unread: 1}))
	w.Expect(of.Results).To(ConsistOf(And(HaveField("Object", "default/object-00003"), HaveField("Why", ContainSubstring("invalid character 'g'")))))
	w.Expect(w.get("v1", name(1)).Object["spec"]).To(HaveKeyWithValue("size", BeEquivalentTo(7)))

	file := w.manifest("v1alpha1")
	got = w.Run("rehearse", "--crds", file, "--objects", w.file, "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	report := conversion.Report{}
	w.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed())
	w.Expect(report.CRDs[0].Objects).To(BeEquivalentTo(4))
	w.Expect(report.CRDs[0].Unknown).To(ContainElement(And(HaveField("What", "the backup could not read it at v1"), HaveField("Examples", []string{"default/object-00003"}))))
}
