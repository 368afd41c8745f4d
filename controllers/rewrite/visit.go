package rewrite

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// phase is where an object is on the way to its outcome. The set is closed.
type phase int

const (
	// toAsk: a check sends a write that changes nothing, to see whether the
	// object is stale.
	toAsk phase = iota
	// toAskAgain: that write was stored; another one shows whether every write is.
	toAskAgain
	// toRewrite: a write that changes nothing has the object stored again.
	toRewrite
	// toRepair: a write moves entries of managedFields, which stores the object
	// again as well.
	toRepair
	// ended: the object has its outcome.
	ended
)

// visitor brings one object to its outcome.
type visitor struct {
	*Walk
	item   *metav1.PartialObjectMetadata // as last read
	listed listed
	phase  phase
	found  Outcome // what plain writes have shown of it; empty until one has

	// What has happened to it on the way, whichever phase it is in.
	backoff   *backoff
	flakes    int  // errors that may be this object's own
	races     int  // lost to other clients
	overtaken bool // written by another client since it was listed
	unsure    bool // a plain write was sent whose answer never came
	moves     int  // how many checks in a row, this one too, have stored it again

	looked string          // the resourceVersion at which the guard has let it pass
	passed string          // the resourceVersion at which admission takes nothing away that it may not
	held   map[string]bool // entries that have to stay at their version, by keyOf
	losses []Loss          // what the last move of entries costs their managers
	room   *answers
}

// visit brings one object to its outcome. The error is the end of the walk.
func (w *Walk) visit(ctx context.Context, item listed) error {
	v := &visitor{Walk: w, item: item.PartialObjectMetadata, listed: item, backoff: w.newBackoff(), room: &answers{visits: w.visits}}
	if why := w.unreachable(item.PartialObjectMetadata); why != "" {
		v.failed(w.misplaced(v.item, why))
		return nil
	}
	if v.begin(w.provedBy(item.ResourceVersion)); v.phase == ended {
		w.noteWriters(v.item)
		return nil
	}
	err := v.room.makeRoom(ctx, item.size)
	if err != nil {
		return err
	}
	defer v.room.leave()
	ctx = v.room.within(ctx)
	for v.phase != ended && err == nil {
		err = v.step(ctx)
	}
	w.noteWriters(v.item) // as last read: an earlier look may miss a writer whose entry was moved
	return err
}

// begin chooses the first phase of an object as it was read. A repair stores the object whether it was stale or not, so
// a check asks first by a plain write. So does a walk behind a webhook. What changes an object is applied to what an API server's cache has of it,
// perhaps from when the webhook was wrong; a plain write is of what etcd has. It is skipped if it would make the API server clear managedFields.
func (v *visitor) begin(proved bool) {
	lost := slices.ContainsFunc(v.item.ManagedFields, v.Ownership.lost)
	switch {
	case v.Mode == Check && !proved && !lost:
		v.phase = toAsk
	case v.Mode == Rewrite && v.Converts && !lost:
		v.phase = toRewrite
	case v.affects(v.item):
		v.phase = toRepair
	case proved || v.Mode == Survey:
		v.end(Current)
	default:
		v.phase = toRewrite
	}
}

// step takes an object one request further.
func (v *visitor) step(ctx context.Context) error {
	if may, err := v.guarded(ctx); !may || err != nil {
		return err
	}
	if may, err := v.spared(ctx); !may || err != nil {
		return err
	}
	switch v.phase {
	case toAsk:
		return v.write(ctx, v.plain(), v.asked)
	case toAskAgain:
		return v.write(ctx, v.plain(), v.askedAgain)
	case toRewrite:
		return v.write(ctx, v.plain(), v.rewritten)
	case toRepair:
		return v.repair(ctx)
	case ended:
	}
	return nil
}

// plain is the write that changes nothing. It is guarded by the resourceVersion, so that what it shows is about the object that was
// read. And an API server that goes by an earlier CRD does not drop what has come since. An object that is written all the time
// gets one that cannot lose a race.
func (v *visitor) plain() *write {
	if v.races > maxRaces {
		return &emptyPatch
	}
	return guardedPatch(v.item.ResourceVersion)
}

// answer is what an accepted write shows.
type answer struct {
	moved   bool // it was stored
	altered bool // with other content than the object had
	now     *metav1.PartialObjectMetadata
}

// asked: the API server stores a write that changes nothing only if the object was
// stale, or if something changes the object at that moment. In the latter case it
// cannot be told whether it was stale, too.
func (v *visitor) asked(a answer) {
	if a.moved {
		v.moves = v.Moves.of(v.item) + 1
	}
	switch {
	case v.found == Rewritten: // known before
	case v.overtaken && (!a.moved || v.races > maxRaces):
		v.found = Overtaken
	case a.altered:
		v.found = Altered
	case a.moved && v.Moves.of(v.item) >= enoughMoves:
		v.found = Altered
		v.collector.altered(Alteration{NamespacedName: v.key()})
	case a.moved:
		v.found = Rewritten
		if !v.affects(a.now) {
			v.item, v.phase = a.now, toAskAgain
			return
		}
	default:
		v.found = Current
	}
	v.conclude(a)
}

// askedAgain: an object that moves once more has just been written at the storage
// version, so something changes it at every write.
func (v *visitor) askedAgain(a answer) {
	if a.moved {
		v.found = Altered
		v.collector.altered(Alteration{NamespacedName: v.key()})
	}
	v.conclude(a)
}

// rewritten: an object that did not move was current.
func (v *visitor) rewritten(a answer) {
	if a.moved {
		v.found = Rewritten
	} else if v.found == "" {
		v.found = Current
	}
	v.conclude(a)
}

// conclude ends with what was found, unless managedFields have to be repaired
// first: they may have been found so, or an old client has written since.
func (v *visitor) conclude(a answer) {
	if v.affects(a.now) {
		v.item, v.phase = a.now, toRepair
		return
	}
	if v.moves > 0 {
		v.mover.add(a.now, v.moves)
	}
	v.end(v.found)
}

// repair moves the entries of managedFields that have to be, and may be. Once
// another client has been quicker, only what the move depends on has to be as it was.
func (v *visitor) repair(ctx context.Context) error {
	moved, err := v.move(ctx)
	switch {
	case isEnd(err):
		return err
	case err != nil:
		v.fail(reasonOther, err)
		return nil
	case !v.affects(v.item):
		v.leave()
		return nil
	}
	replace := replaceEntries
	if v.races > maxRaces {
		replace = replaceTheseEntries
	}
	write, err := replace(v.item, moved)
	if err != nil {
		v.fail(reasonOther, err)
		return nil
	}
	return v.write(ctx, write, v.repaired)
}

// leave goes on with an object of which all entries have to stay as they are.
func (v *visitor) leave() {
	switch {
	case v.Mode == Check && v.found == Rewritten:
		v.phase = toAskAgain // which was put off for the repair
	case v.found != "":
		v.end(v.found)
	case v.Mode == Rewrite:
		v.phase = toRewrite
	case v.Mode == Check && !v.provedBy(v.item.ResourceVersion):
		v.phase = toAsk // nothing has shown yet how it is stored
	default:
		v.end(Current)
	}
}

// repaired: that a plain write stored the object before is not hidden by it.
func (v *visitor) repaired(a answer) {
	switch {
	case v.affects(a.now):
		v.fail(reasonOwnership, errNotMoved)
	case v.found == Rewritten, v.found == Altered:
		v.end(v.found)
	default:
		v.end(Repaired)
	}
}

// affects reports whether entries of an object's managedFields have to be moved, as
// far as is known.
func (v *visitor) affects(item *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(item.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return v.Ownership.affects(e) && !v.held[keyOf(e)]
	})
}

func (v *visitor) end(o Outcome) {
	if v.listed.stray != "" {
		v.fail(reasonMisplaced, errors.New(v.listed.stray))
		return
	}
	if o == Gone {
		v.unfound.add(stateOf(v.listed.PartialObjectMetadata))
	} else {
		v.collector.lost(v.losses)
	}
	v.collector.add(o)
	v.phase = ended
}

func (v *visitor) fail(reason string, err error) {
	v.failed(FailedObject{NamespacedName: v.key(), Reason: reason, Message: err.Error()})
}

func (v *visitor) failed(f FailedObject) {
	v.collector.fail(f)
	v.phase = ended
}

func (v *visitor) key() types.NamespacedName {
	return types.NamespacedName{Namespace: v.item.Namespace, Name: v.item.Name}
}

// provedBy reports whether an object's resourceVersion alone proves it.
func (w *Walk) provedBy(rv string) bool {
	if w.Mode != Check || w.ProvedAfter == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(rv, w.ProvedAfter)
	return err == nil && order > 0
}
