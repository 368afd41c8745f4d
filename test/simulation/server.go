package simulation

import (
	"fmt"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var resource = schema.GroupResource{Group: group, Resource: plural}

// view is the CRD as an API server knows it: each change reaches it as late as its Lag says.
func (w *world) view(server int) *apiextensionsv1.CustomResourceDefinition {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	return w.etcd.crdSeenAfter(w.plan.Servers[server].Lag)
}

// crdSeenAfter is the CRD as it was a while ago. It needs the lock.
func (e *etcd) crdSeenAfter(lag time.Duration) *apiextensionsv1.CustomResourceDefinition {
	now := time.Now()
	for i := len(e.crds) - 1; i > 0; i-- {
		if !e.crds[i].at.Add(lag).After(now) {
			return e.crds[i].crd
		}
	}
	return e.crds[0].crd
}

// call is one request for a write: which server takes it, how long after it was decided it commits, and on whose behalf.
type call struct {
	server int
	hold   time.Duration
	who    string
}

// write is what an API server does to store an object (k8s.io/apiserver pkg/storage/etcd3/store.go, GuaranteedUpdate):
// it decides on the version to encode at when the request begins, and when the moment of the commit comes, it applies
// the change to what etcd holds by then, and writes nothing if the bytes are the same. modify is given nil if there is no
// such object, and deletes by returning nil.
func (w *world) write(c call, name string, modify func(*record) (*record, error)) (record, error) {
	crd, decided := w.view(c.server), time.Now()
	if crd == nil {
		return record{}, errNotServed
	}
	time.Sleep(c.hold)

	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	before := w.etcd.get(name)
	after, err := modify(w.etcd.get(name))
	if err != nil {
		w.tell("server %d refuses %s of %s: %s", c.server, c.who, name, short(err))
		return record{}, err
	}
	if after == nil {
		w.etcd.remove(name)
		w.tell("%s is deleted", name)
		return record{}, nil
	}
	after.version = storageVersion(crd)
	if before != nil && before.data == after.data && before.version == after.version {
		w.seeElided(after.version)
		w.tell("server %d finds %s at %s already (%s%s)", c.server, name, after.version, c.who, w.ago(decided))
		return *before, nil
	}
	w.seeWrite(before, after.version)
	stored := w.etcd.put(name, *after)
	w.tell("server %d stores %s at %s (%s%s)", c.server, name, after.version, c.who, w.ago(decided))
	w.claims.check()
	return stored, nil
}

// patch changes nothing of an object, under the precondition of a resourceVersion if there is one.
func (w *world) patch(c call, name, resourceVersion string) (record, error) {
	return w.write(c, name, func(r *record) (*record, error) {
		if r == nil {
			return nil, apierrors.NewNotFound(resource, name)
		}
		if resourceVersion != "" && resourceVersion != strconv.FormatInt(r.rv, 10) {
			return nil, apierrors.NewConflict(resource, name, fmt.Errorf("the object has been modified"))
		}
		return r, nil
	})
}

// page is one page of a list of objects.
type page struct {
	names    []string
	objects  map[string]record
	revision int64
	next     string // continue token
	left     int64
}

// list is one page, of the objects as they were a while ago or as a continue token says.
func (w *world) list(r Route, limit int, token string) (page, error) {
	if w.view(r.Server) == nil {
		return page{}, errNotServed
	}
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	from, p := "", page{revision: w.etcd.revisionAt(time.Now().Add(-r.Age))}
	if token != "" {
		if _, err := fmt.Sscanf(token, "%d/%s", &p.revision, &from); err != nil {
			return page{}, apierrors.NewBadRequest("continue: " + err.Error())
		}
		if p.revision == 0 {
			p.revision = w.etcd.revision // the inconsistent rest of an expired list
		} else if r.Expires {
			w.see(ExpiredList)
			return page{}, expired("0/" + from)
		}
	}
	p.objects = w.etcd.asOf(p.revision)
	p.cut(from, limit)
	return p, nil
}

// cut leaves what comes after a name, as far as the limit.
func (p *page) cut(from string, limit int) {
	for _, name := range sorted(p.objects) {
		if name > from {
			p.names = append(p.names, name)
		}
	}
	if left := len(p.names) - limit; limit > 0 && left > 0 {
		p.names, p.left = p.names[:limit], int64(left)
		p.next = fmt.Sprintf("%d/%s", p.revision, p.names[limit-1])
	}
}

// errNotServed is what a server answers that knows no such CRD.
var errNotServed = fmt.Errorf("404 page not found")

// expired is the answer to a continue token that is too old; it carries another one.
func expired(token string) error {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old")
	err.ErrStatus.ListMeta = metav1.ListMeta{Continue: token}
	return err
}
