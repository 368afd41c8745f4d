package faults_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/faults"
)

// How a world looks from outside: all of it is read from etcd, so that it can be seen while no API server answers.

// isDone reports whether there is nothing more to do.
func (w *world) isDone() bool {
	return w.reason("widgets") == v1alpha1.ReasonMigrated && w.reason("gadgets") == v1alpha1.ReasonMigrated &&
		(w.late || w.verdict() == "True "+v1alpha1.ReasonSafeToRemove)
}

func (w *world) gate() *v1alpha1.VersionRemoval { return w.judge.Gate(w.namespace, "no-"+w.from) }

// verdict is the gate's: "True SafeToRemove", "False Migrating" and so on.
func (w *world) verdict() string {
	if ready := meta.FindStatusCondition(w.gate().Status.Conditions, "Ready"); ready != nil {
		return string(ready.Status) + " " + ready.Reason
	}
	return ""
}

func (w *world) live(plural string) *apiextensionsv1.CustomResourceDefinition {
	return w.judge.CRD(plural + "." + w.group)
}

// condition is Moult's, if it speaks of the CRD as it is; empty if there is none.
func (w *world) condition(plural string) apiextensionsv1.CustomResourceDefinitionCondition {
	crd := w.live(plural)
	for _, c := range crd.Status.Conditions {
		if c.Type == v1alpha1.StorageMigrated && v1alpha1.SpeaksOf(c.Message, crd.Generation) {
			return c
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}

func (w *world) reason(plural string) string { return w.condition(plural).Reason }

func (w *world) stored(plural string) map[string]int { return w.judge.Stored(plural) }

// sync has the judge see everything up to now.
func (w *world) sync() {
	w.t.Helper()
	_, err := w.judge.Now(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
}

// until waits for something, and fails at the first lie.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for giveUp := time.Now().Add(soon); !done(); time.Sleep(20 * time.Millisecond) {
		w.Expect(w.judge.Lie()).To(Succeed())
		if time.Now().After(giveUp) {
			w.t.Fatalf("not within %s: %s\nwidgets: %s %s\nstored: %v\ngadgets: %s\ngate: %s\n%v", soon, what,
				w.reason("widgets"), w.condition("widgets").Message, w.stored("widgets"), w.reason("gadgets"), w.verdict(), w.gate().Status.Blockers)
		}
	}
}

// says waits until the condition of the widgets has this reason and these words.
func (w *world) says(reason string, words ...string) {
	w.t.Helper()
	w.until(fmt.Sprintf("the CRD says %s with the words %q", reason, words), func() bool {
		c := w.condition("widgets")
		return c.Reason == reason && !slices.ContainsFunc(words, func(s string) bool { return !strings.Contains(c.Message, s) })
	})
}

// writes counts the writes to widgets that the proxy has seen.
func (w *world) writes() *faults.Injected {
	return w.proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Path: widgetPath, Fault: faults.Delay(0)})
}

// slow has every write to a widget take that much longer, so that there is time to act in mid-pass.
func (w *world) slow(by time.Duration) *faults.Injected {
	return w.proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Path: widgetPath, Fault: faults.Delay(by)})
}

// atTheEnd undoes a fault.
func (w *world) atTheEnd(undo func()) { w.undo = append(w.undo, undo) }

// heal ends all faults.
func (w *world) heal() {
	w.t.Helper()
	w.proxy.Heal()
	for _, undo := range slices.Backward(w.undo) {
		undo()
	}
	w.undo = nil
}

// completes waits until the migration has ended by itself, and judges what is left.
func (w *world) completes() {
	w.t.Helper()
	w.sync()
	if w.gate().Name == "" {
		w.until("the widgets are migrated", func() bool { return w.reason("widgets") == v1alpha1.ReasonMigrated })
		w.ask()
	}
	w.until("the gate is open and both CRDs are migrated", func() bool {
		return w.verdict() == "True "+v1alpha1.ReasonSafeToRemove && w.reason("widgets") == v1alpha1.ReasonMigrated && w.reason("gadgets") == v1alpha1.ReasonMigrated
	})
	w.sync()
	w.nothingIsLost()
	w.Expect(w.stored("widgets")).To(And(HaveLen(1), HaveKeyWithValue(w.to, BeNumerically(">=", w.widgets))))
	w.Expect(w.stored("gadgets")).To(Equal(map[string]int{w.to: gadgets}))
	for _, plural := range []string{"widgets", "gadgets"} {
		w.Expect(w.live(plural).Status.StoredVersions).To(Equal([]string{w.to}))
	}
	w.Expect(w.judge.Lie()).To(Succeed())
}

// nothingIsLost compares all objects with what they were before the flip.
func (w *world) nothingIsLost() {
	w.t.Helper()
	for plural, before := range w.before {
		after := w.judge.Objects(plural)
		for name := range before {
			if w.doomed != "" && strings.HasPrefix(name, w.doomed+"/") {
				delete(before, name)
			}
		}
		lost := faults.Lost(before, after, w.busy)
		w.Expect(lost).To(BeEmpty(), strings.Join(lost[:min(3, len(lost))], "\n"))
	}
}

// Paths, as rules of a proxy look for them.
var (
	objectPath    = regexp.MustCompile(`^/apis/[^/]+\.example\.com/`)
	widgetPath    = regexp.MustCompile(`^/apis/[^/]+\.example\.com/[^?]*/widgets([/?]|$)`)
	widgetsList   = regexp.MustCompile(`^/apis/[^/]+\.example\.com/v1/widgets\?`)
	continued     = regexp.MustCompile(`/widgets\?.*continue=`)
	theFirst      = regexp.MustCompile(`/widgets/object-0{5}`)
	theSeventh    = regexp.MustCompile(`/widgets/object-00007`)
	crdStatusPath = regexp.MustCompile(`/customresourcedefinitions/widgets[^/]*/status`)
	gatePath      = regexp.MustCompile(`/versionremovals/`)
)
