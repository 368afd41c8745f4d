package rewrite

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/moult-dev/moult/policies/words"
)

// The API server lists what lies under any key of a resource in etcd, and reads one object by the key of its name. Somebody may have put an
// object under another key, by hand or from a backup. It cannot be written by its name, and stays at the version that it has.

const (
	onlyThere = "its key in etcd is not that of its name. Look below /registry/%s/ for mod_revision %s. Delete the object by the name in that key, or store it under its own"
	unordered = "it is listed behind %[1]s, so the key in etcd of one of the two is not that of its name. Look below /registry/%[2]s/ for mod_revision %[3]s and %[4]s. Delete that object by the name in its key, then write both once: the API server may list neither"
	alsoThere = "another key in etcd has its name, too. Look below /registry/%s/ for mod_revision %s. Delete the object by the name in that key, then write this one once: the API server no longer lists it"
)

// An object may be from when the CRD had another scope, too. No request reaches it.
const (
	noName      = "it has no name. Look below /registry/%s/ for mod_revision %s, and delete the object by its key in etcd"
	noNamespace = "it has no namespace, and the CRD's scope is Namespaced, so no request reaches it. Look below /registry/%s/ for mod_revision %s. Delete the object by its key in etcd, or store it below a namespace"
	noScope     = "it has a namespace, and the CRD's scope is Cluster, so no request reaches it. Look below /registry/%s/ for mod_revision %s. Delete the object by its key in etcd, or store it without a namespace"
)

// unreachable is why no request reaches an object that is listed; empty if one does.
func (w *Walk) unreachable(item *metav1.PartialObjectMetadata) string {
	switch {
	case item.Name == "":
		return noName
	case w.Scope == apiextensionsv1.NamespaceScoped && item.Namespace == "":
		return noNamespace
	case w.Scope == apiextensionsv1.ClusterScoped && item.Namespace != "":
		return noScope
	}
	return ""
}

// maxUnfound bounds the memory, about 20 bytes each.
const maxUnfound = 1_000_000

// unfound are objects that were listed and not found by their names, as they were listed. As a rule they were deleted in between.
type unfound struct {
	mu     sync.Mutex
	states map[uint64]bool
}

func (u *unfound) add(state uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.states == nil {
		u.states = map[uint64]bool{}
	}
	u.states[state] = true
}

// lookAgain fails the objects that were not found by their names, and are listed again as they were. A proof needs that, and the first walk
// is none.
func (w *Walk) lookAgain(ctx context.Context) error {
	missing := w.unfound.states
	if w.Mode == Rewrite || len(missing) == 0 {
		return nil
	}
	if len(missing) > maxUnfound {
		return &Stopped{Unavailable, fmt.Errorf("%d objects were deleted while they were looked through", len(missing))}
	}
	l := &lister{Walk: w, pages: newReader(newPageSize(w.PageSize), w.newBackoff)}
	l.pages.again = func() {}
	for more := true; more; more = l.pages.token != "" {
		page, err := l.page(ctx)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if item := &page.Items[i]; missing[stateOf(item)] {
				delete(missing, stateOf(item))
				w.collector.notGone(w.misplaced(item, onlyThere))
			}
		}
		l.pages.token = page.Continue
		w.held.give(readingRoom)
	}
	return nil
}

// place is where an object is listed.
type place struct{ name, resourceVersion string }

// strays are why objects of a page fail that are listed out of the order of their names. Objects come in the order of their keys, so two
// with one name, of which a request reaches one only, are never both in order.
func (l *lister) strays(items []metav1.PartialObjectMetadata) (why map[int]string) {
	for i := range items {
		if l.unreachable(&items[i]) != "" {
			continue // it fails by itself, and what is listed behind it does not
		}
		next := place{strings.TrimPrefix(items[i].Namespace+"/"+items[i].Name, "/"), items[i].ResourceVersion}
		if next.name <= l.last.name {
			if why == nil {
				why = map[int]string{}
			}
			why[i] = fmt.Sprintf(unordered, words.Clip(l.last.name, maxName), l.Ownership.Group, l.last.resourceVersion, next.resourceVersion)
		}
		l.last = next
	}
	return why
}

// misplaced is an object under a key that is not that of its name.
func (w *Walk) misplaced(item *metav1.PartialObjectMetadata, why string) FailedObject {
	return FailedObject{types.NamespacedName{Namespace: item.Namespace, Name: item.Name}, reasonMisplaced, fmt.Sprintf(why, w.Ownership.Group, item.ResourceVersion)}
}

// isMisplaced reports whether the object that was read by its name is another one than was listed: it is as it was before that list.
func (v *visitor) isMisplaced(fresh *metav1.PartialObjectMetadata) bool {
	if v.item != v.listed.PartialObjectMetadata || fresh.ResourceVersion == v.item.ResourceVersion {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(fresh.ResourceVersion, v.listed.page.resourceVersion)
	return err == nil && order <= 0
}
