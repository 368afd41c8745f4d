package restore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// newWorldThatLost has a backup of three objects at v1alpha1, and a CRD that has lost that version. Its webhook knows both.
func newWorldThatLost(t *testing.T) (*world, *webhooks.Conversion) {
	t.Helper()
	hook := webhooks.Converting(t)
	hook.Rename("v1", "size", "replicas")
	schema := "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, replicas: {type: integer}}}}}"
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		Schema("v1alpha1", schema).Schema("v1", schema).ConversionWebhook(hook.URL(), hook.CABundle()))
	for i := range 3 {
		w.make("v1alpha1", name(i), map[string]any{"size": int64(i)})
	}
	got := w.Run("backup", w.CRD.Name, "-f", w.file, "--version", "v1alpha1")
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.ErrOut)
	w.remove()
	w.installs(builders.CRD(w.CRD.Spec.Group, "widgets").Versions("v1").Schema("v1", schema).ConversionWebhook(hook.URL(), hook.CABundle()))
	return w, hook
}

// Git has the manifests of the new release, so no webhook need be asked.
func TestConvertedObjectsTakeThePlaceOfAConversion(t *testing.T) {
	w, hook := newWorldThatLost(t)
	w.Expect(hook.Down()).To(Succeed())
	manifest := func(version string, at int) string {
		return fmt.Sprintf(`{"apiVersion":"%s/%s","kind":"Widget","metadata":{"name":%q,"namespace":"default","labels":{"from":"git"}},"spec":{"replicas":7}}`, w.CRD.Spec.Group, version, name(at))
	}
	var all []string
	given := filepath.Join(t.TempDir(), "given.yaml")
	for content, problem := range map[string]string{
		manifest("v1alpha1", 1):                                             "--converted: Widget default/" + name(1) + " is at v1alpha1, and the cluster serves v1",
		manifest("v1", 1) + "\n---\n" + manifest("v1", 1):                   "--converted: Widget default/" + name(1) + " is there twice",
		strings.Replace(manifest("v1", 1), `"namespace":"default",`, "", 1): "--converted: Widget " + name(1) + " has no namespace; build the manifests as your tool does",
	} {
		w.Expect(os.WriteFile(given, []byte(content), 0o600)).To(Succeed())
		got := w.Run("restore", "-f", w.file, "--converted", given)
		w.Expect(got.Code).To(Equal(cli.ExitError), got.ErrOut)
		w.Expect(got.ErrOut).To(ContainSubstring(problem))
	}
	w.Expect(os.WriteFile(given, []byte(manifest("v1", 1)), 0o600)).To(Succeed())
	report, code := w.restore("--converted", given)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(report.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 1, restore.Refused: 2}))
	w.Expect(report.Told).To(HaveEach(HaveField("Why", HavePrefix("it is not among the objects of --converted. The cluster serves v1, and the backup has the objects at v1alpha1. A webhook"))))
	w.Expect(w.get("v1", name(1)).Object["spec"]).To(Equal(map[string]any{"replicas": int64(7)}))
	w.Expect(w.get("v1", name(1)).GetLabels()).To(BeEmpty(), "metadata are those of the backup")

	for i := range 3 {
		all = append(all, manifest("v1", i))
	}
	w.Expect(os.WriteFile(given, []byte(strings.Join(all, "\n---\n")), 0o600)).To(Succeed())
	report, code = w.restore("--converted", given)
	w.Expect(code).To(Equal(cli.ExitDone), "%+v", report)
	w.Expect(report.Counts).To(Equal(map[restore.Outcome]int64{restore.Created: 2, restore.Unchanged: 1}))
}
