package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const objects = 12

// releases are two releases of one CRD in a cluster with Moult: the first has v1alpha1 alone, and the second v1 alone.
type releases struct {
	*clitest.World
	first, second *apiextensionsv1.CustomResourceDefinition
	// place is where the first one's manifests are, and backup one that was taken before the upgrade.
	place, backup string
	gate          *running.Gate
	stop          func()
}

// upgraded is a cluster that has gone from the first to the second, as people do it with Moult.
func upgraded(t *testing.T, first, second func(*builders.CRDBuilder) *builders.CRDBuilder) *releases {
	t.Helper()
	group := builders.UniqueGroup(t)
	r := &releases{
		first:  first(builders.CRD(group, "widgets").Versions("v1alpha1")).Build(),
		second: second(builders.CRD(group, "widgets").Versions("v1")).Build(),
		place:  filepath.Join(t.TempDir(), "release-1"),
	}
	r.World = suite.WorldOf(t, first(builders.CRD(group, "widgets").Versions("v1alpha1")))
	r.write(filepath.Join(r.place, "crd.yaml"), r.first)
	r.Create(objects-1, builders.By("flux"))
	r.applies("v1alpha1", "owned", map[string]any{"size": int64(1), "color": "red"})
	r.backup = filepath.Join(t.TempDir(), "first.tar.gz")
	got := r.Run("backup", r.CRD.Name, "-f", r.backup)
	r.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	r.gate = running.GateFor(r.Witness)
	r.start()
	t.Cleanup(func() { r.stop() })
	r.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Labels = map[string]string{r.Label: "true"}
		crd.Spec.Versions = append(crd.Spec.Versions, *r.second.Spec.Versions[0].DeepCopy())
		crd.Spec.Versions[0].Storage, crd.Spec.Versions[0].Served = false, false
	})
	r.gate.Ask(func(removal *v1alpha1.VersionRemoval) {
		removal.Spec.Require = []v1alpha1.Requirement{v1alpha1.Unserved}
	})
	r.Eventually(r.gate.Verdict, "3m").Should(Equal("True SafeToRemove"))
	r.Expect(r.takes(r.second)).To(Succeed())
	r.Eventually(r.gate.Verdict, "3m").Should(Equal("True AlreadyRemoved"))
	r.Expect(r.Stored()).To(Equal(map[string]int{"v1": objects}))
	return r
}

// start runs Moult; one that ran before has ended.
func (r *releases) start() {
	r.T.Helper()
	m := running.Quick(r.CRD.Spec.Group)
	m.LabelKey = r.Label
	r.stop = running.Moult(r.T, cp.Config, m, removal.Options{Namespaces: []string{r.gate.Name.Namespace}})
}

func (r *releases) write(file string, crd *apiextensionsv1.CustomResourceDefinition) {
	r.T.Helper()
	crd = crd.DeepCopy()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	content, err := yaml.Marshal(crd)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
	r.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
}

// takes applies a CRD as a commit has it, and is what the API server says to it.
func (r *releases) takes(crd *apiextensionsv1.CustomResourceDefinition) error {
	return builders.Update(r.T.Context(), cp.Config, crd.Name, func(live *apiextensionsv1.CustomResourceDefinition) {
		live.Labels, live.Annotations, live.Spec = crd.Labels, crd.Annotations, *crd.Spec.DeepCopy()
	})
}

// applies is what a tool does with an object in Git.
func (r *releases) applies(version, name string, spec map[string]any) *unstructured.Unstructured {
	r.T.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": r.CRD.Spec.Group + "/" + version, "kind": r.CRD.Spec.Names.Kind,
		"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": spec,
	}}
	var applied *unstructured.Unstructured
	r.Eventually(func() (err error) {
		applied, err = r.Objects(version).Apply(r.T.Context(), name, object, metav1.ApplyOptions{FieldManager: "flux", Force: true})
		return err
	}, soon).Should(Succeed())
	return applied
}

// uids are those of all objects, by name.
func (r *releases) uids(version string) map[string]string {
	r.T.Helper()
	found := map[string]string{}
	r.Eventually(func() error {
		list, err := r.Objects(version).List(r.T.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			found[list.Items[i].GetName()] = string(list.Items[i].GetUID())
		}
		return nil
	}, soon).Should(Succeed())
	return found
}

func (r *releases) back(args ...string) runbook.Plan {
	r.T.Helper()
	p, err := plan(r.World, append([]string{"--back-to", "v1alpha1", "--release", r.place}, args...)...)
	r.Expect(err).NotTo(HaveOccurred())
	return p
}

func (r *releases) step(name runbook.Name) runbook.Step {
	r.T.Helper()
	p := r.back()
	at := slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == name })
	r.Expect(at).To(BeNumerically(">=", 0))
	return p.Steps[at]
}

// prints runs the commands of a step that end at once, and is what the last of them prints. What they redirect lies in a folder.
func (r *releases) prints(s runbook.Step) (out string) {
	r.T.Helper()
	for _, command := range s.Commands {
		line, file, redirected := strings.Cut(command, " > ")
		args := strings.Fields(line)[1:]
		if !slices.Contains([]string{"bridge", "rehearse", "backup"}, args[0]) {
			continue
		}
		got := suite.Moult.Run(r.T, args...)
		r.Expect(got.Code).To(Equal(cli.ExitDone), "%s: %s", command, got.ErrOut)
		if out = got.Out; redirected {
			r.Expect(os.WriteFile(file, []byte(out), 0o600)).To(Succeed())
		}
	}
	return out
}

// commits does what a tool does with the commit of a step: it waits for each VersionRemoval that the commit leaves or brings.
func (r *releases) commits(s runbook.Step, crd *apiextensionsv1.CustomResourceDefinition) {
	r.T.Helper()
	if strings.Contains(s.Commit, "take out VersionRemoval "+r.gate.Name.String()) {
		r.gate.Withdraw()
	}
	if _, manifest, brings := strings.Cut(s.Commit, "\napiVersion: "); brings {
		removal := &v1alpha1.VersionRemoval{}
		r.Expect(yaml.UnmarshalStrict([]byte("apiVersion: "+manifest), removal)).To(Succeed())
		r.gate.Ask(func(asked *v1alpha1.VersionRemoval) {
			asked.Spec, asked.Spec.Require = removal.Spec, []v1alpha1.Requirement{v1alpha1.Unserved} // what looks at references does not run here
		})
	}
	if r.gate.IsThere() {
		r.Eventually(r.gate.Verdict, "3m").Should(HavePrefix("True "), "%s", s.Commit)
	}
	r.Expect(r.takes(crd)).To(Succeed(), "%s: %s", s.Name, s.Commit)
	r.stop() // a controller that dies leaves nothing half way
	r.start()
}

// follows takes one step.
func (r *releases) follows(s runbook.Step) {
	r.T.Helper()
	crd := r.Live()
	switch s.Name {
	case runbook.Serve:
		between := &apiextensionsv1.CustomResourceDefinition{}
		r.Expect(yaml.UnmarshalStrict([]byte(r.prints(s)), between)).To(Succeed())
		r.Expect(crds.StorageVersion(between)).To(Equal("v1"))
		r.commits(s, between)
		r.Expect(builders.WaitServed(r.T.Context(), cp.Config, between)).To(Succeed())
	case runbook.Flip:
		r.Expect(s.Commit).To(HavePrefix("storage: true at v1alpha1"))
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == "v1alpha1"
		}
		r.commits(s, crd)
	case runbook.Unserve:
		r.Expect(s.Commit).To(HavePrefix("served: false at v1"))
		crds.Version(crd, "v1").Served = false
		r.commits(s, crd)
	case runbook.Ask:
		r.Expect(s.Commit).To(HavePrefix("one commit, with spec.versions without v1, as the CRD of " + r.place + " has it, and with this"))
		r.commits(s, r.first)
	case runbook.Rehearse, runbook.BackUp:
		r.prints(s)
	case runbook.OptIn, runbook.Migrate, runbook.Look, runbook.BackUpAgain, runbook.Wait, runbook.Remove:
	}
}

func same(b *builders.CRDBuilder) *builders.CRDBuilder { return b }

// The way back from the second release to the first: the revert alone is refused, and the steps of the plan lead there. Moult is
// at work, and is restarted after each of them. What is stored is judged by the bytes in etcd.
func TestThePlanLeadsBackToAVersionThatHasLeft(t *testing.T) {
	r := upgraded(t, same, same)
	t.Chdir(t.TempDir())
	before := r.uids("v1")
	r.Expect(before).To(HaveLen(objects))
	r.Expect(r.takes(r.first)).To(MatchError(ContainSubstring("storedVersions")), "that is why there is a way back")
	got := r.Run("plan", r.CRD.Name, "--back-to", "v1alpha1")
	r.Expect(got.ErrOut).To(ContainSubstring("has no version v1alpha1, it has v1; if a release had it, name its manifests or a backup with --release"))

	fromBackup := r.back("--release", r.backup)
	r.Expect(fromBackup.Next).To(Equal(runbook.Serve), "a backup knows the CRD, too")
	r.Expect(fromBackup.Rehearsed.Verdict).To(Equal(conversion.Kept))

	p := r.back()
	r.Expect(p.Return).To(BeTrue())
	r.Expect(p.Leaving).To(Equal([]string{"v1"}))
	rehearsal := r.step(runbook.Rehearse)
	r.Expect(rehearsal.Seen).To(Equal("12 objects: nothing would be lost, and nothing refused"))
	r.Expect(r.prints(rehearsal)).To(ContainSubstring("12 objects, to be stored at v1alpha1, read at v1; 12 come back the same"))
	r.Expect(r.step(runbook.Serve).Commit).To(ContainSubstring("take out VersionRemoval %s of the upgrade, which wants v1alpha1 gone", r.gate.Name.String()))
	var taken, advised []runbook.Name
	for p.Next != "" {
		for _, s := range p.Steps {
			switch {
			case s.State == runbook.Advised && !slices.Contains(advised, s.Name):
				advised = append(advised, s.Name)
				r.follows(s)
			case s.Name == p.Next:
				r.follows(s)
			}
		}
		next := p.Next
		if next != runbook.Migrate { // each commit changes the spec, and is looked at
			taken = append(taken, next)
		}
		r.Eventually(func() runbook.Name { p = r.back(); return p.Next }, "3m").ShouldNot(Equal(next))
	}
	young := r.CRD.Name + "-before-v1alpha1.tar.gz"
	got = r.Run("plan", r.CRD.Name, "--back-to", "v1alpha1", "--release", young)
	r.Expect(got.ErrOut).To(ContainSubstring("has no version v1alpha1 in " + young + ", which has v1; name the manifests of a release that had it, or an older backup"))
	r.Expect(taken).To(HaveExactElements(runbook.Serve, runbook.Flip, runbook.Unserve, runbook.Ask))
	r.Expect(r.Live().Labels).To(BeEmpty(), "the older release has no label, and none is missed")

	r.Expect(crds.Versions(r.Live())).To(Equal([]string{"v1alpha1"}))
	r.Expect(r.StoredVersions()).To(Equal([]string{"v1alpha1"}))
	r.Expect(r.Stored()).To(Equal(map[string]int{"v1alpha1": objects}))
	r.Expect(r.uids("v1alpha1")).To(Equal(before), "none is lost, and none is made anew")
	owned := r.applies("v1alpha1", "owned", map[string]any{"size": int64(1)})
	r.Expect(owned.Object["spec"]).To(Equal(map[string]any{"size": int64(1)}), "a tool still prunes what it owns")
}
