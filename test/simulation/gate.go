package simulation

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/verdict"
)

// asker is the VersionRemoval that wants the leaving versions to go.
var asker = types.NamespacedName{Namespace: "default", Name: "widgets-leave"}

// watchGate does for a VersionRemoval what a process' removal reconciler does, by the same verdict: when the migration
// gets further, and now and then. What is found safe is remembered in its status, for all processes.
func (w *world) watchGate(ctx context.Context, process int, store *migration.StateStore) {
	store.Ask(crdName, asker, plan.Removal{Versions: leaving})
	for {
		select {
		case <-ctx.Done():
			return
		case <-store.Changes():
		case <-time.After(10 * time.Second):
		}
		time.Sleep(time.Duration(100+process) * time.Microsecond) // until all is quiet: it is never the same who is first
		w.judge(store)
	}
}

func (w *world) judge(store *migration.StateStore) {
	w.etcd.mu.Lock()
	crd := w.etcd.current()
	w.etcd.mu.Unlock()
	if crd == nil {
		return // Ready, since nothing is stored
	}
	s := verdict.Situation{
		Now: time.Now(), Removal: v1alpha1.VersionRemovalSpec{CRDName: crdName, Versions: leaving}, LabelKey: v1alpha1.MigrateLabel,
		CRD: &verdict.CRD{
			Subject:         plan.Subject{UID: string(crd.UID), Generation: crd.Generation, StorageVersion: storageVersion(crd)},
			ResourceVersion: w.resourceVersion(crd),
			OptedIn:         true, InScope: true, StoredVersions: crd.Status.StoredVersions,
		},
	}
	for _, v := range crd.Spec.Versions {
		s.CRD.Versions = append(s.CRD.Versions, verdict.Version{Name: v.Name, Served: v.Served})
	}
	if status, known := store.Status(crdName); known {
		s.Migration = &status
	}
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	s.Remembered = w.remembered
	v := verdict.Judge(s)
	w.remembered = v.Proof
	if ready := v.State == verdict.Ready; ready != w.open {
		w.open = ready
		w.tell("the gate says %s: %s", v.Reason, v.Message)
	}
	if v.State == verdict.Ready {
		w.see(GateOpened)
		w.claims.promise("the gate", crd)
		w.claims.check()
	}
}
