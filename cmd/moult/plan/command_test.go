package plan

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const soon = "1m"

// plan is what the command prints of the CRD.
func plan(w *clitest.World, args ...string) (p runbook.Plan, err error) {
	w.T.Helper()
	got := w.Run(append([]string{"plan", w.CRD.Name, "-o", "json"}, args...)...)
	if got.Code != cli.ExitDone {
		return p, fmt.Errorf("%d: %s", got.Code, got.ErrOut)
	}
	return p, json.Unmarshal([]byte(got.Out), &p)
}

// states are the steps that are not done, in their order, with their states.
func states(w *clitest.World) func() (string, error) {
	return func() (string, error) {
		p, err := plan(w)
		var all []string
		for _, s := range p.Steps {
			if s.State != runbook.Done && s.State != runbook.Over {
				all = append(all, fmt.Sprintf("%s %s", s.Name, s.State))
			}
		}
		return fmt.Sprintf("%s: %s", p.Next, strings.Join(all, ", ")), err
	}
}

// The plan is followed from the first step to the last, with Moult at work.
func TestThePlanLeadsFromTwoVersionsToOne(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1"))
	w.Create(3)
	got := w.Run("plan", w.CRD.Name)
	w.Expect(got.Code).NotTo(Equal(cli.ExitDone))
	w.Expect(got.ErrOut).To(ContainSubstring("no version is to be removed"))

	p, err := plan(w, "--to", "v1", "--version", "v1alpha1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(p.Next).To(Equal(runbook.Serve))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		v := crd.Spec.Versions[0].DeepCopy()
		v.Name, v.Storage = "v1", false
		crd.Spec.Versions = append(crd.Spec.Versions, *v)
	})
	phase2 := ", look later, unserve later, ask later, wait later, remove later"
	w.Expect(states(w)()).To(Equal("optIn: rehearse advised, backUp advised, optIn next, flip later, migrate later" + phase2))

	gate := running.GateFor(w.Witness)
	w.Merges("kubectl", fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, w.Label))
	m := running.Quick(group)
	m.LabelKey = w.Label
	running.Moult(t, cp.Config, m, removal.Options{Namespaces: []string{gate.Name.Namespace}})
	w.Expect(states(w)()).To(Equal("flip: rehearse advised, backUp advised, flip next, migrate later" + phase2))

	w.Flip("v1")
	w.Eventually(states(w), soon).Should(Equal("unserve: look advised, unserve next, ask later, wait later, remove later"))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.Eventually(states(w), soon).Should(Equal("ask: look advised, ask next, wait later, remove later"))
	gate.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved} })
	w.Eventually(states(w), "3m").Should(Equal("remove: look advised, remove next"))
	w.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.CRD.Name, "v1alpha1")).To(Succeed())
	w.Eventually(states(w), soon).Should(Equal(": look advised"))
}

func TestWhatHoldsAMigrationIsTold(t *testing.T) {
	w := suite.World(t, 0)
	w.Says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonFieldsWouldBeLost, "12 objects use spec.old", 0)
	got := w.Run("plan", w.CRD.Name, "--crds", "deploy/crds")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.Out).To(And(HavePrefix(w.CRD.Name+": store at v1, let v1alpha1 go\n"),
		MatchRegexp(`(?m)^  held       Migrate: every object is stored at v1, and that is proved\n             seen: FieldsWouldBeLost: .*12 objects use spec.old$`),
		MatchRegexp(`(?m)^             \$ moult wait `+w.CRD.Name+` --for migrated --timeout 30m --kubeconfig `), Not(ContainSubstring("nothing is left"))))
}

func TestAConditionOfBeforeShowsNothing(t *testing.T) {
	w := suite.World(t, 0)
	w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "of before", 1)
	w.Expect(states(w)()).To(HavePrefix("migrate: migrate waiting, "))
	got := w.Run("plan", w.CRD.Name, "-o", "markdown", "--crds", "deploy/crds")
	w.Expect(got.Out).To(And(HavePrefix("### "+w.CRD.Name), ContainSubstring("- [x] Flip: store at v1\n"), ContainSubstring("    kind: VersionRemoval\n"),
		ContainSubstring("--crds deploy/crds --crd "+w.CRD.Name+" --from v1alpha1")))
}

// Two gates for one version: both have to open.
func TestEveryVersionRemovalCounts(t *testing.T) {
	w := suite.World(t, 0)
	w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
	for _, reason := range []string{v1alpha1.ReasonSafeToRemove, v1alpha1.ReasonStillStashed} {
		gate := running.GateFor(w.Witness)
		gate.Ask(func(r *v1alpha1.VersionRemoval) {
			r.Spec.Require = []v1alpha1.Requirement{v1alpha1.NoReferences, v1alpha1.NoStashes}
		})
		removal := gate.Removal()
		removal.Status.ObservedGeneration = removal.Generation
		ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now()}
		removal.Status.Conditions = []metav1.Condition{ready}
		if reason != v1alpha1.ReasonSafeToRemove {
			removal.Status.Conditions = []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()},
				{Type: "Stalled", Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now()},
			}
		}
		w.Expect(running.Client(t, cp.Config).Status().Update(t.Context(), removal)).To(Succeed())
	}
	w.Expect(states(w)()).To(Equal("look: look held, unserve later, wait held, remove later"))
	p, err := plan(w, "--version", "v1alpha1", "--to", "v1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(p.Steps[9].Commands[0]).To(And(HavePrefix("moult wait "+w.CRD.Name+" --for removable --version v1alpha1 --timeout 30m --kubeconfig "), HaveSuffix(" --label-key "+w.Label)))
}

// A backup is asked for behind the last change of the CRD's spec.
func TestAVersionRemovalThatRequiresABackupMakesAStep(t *testing.T) {
	w := suite.World(t, 0)
	running.GateFor(w.Witness).Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Require = []v1alpha1.Requirement{v1alpha1.Backup} })
	w.Expect(states(w)()).To(Equal("migrate: migrate waiting, look later, unserve later, backUpAgain later, wait waiting, remove later"))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
	w.Expect(states(w)()).To(Equal("backUpAgain: look advised, backUpAgain next, wait waiting, remove later"))
	p, err := plan(w)
	w.Expect(err).NotTo(HaveOccurred())
	step := p.Steps[slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == runbook.BackUpAgain })]
	w.Expect(step.Seen).To(Equal("the CRD has no annotation moult.dev/backup"))
	w.Expect(step.Commands).To(ConsistOf(HavePrefix("moult backup " + w.CRD.Name + " -f " + w.CRD.Name + "-before-removal.tar.gz --annotate --kubeconfig ")))

	live := w.Live()
	record := crds.Backup{Time: time.Now(), Digest: "sha256:" + strings.Repeat("0", 64), UID: live.UID, Generation: live.Generation, StorageVersion: "v1"}
	w.Merges("backup", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.BackupAnnotation, record.Annotation()))
	w.Expect(states(w)()).To(Equal("wait: look advised, wait waiting, remove later"))
}

func TestAPlanSaysWhatItCannotSee(t *testing.T) {
	w := suite.World(t, 0)
	running.InstallGate(t, cp.Config)
	name := "may-read-crds"
	running.User(t, cp.Config, name, running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list"))
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
	p, err := plan(w, "--as", name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(p.Notes).To(ContainElement(ContainSubstring("list on versionremovals in moult.dev")))
	w.Expect(p.Notes).To(ContainElement(ContainSubstring(`field manager "moult-test-builders" (Update) applies it`)))
	w.Expect(p.Next).To(Equal(runbook.Ask))
	w.Expect(p.Steps).To(ContainElement(And(HaveField("Name", runbook.Wait), HaveField("State", runbook.Unknown))))
}

func TestWhatIsAskedWronglyIsAnError(t *testing.T) {
	w := suite.World(t, 0)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"the version that stays leaves": {[]string{w.CRD.Name, "--version", "v1"}, "v1 is to be stored and is to be removed; name another with --to or --version"},
		"no such CRD":                   {[]string{"gadgets." + w.CRD.Spec.Group}, "gadgets." + w.CRD.Spec.Group},
		"a version that nobody knows":   {[]string{w.CRD.Name, "--version", "v1alhpa1"}, "has no version v1alhpa1, and no VersionRemoval names it; it has v1alpha1, v1"},
		"no CRD":                        {nil, "name one CRD"},
		"two CRDs":                      {[]string{"widgets.example.com", "gadgets.example.com"}, "a plan is of one CRD; plan widgets.example.com and gadgets.example.com one after the other"},
		"a release and no way back":     {[]string{w.CRD.Name, "--release", "x"}, "--release is where to go back to; name the version with --back-to"},
		"forth and back":                {[]string{w.CRD.Name, "--to", "v1", "--back-to", "v1alpha1"}, "--to is the way forth and --back-to the way back; leave one out"},
		"no such release":               {[]string{w.CRD.Name, "--back-to", "v1alpha1", "--release", "nowhere"}, "nowhere: there is no such file or folder"},
		"a version it never had":        {[]string{w.CRD.Name, "--back-to", "v1alhpa1"}, "has no version v1alhpa1, it has v1alpha1, v1; if a release had it, name its manifests or a backup with --release"},
		"back to what is newer":         {[]string{w.CRD.Name, "--back-to", "v2"}, "has no version v2"},
		"the way back of two CRDs":      {[]string{w.CRD.Name, "gadgets.example.com", "--back-to", "v1alpha1"}, "a plan is of one CRD"},
		"what is not there yet":         {[]string{w.CRD.Name, "--to", "v2", "--rehearse"}, "has no version v2 yet, so nothing can be rehearsed; leave out --rehearse, or rehearse the CRD that has it with `moult rehearse --crds`"},
		"another output":                {[]string{w.CRD.Name, "-o", "wide"}, "-o wide is none of text, markdown, json, yaml"},
	} {
		t.Run(name, func(*testing.T) {
			before := w.Live().ResourceVersion
			got := w.Run(append([]string{"plan"}, c.args...)...)
			w.Expect(got.Code).To(Equal(cli.ExitError))
			w.Expect(got.ErrOut).To(ContainSubstring(c.says))
			w.Expect(strings.Count(got.ErrOut, "\n")).To(Equal(1), "it is one line: %s", got.ErrOut)
			w.Expect(got.Out).To(BeEmpty())
			w.Expect(w.Live().ResourceVersion).To(Equal(before))
		})
	}
}

// A version that was never stored, and an upgrade that is in the middle, are no errors: the plan says in a line what it goes by.
func TestAWayBackThatNothingShowsIsNoted(t *testing.T) {
	t.Parallel()
	w := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1"))
	w.Create(3)
	notes := func() []string {
		p, err := plan(w, "--back-to", "v1alpha1")
		w.Expect(err).NotTo(HaveOccurred())
		return p.Notes
	}
	w.Expect(notes()).To(ContainElement("nothing shows that objects were ever stored at v1alpha1: status.storedVersions does not name it, and no --release shows a CRD that stored at it"))
	young := filepath.Join(t.TempDir(), "young.tar.gz")
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[1:] })
	got := w.Run("backup", w.CRD.Name, "-f", young)
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	got = w.Run("plan", w.CRD.Name, "--back-to", "v1alpha1", "--release", young)
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(HaveSuffix("has no version v1alpha1 in " + young + ", which has v1; name the manifests of a release that had it, or an older backup\n"))

	middle := suite.World(t, 3)
	_, err := middle.Objects("v1").Patch(t.Context(), "object-00000", types.MergePatchType, []byte(`{"spec":{"size":77}}`), metav1.PatchOptions{})
	middle.Expect(err).NotTo(HaveOccurred())
	before, stored := middle.Live().ResourceVersion, middle.Stored()
	p, err := plan(middle, "--back-to", "v1alpha1")
	middle.Expect(err).NotTo(HaveOccurred())
	middle.Expect(p.Notes).To(ContainElement("the upgrade is in the middle: status.storedVersions names v1alpha1, v1, so objects may be stored at each of them; the steps are the same, and the walk looks at every object"))
	middle.Expect(p.Next).To(Equal(runbook.Flip))
	middle.Expect(middle.Live().ResourceVersion).To(Equal(before))
	middle.Expect(middle.Stored()).To(Equal(stored))
}
