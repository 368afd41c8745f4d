package survivors

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// stashWorld has a VirtualMachine with a revision, and KubeVirt's names; test/kubevirt has its types.
type stashWorld struct {
	*world
	vm *unstructured.Unstructured
}

const (
	stashedCRD = "virtualmachineinstancetypes.instancetype.kubevirt.io"
	successor  = "rose-small-v1beta1-u1-1"
)

func newStashWorld(t *testing.T) *stashWorld {
	t.Helper()
	w := &stashWorld{world: newWorld(t)}
	gone := func() { // other worlds have CRDs of these names, too
		for _, name := range []string{stashedCRD, "virtualmachines.kubevirt.io"} {
			w.Eventually(func() error {
				_, err := w.CRDs().Get(context.WithoutCancel(t.Context()), name, metav1.GetOptions{})
				return err
			}, "1m").Should(MatchError(ContainSubstring("not found")))
		}
	}
	gone()
	t.Cleanup(gone)
	crd := builders.CRD("instancetype.kubevirt.io", "virtualmachineinstancetypes").Versions("v1alpha2", "v1beta1").Build()
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind = "VirtualMachineInstancetype", "VirtualMachineInstancetypeList"
	running.Install(t, cp, crd)
	w.has("kubevirt.io", "virtualmachines", "VirtualMachine", "v1")
	w.vm = w.creates(`{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {namespace: NAMESPACE, name: rose}, spec: {instancetype: {revisionName: rose-old}}}`)
	w.revision("rose-old", `{apiVersion: instancetype.kubevirt.io/v1alpha2, kind: VirtualMachineInstancetype, metadata: {name: small, uid: u1, generation: 1}, spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}}`)
	return w
}

// revision makes one that the VirtualMachine owns.
func (w *stashWorld) revision(name, data string) {
	w.creates(`{apiVersion: apps/v1, kind: ControllerRevision, metadata: {namespace: NAMESPACE, name: ` + name + `,
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: rose, uid: ` + string(w.vm.GetUID()) + `, controller: true}]}, revision: 0, data: ` + data + `}`)
}

func (w *stashWorld) revisions() (names []string) {
	list, err := kubernetes.NewForConfigOrDie(cp.Config).AppsV1().ControllerRevisions(w.namespace).List(w.T.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	for _, r := range list.Items {
		names = append(names, r.Name)
	}
	return names
}

func (w *stashWorld) names() string {
	now, err := w.objects(w.vm).Get(w.T.Context(), "rose", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	name, _, _ := unstructured.NestedString(now.Object, "spec", "instancetype", "revisionName")
	return name
}

func TestStashedCopiesAreMoved(t *testing.T) {
	w := newStashWorld(t)
	file := filepath.Join(t.TempDir(), "removed.json")

	got := w.Run("survivors", "migrate", stashedCRD, "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.Out+got.ErrOut)
	w.Expect(got.ErrOut).To(BeEmpty())
	w.Expect(got.Out).To(HavePrefix(stashedCRD + ": v1alpha2 could leave"))
	w.Expect(got.Out).To(ContainSubstring("\nwould be moved  1 stashed copy\n         controllerrevisions.apps " + w.namespace + "/rose-old  VirtualMachineInstancetype small  v1alpha2 -> v1beta1  " + successor + "\n"))
	w.Expect(got.Out).To(HaveSuffix("\ndone: 1 stashed copy would be moved, and nothing was written\n"))
	w.Expect(w.revisions()).To(ConsistOf("rose-old"))
	w.Expect(w.names()).To(Equal("rose-old"))

	got = w.Run("survivors", "migrate", stashedCRD, "--settle=1s", "--save", file)
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.Out+got.ErrOut)
	w.Expect(got.ErrOut).To(HavePrefix("moving stashed copies in the cluster at "))
	w.Expect(got.Out).To(HaveSuffix("\ndone: 1 stashed copy moved, and what was removed is in " + file + "; a list of everything has none left\n"))
	w.Expect(w.revisions()).To(ConsistOf(successor))
	w.Expect(w.names()).To(Equal(successor))

	content, err := os.ReadFile(file)
	w.Expect(err).NotTo(HaveOccurred())
	saved := &unstructured.Unstructured{}
	w.Expect(saved.UnmarshalJSON(content)).To(Succeed())
	w.Expect(w.objects(saved).Create(t.Context(), saved, metav1.CreateOptions{})).NotTo(BeNil(), "it can be made again as it is")
	w.Expect(w.revisions()).To(ConsistOf(successor, "rose-old"))

	w.Expect(w.Run("survivors", "migrate", stashedCRD, "--settle=1s", "--save", file).Code).To(Equal(cli.ExitDone))
	w.Expect(w.revisions()).To(ConsistOf(successor))
	got = w.Run("survivors", "migrate", stashedCRD, "--settle=1s", "--save", file)
	w.Expect(got.Out).To(HaveSuffix("\ndone: 0 stashed copies moved; a list of everything has none left\n"))
}

func TestWhatCannotBeMovedIsReportedForAProgram(t *testing.T) {
	w := newStashWorld(t)
	w.revision("broken", `{apiVersion: "", spec: "?"}`)
	got := w.Run("survivors", "migrate", stashedCRD, "--settle=1s", "--save", filepath.Join(t.TempDir(), "removed.json"), "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.Out+got.ErrOut)
	d := struct {
		Verdict repairs.Verdict
		repairs.Report
	}{}
	w.Expect(json.Unmarshal([]byte(got.Out), &d)).To(Succeed())
	w.Expect(d.Verdict).To(Equal(repairs.Remaining))
	w.Expect(d.Moved).To(BeEquivalentTo(1))
	w.Expect(d.Left).To(ConsistOf(And(HaveField("Reason", embeddedcopies.Undecodable), HaveField("Count", BeEquivalentTo(1)))))
	w.Expect(w.revisions()).To(ConsistOf(successor, "broken"))
	w.Expect(w.Run("survivors", "migrate", stashedCRD, "--dry-run").Out).To(HaveSuffix("\nleft: 0 stashed copies would be moved, and nothing was written; 1 left\n"))
}

func TestAMigrationThatIsInterruptedGoesOn(t *testing.T) {
	w := newStashWorld(t)
	file := filepath.Join(t.TempDir(), "removed.json")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	got := w.RunContext(ctx, "survivors", "migrate", stashedCRD, "--settle=1s", "--save", file)
	w.Expect(got.Code).To(Equal(cli.ExitInterrupted))
	w.Expect(w.revisions()).To(ConsistOf("rose-old"))
	w.Expect(w.Run("survivors", "migrate", stashedCRD, "--settle=1s", "--save", file).Code).To(Equal(cli.ExitDone))
}

func TestWrongArgumentsOfAMigration(t *testing.T) {
	w := newStashWorld(t)
	other := filepath.Join(t.TempDir(), "notes.txt")
	w.Expect(os.WriteFile(other, []byte("a person's notes\n"), 0o600)).To(Succeed())
	for said, args := range map[string]string{
		"--save is missing":                       "migrate " + stashedCRD,
		"there is nothing to --save":              "migrate " + stashedCRD + " --dry-run --save x",
		"is no file of objects that were removed": "migrate " + stashedCRD + " --save " + other,
		"--limit -1 is below 0":                   "migrate " + stashedCRD + " --dry-run --limit -1",
		"name at least one":                       "migrate --dry-run --version v1",
		"unknown flag":                            "migrate --away",
	} {
		got := w.Run(append([]string{"survivors"}, strings.Fields(args)...)...)
		w.Expect(got.Code).To(Equal(cli.ExitError), args)
		w.Expect(got.ErrOut).To(ContainSubstring(said))
	}
	w.Expect(os.ReadFile(other)).To(BeEquivalentTo("a person's notes\n"), "and is left as it is")
	w.Expect(w.revisions()).To(ConsistOf("rose-old"))
}
