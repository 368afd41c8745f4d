package faults_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/faults"
	"github.com/moult-dev/moult/test/running"
)

// clockIsSet sets the clock of the controller's machine an hour ahead and back, in mid-pass, while the settle time runs, and
// while a gate waits for half an hour in which nobody writes at the old version, and somebody does all the time.
func clockIsSet(w *world) {
	machine := &running.Clock{}
	w.settle = 4 * shortly
	w.flip()
	w.begin()
	quiet := w.askForQuiet()
	w.midPass(func() {
		w.start(func(o *migration.Options) { o.Clock, o.MaxInFlight = machine, 2 })
	})
	machine.Set(time.Hour)
	w.until("the settle time runs, and is not over", func() bool { return w.reason("widgets") == v1alpha1.ReasonSettling })
	machine.Set(-time.Hour) // before a walk begins: what one finds counts as written after the last one began
	w.until("both CRDs are migrated", func() bool {
		return w.reason("widgets") == v1alpha1.ReasonMigrated && w.reason("gadgets") == v1alpha1.ReasonMigrated
	})

	w.keepsWriting()
	for _, by := range []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour} {
		machine.Set(by)
		w.looksFor(quiet)
		w.Expect(w.judge.Gate(w.namespace, quiet.Name).Status.Proof).To(BeNil(), "somebody has written at v1alpha1 a moment ago")
	}
	w.Expect(w.client.Delete(w.ctx, quiet)).To(Succeed())
}

// keepsWriting writes one object at the old version until the fault ends.
func (w *world) keepsWriting() {
	ctx, stop := context.WithCancel(w.ctx)
	objects, stopped, wrote := w.at(w.cp.Config, w.from, "widgets", w.namespace), make(chan struct{}), 0
	go func() {
		defer close(stopped)
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			body := fmt.Appendf(nil, `{"metadata":{"annotations":{"late":"%d"}}}`, wrote)
			if _, err := objects.Patch(ctx, name(0), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "late-writer"}); err == nil {
				wrote++
			}
		}
	}()
	w.busy = faults.Busy{Managers: []string{"late-writer"}, Change: func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }}
	w.atTheEnd(func() {
		stop()
		<-stopped
		w.Expect(wrote).To(BeNumerically(">", 20), "the writer must have been busy")
	})
}

// askForQuiet asks for the old version to go after half an hour without a write at it.
func (w *world) askForQuiet() *v1alpha1.VersionRemoval {
	w.t.Helper()
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "quiet"},
		Spec: v1alpha1.VersionRemovalSpec{CRDName: "widgets." + w.group, Versions: []string{w.from}, Require: []v1alpha1.Requirement{v1alpha1.Quiet},
			QuietPeriod: metav1.Duration{Duration: 30 * time.Minute}},
	}
	w.Expect(w.client.Create(w.ctx, removal)).To(Succeed())
	return removal
}

// looksFor asks for a look right now, and waits until the answer is there.
func (w *world) looksFor(removal *v1alpha1.VersionRemoval) {
	w.t.Helper()
	at := time.Now().Format(time.RFC3339Nano)
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, meta.ReconcileRequestAnnotation, at)
	w.Expect(w.client.Patch(w.ctx, removal.DeepCopy(), client.RawPatch(types.MergePatchType, body))).To(Succeed())
	w.until("the gate has looked again", func() bool {
		return w.judge.Gate(w.namespace, removal.Name).Status.LastHandledReconcileAt == at
	})
}
