package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
		if e.crds[i].restored || !e.crds[i].at.Add(lag).After(now) {
			return e.crds[i].crd
		}
	}
	return e.crds[0].crd
}

// call is one request for a write: which server takes it and on whose behalf, and what the server decided when it began:
// the CRD that it goes by to the end.
type call struct {
	server  int
	who     string
	crd     *apiextensionsv1.CustomResourceDefinition
	decided time.Time
	epoch   int // of etcd's restores
}

// begin has a server decide on the version to encode at.
func (w *world) begin(server int, who string) (call, error) {
	c := call{server: server, who: who, crd: w.view(server), decided: time.Now(), epoch: w.epoch()}
	if c.crd == nil {
		return c, errNotServed
	}
	return c, nil
}

// commit is what an API server does to store an object (k8s.io/apiserver pkg/storage/etcd3/store.go, GuaranteedUpdate):
// it applies the change to what etcd holds by now, and writes nothing if the bytes are the same. modify is given nil if
// there is no such object, and deletes by returning nil. Whatever is not a deletion needs the object's Namespace
// (pkg/admission/plugin/namespace/lifecycle), even if nothing would be written.
func (w *world) commit(c call, name string, modify func(*record) (*record, error)) (record, error) {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	if c.epoch != w.etcd.restores {
		return record{}, errRestarted
	}
	before := w.etcd.get(name)
	after, err := modify(w.etcd.get(name))
	if err != nil {
		w.tell("server %d refuses %s of %s: %s", c.server, c.who, name, short(err))
		return record{}, err
	}
	if after != nil && w.etcd.orphaned && namespaceOf(name) == other {
		w.see(Orphaned)
		w.tell("server %d refuses %s of %s: its Namespace is gone", c.server, c.who, name)
		return record{}, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, other)
	}
	if after == nil {
		w.etcd.remove(name)
		w.tell("%s is deleted", name)
		return record{}, nil
	}
	after.version = storageVersion(c.crd)
	if before != nil && before.content == after.content && before.version == after.version {
		w.seeElided(after.version)
		w.tell("server %d finds %s at %s already (%s%s)", c.server, name, after.version, c.who, w.ago(c.decided))
		return *before, nil
	}
	w.seeWrite(before, after.version)
	stored := w.etcd.put(name, *after)
	w.tell("server %d stores %s at %s (%s%s)", c.server, name, after.version, c.who, w.ago(c.decided))
	w.claims.check()
	return stored, nil
}

// patch changes nothing of an object, under the precondition of a resourceVersion if there is one. It commits after the
// time that the request is under way.
func (w *world) patch(r Route, who, name, resourceVersion string) (record, error) {
	c, err := w.begin(r.Server, who)
	if err != nil {
		return record{}, err
	}
	time.Sleep(r.Hold)
	return w.commit(c, name, func(r *record) (*record, error) {
		if r == nil {
			return nil, apierrors.NewNotFound(resource, name)
		}
		if resourceVersion != "" && resourceVersion != strconv.FormatInt(r.rv, 10) {
			return nil, apierrors.NewConflict(resource, name, fmt.Errorf("the object has been modified"))
		}
		return r, nil
	})
}

// dryRun is a patch that is not stored. Nothing changes objects as they are written.
func (w *world) dryRun(name, resourceVersion string) (any, error) {
	w.etcd.mu.Lock()
	defer w.etcd.mu.Unlock()
	switch r := w.etcd.get(name); {
	case r == nil:
		return nil, apierrors.NewNotFound(resource, name)
	case resourceVersion != "" && resourceVersion != strconv.FormatInt(r.rv, 10):
		return nil, apierrors.NewConflict(resource, name, errors.New("the object has been modified"))
	default:
		return r.metadata(name), nil
	}
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
		switch {
		case p.revision == 0:
			p.revision = w.etcd.revision // the inconsistent rest of an expired list
		case p.revision > w.etcd.revision:
			return page{}, apierrors.NewInternalError(errors.New("required revision is a future revision"))
		case r.Expires, p.revision <= w.etcd.compacted:
			w.see(ExpiredList)
			return page{}, expired("0/" + from)
		}
	}
	p.objects = w.etcd.asOf(p.revision)
	p.cut(from, limit)
	return p, nil
}

// cut leaves what comes after a name, as far as the limit. A list is in the order of the keys.
func (p *page) cut(from string, limit int) {
	for name := range p.objects {
		if from == "" || keyOf(name) > keyOf(from) {
			p.names = append(p.names, name)
		}
	}
	slices.SortFunc(p.names, func(a, b string) int { return cmp.Compare(keyOf(a), keyOf(b)) })
	if left := len(p.names) - limit; limit > 0 && left > 0 {
		p.names, p.left = p.names[:limit], int64(left)
		p.next = fmt.Sprintf("%d/%s", p.revision, p.names[limit-1])
	}
}

// errRestarted is what comes of a request whose server is started anew.
var errRestarted = apierrors.NewServiceUnavailable("the API server is restarted")

// errNotServed is what a server answers that knows no such CRD.
var errNotServed = fmt.Errorf("404 page not found")

// expired is the answer to a continue token that is too old; it carries another one.
func expired(token string) error {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old")
	err.ErrStatus.ListMeta = metav1.ListMeta{Continue: token}
	return err
}
