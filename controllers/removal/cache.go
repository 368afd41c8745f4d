package removal

import (
	"slices"
	"strconv"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/words"
)

// newCache holds VersionRemovals and the names of CRDs. How many there are, and how large they are, is up to others,
// tenants among them. So of each object no more is kept than is looked at, and no two are in memory as they came.
func newCache(mgr manager.Manager) (cache.Cache, error) {
	return setup.Cache(mgr, cache.Options{
		DefaultTransform: slim,
		NewInformer: func(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(inPages(lw), object, resync, indexers)
		},
	}, v1alpha1.AddToScheme)
}

// pageSize is how many objects are in memory as they came, where an API server cannot send them one by one (before 1.34). An object can be
// 1.5 MiB, and takes ten times as much decoded if it has a hundred thousand labels.
const pageSize = 4

// inPages lists by pages, and slims each before it asks for the next.
func inPages(lw toolscache.ListerWatcher) *toolscache.ListWatch {
	return setup.InPages(lw, pageSize, slim)
}

// slim drops what is never looked at. It may be called twice for one object.
func slim(in any) (any, error) {
	switch o := in.(type) {
	case *v1alpha1.VersionRemoval:
		slimMetadata(o)
		slimStatus(&o.Status)
	case *metav1.PartialObjectMetadata:
		namesOnly(o)
	}
	return in, nil
}

// slimMetadata is also for one that was read anew: its status is written as the difference of two copies, several of them at a time.
func slimMetadata(o *v1alpha1.VersionRemoval) {
	o.ManagedFields, o.OwnerReferences, o.Finalizers = nil, nil, nil
	o.Labels = kept(o.Labels, fluxName, fluxNamespace, argoInstance)
	o.Annotations = kept(o.Annotations, v1alpha1.PausedAnnotation, meta.ReconcileRequestAnnotation, argoTracking)
}

// slimStatus leaves as much as Moult itself writes: a client that may patch the status may write any length.
func slimStatus(s *v1alpha1.VersionRemovalStatus) {
	s.LastHandledReconcileAt = shortened(s.LastHandledReconcileAt)
	s.Conditions, s.StoredVersions = first(s.Conditions, 8), first(s.StoredVersions, maxStoredVersions)
	s.Blockers, s.Warnings = first(s.Blockers, maxBlockers), first(s.Warnings, maxBlockers)
	for i, version := range s.StoredVersions {
		if len(version) > maxKept { // else it may be shared, and is not written to
			s.StoredVersions[i] = shortened(version)
		}
	}
	for _, blockers := range [][]v1alpha1.Blocker{s.Blockers, s.Warnings} {
		for i, b := range blockers {
			if max(len(b.Kind), len(b.Message), len(b.Action)) > maxKept {
				blockers[i] = v1alpha1.Blocker{Kind: shortened(b.Kind), Message: words.Clip(b.Message, maxText), Action: words.Clip(b.Action, maxText)}
			}
		}
	}
	if s.Proof != nil {
		s.Proof.UID, s.Proof.StorageVersion = shortened(s.Proof.UID), shortened(s.Proof.StorageVersion)
	}
	if s.Progress != nil {
		s.Progress.Summary = shortened(s.Progress.Summary)
	}
}

// What a status holds at most. A CRD has few stored versions, and the texts quote objects.
const (
	maxStoredVersions = 64
	maxBlockers       = 20
	maxText           = 2 << 10 // characters of a blocker, so that a status fits into etcd if each is six bytes in JSON
)

// first is a copy of what is kept: a part of a list keeps all of it in memory.
func first[T any](of []T, most int) []T {
	if len(of) <= most {
		return of
	}
	return slices.Clone(of[:most])
}

// maxKept is how much of a label's or an annotation's value is kept, in characters. None
// that means anything to us is longer.
const maxKept = 1024

func shortened(value string) string { return words.Clip(value, maxKept) }

func kept(of map[string]string, keys ...string) map[string]string {
	var some map[string]string
	for _, key := range keys {
		if value, ok := of[key]; ok {
			if some == nil {
				some = map[string]string{}
			}
			some[key] = shortened(value)
		}
	}
	return some
}

// namesOnly drops everything from a CRD's metadata but its identity, its generation, and whether it
// may be approved.
func namesOnly(crd *metav1.PartialObjectMetadata) {
	if crd.CreationTimestamp.IsZero() {
		return // as this leaves it
	}
	crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, Generation: crd.Generation,
		Annotations: map[string]string{v1alpha1.VersionsRemovable: strconv.FormatBool(namesApproval(crd.ManagedFields))}}
}

// namesApproval reports by the field managers, which is all that is known of a CRD in the cache, whether its status may
// have the condition. Without any, it may.
func namesApproval(entries []metav1.ManagedFieldsEntry) bool {
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return crds.Owns(e, v1alpha1.VersionsRemovable)
	})
}

// mayBeApproved reads what namesOnly has kept.
func mayBeApproved(crd *metav1.PartialObjectMetadata) bool {
	return crd.Annotations[v1alpha1.VersionsRemovable] == strconv.FormatBool(true)
}
