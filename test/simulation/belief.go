package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Belief is a shortcut that a migrator may take, and that others do take: it believes what Moult asks about. A process
// with a belief is the real one, but its wire answers as the belief says where Moult would have asked an API server.
type Belief string

const (
	// Nothing is believed: Moult as it is.
	Nothing Belief = ""
	// TheFirstPassIsEnough: when the first walk has ended, all objects are taken for current.
	TheFirstPassIsEnough Belief = "the first pass is enough"
	// NewIsFresh: an object whose resourceVersion is newer than the storage flip is taken for current.
	NewIsFresh Belief = "a resourceVersion newer than the flip is current"
	// ConflictsAreFresh: an object that somebody else has written meanwhile is taken for current.
	ConflictsAreFresh Belief = "a conflict means that somebody else has rewritten it"
	// CleanIsProved: if storedVersions is clean, all objects are taken for current.
	CleanIsProved Belief = "a clean storedVersions is a proof"
	// FoundIsFine: a stale object that the check has found and rewritten is taken for no sign of others.
	FoundIsFine Belief = "what the check has found is fixed, so all is well"
	// TimeGoesOn: the CRD is taken to be later each time it is seen. Its resourceVersions look as if they could not be
	// compared.
	TimeGoesOn Belief = "no etcd is ever restored"
	// ClaimsNeedNoGuard: the CRD is taken to be as it was when the condition was decided on.
	ClaimsNeedNoGuard Belief = "the condition needs no guard"
	// NotFoundIsGone: an object is taken to be gone if a write to it finds something missing, its Namespace for example.
	NotFoundIsGone Belief = "a write that finds something missing was to an object that is gone"
	// NoGuard: the CRD is taken to be as it was when the trim was decided on.
	NoGuard Belief = "the trim needs no guard"
)

// believes reports whether the write of an object is thought to be unnecessary. Its guard is the resourceVersion that was listed, if
// it has one; again is that the process has written the object since the last flip.
func (w *wire) believes(guard string, again bool) bool {
	if guard == "" {
		return false
	}
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	crd := w.etcd.current()
	switch w.belief {
	case TheFirstPassIsEnough:
		return again
	case NewIsFresh:
		rv, err := strconv.ParseInt(guard, 10, 64)
		return err == nil && rv > w.flipped
	case CleanIsProved:
		return crd != nil && len(crd.Status.StoredVersions) == 1
	case Nothing, ConflictsAreFresh, FoundIsFine, NotFoundIsGone, TimeGoesOn, ClaimsNeedNoGuard, NoGuard:
	}
	return false
}

// isVisited reports the last flip, and whether the process has written an object since: a check writes what a rewrite has written.
func (w *wire) isVisited(name string) (flip int64, visited bool) {
	w.etcd.mu.Lock()
	flip = w.flipped
	w.etcd.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	since, known := w.visited[name]
	return flip, known && since == flip
}

// asListed is an object whose resourceVersion has not moved.
func asListed(name, resourceVersion string) *metav1.PartialObjectMetadata {
	rv, _ := strconv.ParseInt(resourceVersion, 10, 64)
	return record{rv: rv}.metadata(name)
}

// believesGone reports whether an object that can be read is thought to be gone. It needs etcd's lock.
func (w *wire) believesGone(name string) bool {
	gone := w.belief == NotFoundIsGone && w.etcd.orphaned && namespaceOf(name) == other
	if gone && w.absent == nil {
		w.absent = map[string]bool{}
	}
	if gone {
		w.absent[name] = true
	}
	return gone
}

// withoutGone is a list without what is believed to be gone: who believes that does not look again.
func (w *wire) withoutGone(list *metav1.PartialObjectMetadataList) *metav1.PartialObjectMetadataList {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	list.Items = slices.DeleteFunc(list.Items, func(item metav1.PartialObjectMetadata) bool { return w.absent[item.Name] })
	return list
}

const opaque = "opaque-"

// resourceVersion is the CRD's as the migrator sees it.
func (w *world) resourceVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	if w.migrator.Belief == TimeGoesOn {
		return opaque + crd.ResourceVersion
	}
	return crd.ResourceVersion
}

// believing is a write to the CRD's status as the belief has it.
func (w *wire) believing(kind string, body []byte) []byte {
	switch {
	case w.belief == NoGuard, w.belief == ClaimsNeedNoGuard && kind == string(types.ApplyPatchType):
		return unguarded(body)
	case w.belief == TimeGoesOn:
		return bytes.ReplaceAll(body, []byte(opaque), nil)
	}
	return body
}

// unguarded is a write without its precondition.
func unguarded(body []byte) []byte {
	fields := map[string]any{}
	if err := json.Unmarshal(body, &fields); err != nil {
		panic(fmt.Sprintf("not a patch: %s", body))
	}
	if m, ok := fields["metadata"].(map[string]any); ok {
		delete(m, "resourceVersion")
	}
	body, _ = json.Marshal(fields)
	return body
}
