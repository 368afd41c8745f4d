package simulation

// Sight is something that makes a play worth playing. The set is closed.
type Sight string

const (
	// Trimmed: storedVersions was trimmed.
	Trimmed Sight = "a trim"
	// GateOpened: a VersionRemoval was answered with Ready.
	GateOpened Sight = "an open gate"
	// LateWrite: an object was stored at a version that was no longer the storage version.
	LateWrite Sight = "a write at a former storage version"
	// RewrittenBack: one that had been at the storage version was.
	RewrittenBack Sight = "an object taken back to a former storage version"
	// WronglyElided: a server took an object for current that was not, because it lagged.
	WronglyElided Sight = "a write elided at a former storage version"
	// LateRequest: a write of Moult's was carried out after its process had been killed.
	LateRequest Sight = "a write of a killed process"
	// TwoAtOnce: two processes were at work together.
	TwoAtOnce Sight = "two processes at once"
	// ExpiredList: a list expired between two pages.
	ExpiredList Sight = "an expired list"
	// LostAnswer: a write of Moult's was carried out, but the answer was lost.
	LostAnswer Sight = "a lost answer"
	// Refused: a server that was down refused a request.
	Refused Sight = "a refused request"
	// Orphaned: a write was refused because the object's Namespace is gone.
	Orphaned Sight = "an object whose Namespace is gone"
	// Restored: etcd was put back to what it held before.
	Restored Sight = "a restore of etcd"
	// Carried: a proof was carried over to another generation.
	Carried Sight = "a proof carried over an edit"
)

// see notes a sight.
func (w *world) see(s Sight) {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.seen[s] = true
}

// seeWrite looks at a write that is about to be stored. It needs etcd's lock.
func (w *world) seeWrite(before *record, version string) {
	crd := w.etcd.current()
	if crd == nil || version == storageVersion(crd) {
		return
	}
	w.see(LateWrite)
	if before != nil && before.version == storageVersion(crd) {
		w.see(RewrittenBack)
	}
}

// seeElided looks at a write that is not stored. It needs etcd's lock.
func (w *world) seeElided(version string) {
	if crd := w.etcd.current(); crd != nil && version != storageVersion(crd) {
		w.see(WronglyElided)
	}
}
