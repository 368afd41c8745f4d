package collector

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const soon = running.Soon

// Today's world: kube-controller-manager looks for an owner at the version of the reference. For up to 30 seconds after the removal
// it believes that the version is there, takes the 404 for an owner that is absent, and deletes the dependent. Then it no longer
// knows the version, and an owner that is deleted in the foreground waits for ever for dependents that nobody deletes.
func TestARemovalHurtsAndARepairFixesIt(t *testing.T) {
	worlds := []*world{newWorld(t), newWorld(t), newWorld(t)} // the 30 seconds may be over just then
	collects(t)
	i := slices.IndexFunc(worlds, func(w *world) bool { return w.deletesWhatLives(w.removes) })
	NewWithT(t).Expect(i).To(BeNumerically(">=", 0), "a dependent that is made after the removal is deleted, though its owner lives")
	w := worlds[i]
	rose, err := w.widgets().Get(t.Context(), "rose", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.forgets()

	w.configMap("later", w.at("v1alpha1", rose))
	w.Eventually(w.hasConfigMap("later"), soon).Should(BeFalse(), "it remembers that rose at v1alpha1 was absent")
	lily, tulip := w.widget("lily"), w.widget("tulip")
	w.configMap("of-lily", w.at("v1alpha1", lily))
	w.configMap("of-tulip", w.at("v1alpha1", tulip))
	w.deletesInForeground(tulip)
	w.Consistently(w.hasWidget("tulip"), "15s", "500ms").Should(BeTrue(), "it stays Terminating")
	w.Expect(w.lives(tulip)()).To(BeFalse())
	w.Expect(w.hasConfigMap("of-tulip")()).To(BeTrue())

	out, err := exec.CommandContext(t.Context(), program(t, "moult"), "repair", "owners", "--settle", "1s", "--kubeconfig", kubeconfig(t), "--version", "v1alpha1", w.GR.String()).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(out))
	t.Logf("%s", out)
	w.Eventually(w.hasWidget("tulip"), soon).Should(BeFalse(), "what was asked for ends")
	w.Eventually(w.hasConfigMap("of-tulip"), soon).Should(BeFalse())
	w.Consistently(w.dependents, "5s", "500ms").Should(Equal(map[string]string{"configmap of-rose": "v1", "configmap of-lily": "v1", "widget bud": "v1"}), "and nothing else goes")
	w.Expect(w.lives(rose)()).To(BeTrue())
}

// To the garbage collector, a version that is not served is no other than one that was removed.
func TestAVersionThatIsNotServedHurtsAlready(t *testing.T) {
	worlds := []*world{newWorld(t), newWorld(t), newWorld(t)} // as above
	collects(t)
	i := slices.IndexFunc(worlds, func(w *world) bool { return w.deletesWhatLives(w.stopsServing) })
	NewWithT(t).Expect(i).To(BeNumerically(">=", 0), "a dependent that is made after v1alpha1 is not served any more is deleted, though its owner lives")
	w := worlds[i]
	w.forgets()
	tulip := w.widget("tulip")
	w.configMap("of-tulip", w.at("v1alpha1", tulip))
	w.deletesInForeground(tulip)
	w.Consistently(w.hasWidget("tulip"), "15s", "500ms").Should(BeTrue(), "it stays Terminating")
	w.Expect(w.hasConfigMap("of-tulip")()).To(BeTrue())
}

func (w *world) removes() {
	w.t.Helper()
	w.Expect(builders.RemoveVersion(w.t.Context(), cp.Config, w.GR.String(), "v1alpha1")).To(Succeed())
}

func (w *world) stopsServing() {
	w.t.Helper()
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
}

// deletesWhatLives takes v1alpha1 away, and reports whether a dependent that is made right after it is deleted.
func (w *world) deletesWhatLives(takesAway func()) bool {
	w.t.Helper()
	rose := w.widget("rose")
	w.configMap("of-rose", w.at("v1alpha1", rose))
	w.widget("bud", w.at("v1alpha1", rose))
	w.configMap("probe", w.nobody())
	w.Eventually(w.hasConfigMap("probe"), soon).Should(BeFalse(), "the garbage collector knows v1alpha1")
	takesAway()
	w.configMap("late", w.at("v1alpha1", rose))
	if !w.goesWithin("late", 5*time.Second) {
		return false
	}
	w.Expect(w.lives(rose)()).To(BeTrue())
	w.Expect(w.hasConfigMap("of-rose")()).To(BeTrue(), "nothing has made the garbage collector look at it")
	return true
}

// forgets waits until the garbage collector does not know v1alpha1 any more: what nobody owns is no longer deleted.
func (w *world) forgets() {
	w.t.Helper()
	n := 0
	w.Eventually(func() bool {
		n++
		name := fmt.Sprint("probe-", n)
		w.configMap(name, w.nobody())
		if w.goesWithin(name, 3*time.Second) {
			return true
		}
		w.Expect(w.configMaps().Delete(w.t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
		return false
	}, soon, "500ms").Should(BeFalse(), "it still deletes at v1alpha1")
}

// goesWithin reports whether a ConfigMap is deleted.
func (w *world) goesWithin(name string, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(w.t.Context(), most)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) { return !w.hasConfigMap(name)(), nil }) == nil
}

// The gate holds the removal until the controller has moved the references, which it does once it may. Then nothing is lost, ten
// times in a row, of which one with a kill in its midst.
func TestWithTheGateAndTheRepairNothingIsLost(t *testing.T) {
	const rounds = 10
	size := func(round int) int {
		if round == rounds/2 {
			return 300 // so that there is a midst
		}
		return 25
	}
	worlds := make([]*world, rounds)
	groups := make([]string, rounds)
	for i := range worlds {
		worlds[i] = newWorld(t)
		groups[i] = worlds[i].GR.Group
	}
	collects(t)
	controls := func() *process {
		return start(t, program(t, "moult-controller"), "--crd-groups", strings.Join(groups, ","), "--settle", "1s", "--survey-interval", "2s",
			"--references", "--metrics-addr", "0", "--health-addr", "0", "--log-level", "info")
	}
	controller := controls()
	for i, w := range worlds {
		began := time.Now()
		tulip, alive := w.plants(size(i))
		w.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Require = []v1alpha1.Requirement{v1alpha1.NoReferences} })
		w.Eventually(w.Verdict, soon).Should(ContainSubstring("False " + v1alpha1.ReasonStillReferenced))
		w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Annotations = map[string]string{v1alpha1.RepairOwnersAnnotation: v1alpha1.RepairOwnersAnnotationValue}
		})
		if i == rounds/2 {
			w.Eventually(w.movedSome, soon).Should(BeTrue())
			controller.kill()
			w.Expect(w.dependents()).To(ContainElement("v1alpha1"), "killed before it has done everything")
			controller = controls()
		}
		w.Eventually(w.Verdict, soon).Should(Equal("True SafeToRemove"))
		w.Expect(w.dependents()).To(HaveEach("v1"), "the gate opens after the last reference has moved")
		w.Expect(builders.RemoveVersion(t.Context(), cp.Config, w.GR.String(), "v1alpha1")).To(Succeed())
		w.Consistently(w.dependents, "2s", "200ms").Should(HaveLen(alive + 3))
		w.deletesInForeground(tulip)
		w.Eventually(w.hasWidget("tulip"), soon).Should(BeFalse(), "its deletion ends")
		w.Eventually(w.dependents, soon).Should(HaveLen(alive), "what belongs to it goes, and nothing else")
		t.Logf("round %d of %d: %d dependents, %s", i+1, rounds, alive, time.Since(began).Round(100*time.Millisecond))
	}
	for i, w := range worlds {
		w.Expect(w.dependents()).To(And(HaveLen(size(i)+2), HaveEach("v1")), "nor later")
	}
}

// plants makes owners with dependents at v1alpha1: three of tulip, which is to be deleted, and others of rose, which stays.
func (w *world) plants(n int) (tulip *unstructured.Unstructured, alive int) {
	w.t.Helper()
	rose, tulip := w.widget("rose"), w.widget("tulip")
	for i := range n {
		w.configMap(fmt.Sprint("of-rose-", i), w.at("v1alpha1", rose))
	}
	for i := range 2 {
		w.widget(fmt.Sprint("bud-", i), w.at("v1alpha1", rose))
		w.configMap(fmt.Sprint("of-tulip-", i), w.at("v1alpha1", tulip))
	}
	w.widget("bud-of-tulip", w.at("v1alpha1", tulip))
	return tulip, n + 2
}

// movedSome reports whether a reference has been moved.
func (w *world) movedSome() (bool, error) {
	all, err := w.dependents()
	for _, version := range all {
		if version == "v1" {
			return true, nil
		}
	}
	return false, err
}
