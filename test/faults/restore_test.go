package faults_test

import (
	"strconv"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/faults"
)

// alone is a control plane that is stopped and restored.
var alone = []controlplane.Option{controlplane.Own("etcd is restored")}

// ungated has no gate change the CRD, so that a restore can leave it as it is.
func ungated(_ *world, crd *builders.CRDBuilder) {
	crd.Annotation(v1alpha1.GateNamespacesAnnotation, "nobody")
}

// noticed is how a moult-controller says that it has noticed.
const noticed = "etcd was restored to an older state"

// restore puts etcd back. The judge after it knows nothing of what is undone.
func (w *world) restore(b controlplane.Backup) {
	w.t.Helper()
	w.sync()
	w.Expect(w.judge.Lie()).To(Succeed())
	w.judge.Close()
	w.Expect(w.cp.Restore(b)).To(Succeed())
	judge, err := faults.NewJudge(w.ctx, w.cp.Etcd().Endpoint, w.group, w.written)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(judge.Close)
	w.judge = judge
}

func (w *world) backup() controlplane.Backup {
	w.t.Helper()
	b, err := w.cp.Backup()
	w.Expect(err).NotTo(HaveOccurred())
	return b
}

// restoredBeforeTheGateOpened restores etcd to when managedFields of all objects named the old version. The survey that
// opened the gate is later than that, and the CRD has not changed in between.
func restoredBeforeTheGateOpened(w *world) {
	w.flip()
	w.begin()
	w.keep("--survey-interval", "1h")
	before, newest := w.opensAfterABackup()
	w.restore(before)
	w.until("the controller notices", func() bool { return w.logged(noticed) })
	w.goesOnBeyond(newest)
}

// restoredWhileTheControllerIsAway does the same while there is no controller. The next one has no memory of what is undone.
func restoredWhileTheControllerIsAway(w *world) {
	w.flip()
	w.begin()
	p := w.run("--survey-interval", "1h")
	before, newest := w.opensAfterABackup()
	p.kill()
	w.restore(before)
	w.keep("--survey-interval", "1h")
	w.goesOnBeyond(newest)
}

// opensAfterABackup makes a backup when the survey has begun and has not yet written, and waits for the gate to open. It
// returns etcd's revision at the end.
func (w *world) opensAfterABackup() (before controlplane.Backup, newest int64) {
	w.t.Helper()
	w.until("both CRDs are migrated", func() bool {
		return w.reason("widgets") == v1alpha1.ReasonMigrated && w.reason("gadgets") == v1alpha1.ReasonMigrated
	})
	goOn := make(chan struct{})
	surveyed := w.proxy.Inject(faults.Rule{Verbs: patch, Path: widgetPath, Fault: faults.Hold(goOn)})
	w.ask()
	w.until("the survey has begun", func() bool {
		return surveyed.Hits() > 0 && w.verdict() == "False "+v1alpha1.ReasonRepairingOwnership
	})
	w.sync()
	crd := w.live("widgets")
	before = w.backup()
	surveyed.Heal()
	close(goOn)
	w.until("the gate opens", func() bool { return w.verdict() == "True "+v1alpha1.ReasonSafeToRemove })
	newest, err := w.judge.Now(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.live("widgets").ResourceVersion).To(Equal(crd.ResourceVersion), "the CRD must not show what is undone")
	return before, newest
}

// goesOnBeyond has others write until etcd gives out later revisions than before it was restored, so that a watch that goes on
// from there sees something again, and then touches the gate.
func (w *world) goesOnBeyond(newest int64) {
	w.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "later-"}}
	w.Expect(w.client.Create(w.ctx, m)).To(Succeed())
	for revision := int64(0); revision <= newest; {
		m.Data = map[string]string{"seen": m.ResourceVersion}
		w.Expect(w.client.Update(w.ctx, m)).To(Succeed())
		var err error
		revision, err = strconv.ParseInt(m.ResourceVersion, 10, 64)
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.sync()
	w.Expect(w.client.Patch(w.ctx, w.gate().DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"yes"}}}`)))).To(Succeed())
}

// restoredInMidCheck restores etcd to when a check had begun and one object was stale, by a write that had landed late. Another
// client has rewritten that object since, so the check finds it current, and the trim names a CRD that is as it was.
func restoredInMidCheck(w *world) {
	w.settle = 4 * shortly
	w.flip()
	w.begin()
	w.keep("--survey-interval", "1h")
	w.until("the settle time runs", func() bool { return w.reason("widgets") == v1alpha1.ReasonSettling })
	late := name(0)
	w.Expect(w.cp.Etcd().Put(w.ctx, w.widget(), w.namespace, late, w.before["widgets"][w.namespace+"/"+late])).To(Succeed())

	goOn, end := make(chan struct{}), make(chan struct{})
	others := w.writes()
	held := w.proxy.Inject(faults.Rule{Verbs: patch, Path: theFirst, Fault: faults.Hold(goOn)})
	last := w.proxy.Inject(faults.Rule{Verbs: patch, Path: theSeventh, Fault: faults.Hold(end)})
	w.until("the check has asked about all objects but two", func() bool {
		return w.reason("widgets") == v1alpha1.ReasonVerifying && held.Hits() > 0 && last.Hits() > 0 && others.Hits() >= w.widgets-2
	})
	w.sync()
	crd, before := w.live("widgets"), w.backup()
	_, err := w.at(w.cp.Config, "v1", "widgets", w.namespace).Patch(w.ctx, late, types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"yes"}}}`), metav1.PatchOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	close(goOn)
	w.until("the check has asked about the late one", func() bool { return held.Hits() > 1 })
	w.Expect(w.live("widgets").ResourceVersion).To(Equal(crd.ResourceVersion), "the CRD must not show what is undone")
	w.restore(before)
	w.Expect(w.stored("widgets")).To(HaveKeyWithValue("v1alpha1", 1))
	close(end)
}
