package faults_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/faults"
)

// leaderWakes stops the first leader in mid-pass. The next one takes over, the storage version flips back, and the first
// wakes when all is migrated the other way and the gate is open.
func leaderWakes(w *world) {
	w.flip()
	w.begin()
	leader, asks := w.leads()
	slow := asks.Inject(faults.Rule{Verbs: patch, Path: widgetPath, Fault: faults.Delay(60 * time.Millisecond)})
	w.until("the pass is under way", func() bool { return slow.Hits() >= 10 })
	w.wakes(leader, asks, func() {
		next := w.writes()
		w.until("the other one has taken over", func() bool { return next.Hits() > 5 })
		w.flipBack()
	})
}

// leaderWakesInASurvey stops it while managedFields are moved. The storage version flips back before the next one takes over,
// so the objects that the first has yet to move are as it knows them.
func leaderWakesInASurvey(w *world) {
	w.flip()
	w.begin()
	leader, asks := w.leads()
	w.until("both CRDs are migrated", func() bool {
		return w.reason("widgets") == v1alpha1.ReasonMigrated && w.reason("gadgets") == v1alpha1.ReasonMigrated
	})
	w.ask()
	slow := asks.Inject(faults.Rule{Verbs: patch, Path: widgetPath, Fault: faults.Delay(60 * time.Millisecond)})
	w.until("the survey is under way", func() bool { return slow.Hits() >= 10 })
	w.wakes(leader, asks, w.flipBack)
}

const dependents = 40

// leaderWakesInARepair stops it while owner references are moved to v1. After the flip back those at v1alpha1 are right, and
// the gate for v1 opens when nothing names it.
func leaderWakesInARepair(w *world) {
	w.flip()
	w.begin()
	w.owned()
	leader, asks := w.leads()
	slow := asks.Inject(faults.Rule{Verbs: patch, Path: configMapPath, Fault: faults.Delay(60 * time.Millisecond)})
	w.until("both CRDs are migrated", func() bool {
		return w.reason("widgets") == v1alpha1.ReasonMigrated && w.reason("gadgets") == v1alpha1.ReasonMigrated
	})
	w.ask(requiring(v1alpha1.NoReferences))
	w.until("owner references are moved", func() bool { return slow.Hits() >= 5 })
	w.wakes(leader, asks, w.flipBack)
	w.Expect(w.ownersAt("v1")).To(BeEmpty(), "owner references that name the version for which the gate is open")
	w.Expect(w.ownersAt("v1alpha1")).To(HaveLen(dependents))
}

var configMapPath = regexp.MustCompile(`^/api/v1/namespaces/[^/]+/configmaps/`)

// leads has one controller lead, behind a proxy of its own, and another one wait.
func (w *world) leads() (leader *process, asks *faults.Proxy) {
	w.t.Helper()
	asks = w.newProxy()
	flags := append([]string{"--leader-election-namespace", w.namespace, "--max-in-flight", "2", "--survey-interval", "5s", "--references"}, elected...)
	leader = w.runAt(asks, flags...)
	w.until("it leads", func() bool { return w.reason("widgets") != "" })
	w.keep(flags...)
	return leader, asks
}

// wakes stops the leader, has something done, and lets it go on when all is migrated and the gate is open. What it has yet to
// write is of the past then.
func (w *world) wakes(leader *process, asks *faults.Proxy, meanwhile func()) {
	w.t.Helper()
	leader.signal(syscall.SIGSTOP)
	asks.Heal()
	meanwhile()
	w.completes()
	wrote := asks.Inject(faults.Rule{Verbs: patch, Fault: faults.Delay(0)})
	leader.signal(syscall.SIGCONT)
	w.until("the first leader notices and ends", leader.isDead)
	w.t.Logf("it has written %d times since it woke", wrote.Hits())
	w.Expect(wrote.Hits()).To(BeZero(), "writes of a leader that is none any more")
	w.completes()
}

// flipBack has the storage version be what it was before.
func (w *world) flipBack() {
	w.t.Helper()
	require := w.gate().Spec.Require
	if w.gate().Name != "" {
		w.unask()
	}
	w.flip()
	w.ask(requiring(require...))
}

func requiring(require ...v1alpha1.Requirement) func(*v1alpha1.VersionRemoval) {
	return func(removal *v1alpha1.VersionRemoval) { removal.Spec.Require = require }
}

// repairsOwners lets owner references be moved.
func repairsOwners(_ *world, crd *builders.CRDBuilder) {
	crd.Annotation(v1alpha1.RepairOwnersAnnotation, "true")
}

// owned makes ConfigMaps that the first widget owns, at v1alpha1.
func (w *world) owned() {
	w.t.Helper()
	owner, err := w.at(w.cp.Config, "v1alpha1", "widgets", w.namespace).Get(w.ctx, name(0), metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	for i := range dependents {
		w.Expect(w.client.Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("owned-%02d", i),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: w.group + "/v1alpha1", Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID()}}}})).To(Succeed())
	}
}

// ownersAt are the ConfigMaps whose owner reference names a version.
func (w *world) ownersAt(version string) (names []string) {
	w.t.Helper()
	all := &corev1.ConfigMapList{}
	w.Expect(w.client.List(w.ctx, all, client.InNamespace(w.namespace))).To(Succeed())
	for i := range all.Items {
		for _, reference := range all.Items[i].OwnerReferences {
			if strings.HasSuffix(reference.APIVersion, "/"+version) {
				names = append(names, all.Items[i].Name)
			}
		}
	}
	return names
}
