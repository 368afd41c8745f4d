package removal

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/setup"
	"github.com/moult-dev/moult/policies/labelorigin"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/policies/words"
)

// trusted is how long a CRD that was read is taken for what it is, as long as the watch reports no change.
const trusted = 10 * time.Second

// crdReader reads each CRD once for all the VersionRemovals that name it: a CRD can be megabytes. Its answers are
// shared: no caller may change them.
type crdReader struct {
	live     client.Reader
	clock    clock.PassiveClock
	labelKey string

	mu    sync.Mutex
	known map[string]*readCRD
	went  map[string]verdict.Went // of CRDs that have gone, and that a VersionRemoval names
}

// readCRD is a CRD as it was read last. One caller reads, others wait for it.
type readCRD struct {
	mu      sync.Mutex
	crd     *apiextensionsv1.CustomResourceDefinition // as keptOf leaves it; nil if there is none
	at      time.Time
	changed atomic.Bool // since the read began
}

func newCRDReader(live client.Reader, c clock.PassiveClock, labelKey string) *crdReader {
	return &crdReader{live: live, clock: c, labelKey: labelKey, known: map[string]*readCRD{}, went: map[string]verdict.Went{}}
}

// Get is a CRD as it was a moment ago, or nothing. Its error may be NotFound.
func (r *crdReader) Get(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	known := r.entry(name)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.crd != nil && !known.changed.Load() && r.clock.Since(known.at) < trusted {
		return known.crd, nil
	}
	return r.refresh(ctx, name, known)
}

// GetNow is a CRD as it is now: the API server is asked, and if nothing has changed
// it answers with little more than its resourceVersion.
func (r *crdReader) GetNow(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	known := r.entry(name)
	known.mu.Lock()
	defer known.mu.Unlock()
	return r.refresh(ctx, name, known)
}

// Changed notes that a CRD has changed.
func (r *crdReader) Changed(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[name]; known != nil {
		known.changed.Store(true)
	}
}

// Gone notes that a CRD was deleted, and how it was last. A watch that was away has not seen that. One that is being read meanwhile is not kept.
func (r *crdReader) Gone(crd *metav1.PartialObjectMetadata, isSeen bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, crd.Name)
	if isSeen {
		r.went[crd.Name] = verdict.Went{UID: string(crd.UID), Generation: crd.Generation, At: r.clock.Now()}
	}
}

// Went is how the last CRD of a name went, and since when it is missed if it is.
func (r *crdReader) Went(name string, isMissed bool) verdict.Went {
	r.mu.Lock()
	defer r.mu.Unlock()
	went, isKnown := r.went[name]
	switch {
	case !isMissed:
		went.At = time.Time{}
	case went.At.IsZero():
		went.At = r.clock.Now()
	}
	if isMissed || isKnown {
		r.went[name] = went
	}
	return went
}

// Drop forgets a CRD that no VersionRemoval names any more.
func (r *crdReader) Drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, name)
	delete(r.went, name)
}

func (r *crdReader) entry(name string) *readCRD {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[name]
	if known == nil {
		known = &readCRD{}
		r.known[name] = known
	}
	return known
}

// refresh reads what may have changed. The caller holds the entry's lock.
func (r *crdReader) refresh(ctx context.Context, name string, known *readCRD) (*apiextensionsv1.CustomResourceDefinition, error) {
	key, now := types.NamespacedName{Name: name}, r.clock.Now()
	known.changed.Store(false)
	if known.crd != nil {
		live := setup.MetadataOf(name)
		err := r.live.Get(ctx, key, live)
		if err == nil && live.UID == known.crd.UID && live.ResourceVersion == known.crd.ResourceVersion {
			known.at = now
			return known.crd, nil
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.live.Get(ctx, key, crd); err != nil {
		known.crd = nil
		r.forget(name, known)
		return nil, err
	}
	known.crd, known.at = r.keptOf(crd), now
	return known.crd, nil
}

// keptOf is what is looked at of a CRD: a CRD can be megabytes, and a tenant's VersionRemovals may name all of the cluster. A client that may
// patch its status may write any length, and a version into storedVersions as often as it likes.
func (r *crdReader) keptOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	is := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, Generation: crd.Generation, DeletionTimestamp: crd.DeletionTimestamp,
		Labels: labelorigin.Labels(crd.Labels, r.labelKey), Annotations: labelorigin.Annotations(crd.Annotations, r.labelKey),
		ManagedFields: labelorigin.Entries(crd.ManagedFields, r.labelKey, v1alpha1.VersionsRemovable),
	}}
	for _, key := range []string{v1alpha1.RepairOwnersAnnotation, v1alpha1.MigrateStashesAnnotation, v1alpha1.GateNamespacesAnnotation, v1alpha1.BackupAnnotation} {
		if value, ok := crd.Annotations[key]; ok {
			is.Annotations[key] = value
		}
	}
	is.Spec.Group, is.Spec.Scope, is.Spec.Names = crd.Spec.Group, crd.Spec.Scope, setup.Names(crd)
	for _, v := range crd.Spec.Versions {
		is.Spec.Versions = append(is.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage})
	}
	is.Status.StoredVersions = words.Distinct(crd.Status.StoredVersions)
	if c := apihelpers.FindCRDCondition(crd, v1alpha1.VersionsRemovable); c != nil {
		longest := v1alpha1.Message(crd.Generation, strings.Join(crds.Versions(crd), ", ")) // of those that Moult writes
		is.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{
			Type: c.Type, Status: apiextensionsv1.ConditionStatus(shortened(string(c.Status))), Message: words.Clip(c.Message, max(maxKept, len(longest))),
		}}
	}
	if crd.DeletionTimestamp != nil {
		is.Finalizers = words.Of(first(crd.Finalizers, maxBlockers), shortened)
	}
	if c := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating); c != nil && crd.DeletionTimestamp != nil {
		is.Status.Conditions = append(is.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: c.Type, Status: apiextensionsv1.ConditionStatus(shortened(string(c.Status))), Reason: shortened(c.Reason), Message: words.Clip(c.Message, words.MostQuoted),
		})
	}
	return is
}

// forget drops an entry that holds nothing.
func (r *crdReader) forget(name string, known *readCRD) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[name] == known {
		delete(r.known, name)
	}
}

// isGone reports whether err says that a CRD is not there. A proxy before the API server that answers 404 has not looked.
func isGone(err error, crd string) bool { return rewrite.IsGone(err, apiextensionsv1.GroupName, crd) }
