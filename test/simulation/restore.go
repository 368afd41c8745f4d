package simulation

import (
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// backup is a snapshot of etcd, with what was claimed and known to be wrong at its time.
type backup struct {
	revision   int64
	objects    map[string]record
	crd        *apiextensionsv1.CustomResourceDefinition
	remembered *v1alpha1.ProofStatus
	open       bool
	promises   map[string]promise
	excused    bool
	orphaned   bool
}

// backup takes the snapshot that an event restores.
func (w *world) backup(e Event) {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	w.backups[e] = backup{
		revision: w.etcd.revision, objects: maps.Clone(w.etcd.objects), crd: w.etcd.current(),
		remembered: w.remembered, open: w.open, promises: maps.Clone(w.claims.promises), excused: w.claims.excused,
		orphaned: w.etcd.orphaned,
	}
}

// bump is by how much a restore raises the revisions.
const bump = 1_000_000

// restore puts etcd back. What was claimed since then has gone with it; what was claimed before still stands there.
func (w *world) restore(e Event) {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	b, reached := w.backups[e], w.etcd.revision
	w.etcd.objects, w.etcd.revision = maps.Clone(b.objects), b.revision
	w.etcd.past = slices.DeleteFunc(w.etcd.past, func(c change) bool { return c.rv > b.revision })
	if e.Bumped {
		w.etcd.revision = reached + bump
		w.etcd.compacted = w.etcd.revision
	}
	w.etcd.orphaned = b.orphaned
	w.etcd.oldest = w.etcd.revision
	w.etcd.restores++
	w.etcd.define(definition{at: time.Now(), crd: b.crd, revision: w.etcd.revision, restored: true, bumped: e.Bumped})
	w.remembered, w.open = b.remembered, b.open
	w.claims.promises, w.claims.excused = maps.Clone(b.promises), b.excused
	w.see(Restored)
	w.claims.check()
}

// epoch counts the restores: a request that began before the last one comes to nothing.
func (w *world) epoch() int {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	return w.etcd.restores
}
