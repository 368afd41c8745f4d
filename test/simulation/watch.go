package simulation

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// getCRD reads the CRD from etcd.
func (w *wire) getCRD() (any, error) {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	if crd := w.etcd.current(); crd != nil {
		return w.typed(crd), nil
	}
	return nil, apierrors.NewNotFound(crdResource, crdName)
}

// listCRDs is the list of CRDs' metadata that a process asks for at its start.
func (w *wire) listCRDs() any {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	if crd := w.etcd.current(); crd != nil {
		list.Items = append(list.Items, *crdMetadata(w.typed(crd)))
	}
	return list
}

// patchCRD writes the CRD's status.
func (w *wire) patchCRD(a *asked) (any, error) {
	kind := a.Header.Get("Content-Type")
	body := w.believing(kind, a.body)
	epoch := w.epoch()
	time.Sleep(a.route.Report)
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	if epoch != w.etcd.restores {
		return nil, errRestarted
	}
	before := w.etcd.current()
	after, err := patchStatus(before, kind, a.URL.Query().Get("fieldManager"), body)
	if err != nil {
		w.tell("process %d's write to the CRD's status is refused: %s", w.process, short(err))
		return nil, err
	}
	if after != before {
		w.etcd.commit(after)
		w.reported(before, after)
	}
	return w.typed(after), nil
}

// reported is what a process' write to the status claims.
func (w *wire) reported(before, after *apiextensionsv1.CustomResourceDefinition) {
	if len(after.Status.StoredVersions) != len(before.Status.StoredVersions) {
		w.tell("process %d trims storedVersions from %v to %v", w.process, before.Status.StoredVersions, after.Status.StoredVersions)
		w.see(Trimmed)
		w.claims.promise("the trim", after)
	}
	if said := condition(after); said != condition(before) {
		w.tell("process %d says %s", w.process, said)
	}
	if migrated(after) {
		if strings.HasPrefix(condition(before), v1alpha1.ReasonMigrated) && !migrated(before) {
			w.see(Carried)
		}
		w.claims.promise("the condition", after)
	}
	w.claims.check()
}

// watch streams the CRD's changes, each as late as the process sees them.
func (w *wire) watch(ctx context.Context, query url.Values) io.ReadCloser {
	reader, writer := io.Pipe()
	gone := w.gone(ctx)
	w.running.Go(func() {
		<-gone
		_ = writer.CloseWithError(io.EOF)
	})
	w.running.Go(func() {
		s := &stream{wire: w, to: json.NewEncoder(writer), gone: gone}
		s.known, _ = strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
		s.run(query.Get("sendInitialEvents") == "true")
	})
	return reader
}

// stream is one watch.
type stream struct {
	*wire
	to    *json.Encoder
	gone  <-chan struct{}
	known int64 // revisions up to here are not told
	mute  bool  // until there is a revision beyond those
	last  *apiextensionsv1.CustomResourceDefinition
}

func (s *stream) run(fromTheStart bool) {
	next := s.firstUnseen()
	if fromTheStart && !s.begin(next-1) {
		return
	}
	for {
		all, changed := s.revisions()
		if next == len(all) {
			select {
			case <-changed:
				continue
			case <-s.gone:
				return
			}
		}
		if !s.wait(s.visible(all[next].at)) {
			return
		}
		all, _ = s.revisions()
		for next+1 < len(all) && !s.visible(all[next+1].at).After(time.Now()) {
			s.listens(all[next])
			next++ // missed
		}
		if s.listens(all[next]) && !s.show(all[next].crd) {
			return
		}
		next++
	}
}

// listens reports whether a watch hears of a revision. After a restore with later revisions it begins anew. After one that
// deals revisions out once more it goes on from the last one that it knows, and hears of nothing up to there
// (k8s.io/apiserver pkg/storage/cacher/watch_cache.go, getAllEventsSinceLocked).
func (s *stream) listens(d definition) bool {
	switch {
	case d.restored:
		s.mute = !d.bumped
	case d.revision > s.known:
		s.mute = false
	}
	if !s.mute {
		s.known = max(s.known, d.revision)
	}
	return !s.mute
}

// revisions are all of the CRD so far, and what is closed when there is another one.
func (s *stream) revisions() ([]definition, <-chan struct{}) {
	s.etcd.mu.Lock()
	defer s.etcd.mu.Unlock()
	return s.etcd.crds, s.etcd.changed
}

// visible is when a change that was made at this time is seen: Sight later, or when the watch is back. What becomes
// visible at the same moment as a later change is missed.
func (s *stream) visible(at time.Time) time.Time {
	at = at.Add(s.sight)
	for _, e := range s.plan.Events {
		from := s.began.Add(e.At)
		if back := from.Add(e.For); e.Kind == Blind && at.After(from) && at.Before(back) {
			at = back
		}
	}
	if began := s.ready.Add(-startTime); at.After(began) && at.Before(s.ready) {
		at = s.ready
	}
	return at
}

func (s *stream) wait(until time.Time) bool {
	select {
	case <-time.After(time.Until(until)):
		return true
	case <-s.gone:
		return false
	}
}

// firstUnseen is the first revision that the process has not heard of at its start. No API server shows what there was
// before a restore.
func (s *stream) firstUnseen() int {
	s.etcd.mu.Lock()
	defer s.etcd.mu.Unlock()
	for i := len(s.etcd.crds) - 1; i > 0; i-- {
		if s.etcd.crds[i].restored || !s.visible(s.etcd.crds[i].at).After(time.Now()) {
			return i + 1
		}
	}
	return 1
}

// begin shows what there is, and the bookmark that ends it.
func (s *stream) begin(at int) bool {
	s.etcd.mu.Lock()
	crd, revision := s.etcd.crds[at].crd, s.etcd.revision
	s.known = revision
	s.etcd.mu.Unlock()
	if crd != nil && !s.show(crd) {
		return false
	}
	bookmark := &apiextensionsv1.CustomResourceDefinition{}
	bookmark.ResourceVersion = strconv.FormatInt(revision, 10)
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return s.send("BOOKMARK", bookmark)
}

// show tells what has become of the CRD; nil is its deletion.
func (s *stream) show(crd *apiextensionsv1.CustomResourceDefinition) bool {
	was := s.last
	s.last = crd
	switch {
	case crd == nil && was == nil:
		return true
	case crd == nil:
		return s.send("DELETED", was)
	case was == nil:
		return s.send("ADDED", crd)
	default:
		return s.send("MODIFIED", crd)
	}
}

func (s *stream) send(kind string, crd *apiextensionsv1.CustomResourceDefinition) bool {
	return s.to.Encode(map[string]any{"type": kind, "object": s.typed(crd)}) == nil
}

// typed is the CRD as it goes over the wire.
func (w *wire) typed(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	crd.ResourceVersion = w.resourceVersion(crd)
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return crd
}

func crdMetadata(crd *apiextensionsv1.CustomResourceDefinition) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: crd.ObjectMeta}
	m.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	return m
}
