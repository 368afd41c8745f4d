package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Judge watches the whole of etcd while a migration runs, one revision after the other, and tells the first lie: a
// storedVersions or an open gate that says an object cannot be there which is, a trim before every object was proved, an
// object deleted. It asks no API server and believes no condition.
type Judge struct {
	group   string
	written func(path string) time.Time
	client  *clientv3.Client
	stop    context.CancelFunc
	stopped chan struct{}

	mu       sync.Mutex
	history  history
	window   window
	mayGo    bool // objects may be deleted
	lie, err error
}

// window is from when on a write is late enough to prove an object.
type window struct {
	opens    time.Time
	revision int64 // the last one seen before: a later one may have come after
}

// NewJudge watches the CRDs of one API group, their objects, and the VersionRemovals that name them, from what is there
// now. Written is when the last accepted write to an object came, as Proxy.Written does. The caller must Close it.
func NewJudge(ctx context.Context, etcd, group string, written func(path string) time.Time) (*Judge, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	history, err := present(ctx, client, group)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	j := &Judge{group: group, written: written, client: client, stop: stop, stopped: make(chan struct{}), history: history}
	events := client.Watch(watching, "\x00", clientv3.WithFromKey(), clientv3.WithRev(history.revision+1))
	go j.watch(events)
	return j, nil
}

// Close ends the watch.
func (j *Judge) Close() {
	j.stop()
	<-j.stopped
	_ = j.client.Close()
}

// Flips is told right before the storage version is changed. From then on nothing is proved by a write that comes before
// the settle time is over.
func (j *Judge) Flips(settle time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.window = window{opens: time.Now().Add(settle), revision: j.history.revision}
}

// AllowDeletes is told before objects are deleted by somebody who may.
func (j *Judge) AllowDeletes() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mayGo = true
}

// Lie is the first lie, nil as long as all was true.
func (j *Judge) Lie() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.lie, j.err)
}

// CRD is a CRD of the group as the judge has seen it last, an empty one if there is none. It is not to be changed.
func (j *Judge) CRD(name string) *apiextensionsv1.CustomResourceDefinition {
	j.mu.Lock()
	defer j.mu.Unlock()
	if crd := j.history.crds[name]; crd != nil {
		return crd.CustomResourceDefinition
	}
	return &apiextensionsv1.CustomResourceDefinition{}
}

// Said are the reasons that a CRD's condition has had, in their order.
func (j *Judge) Said(crd string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.history.said[crd])
}

// Gate is a VersionRemoval, in the same way.
func (j *Judge) Gate(namespace, name string) *v1alpha1.VersionRemoval {
	j.mu.Lock()
	defer j.mu.Unlock()
	if gate := j.history.gates[namespace+"/"+name]; gate != nil {
		return gate.VersionRemoval
	}
	return &v1alpha1.VersionRemoval{}
}

// Objects are all objects of a resource of the group as the judge has seen them last, by namespace/name.
func (j *Judge) Objects(plural string) map[string][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	raw := map[string][]byte{}
	for name, o := range j.history.objects[plural] {
		raw[name] = o.raw
	}
	return raw
}

// Stored counts the objects of a resource by the version they are stored at, as the judge has seen them last.
func (j *Judge) Stored(plural string) map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.history.counts(plural)
}

// Now waits until the judge has seen everything up to this moment, and returns its revision. Without it the judge may be
// some milliseconds behind.
func (j *Judge) Now(ctx context.Context) (int64, error) {
	now, err := j.client.Get(ctx, "/registry/")
	if err != nil {
		return 0, err
	}
	for give := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		seen, err := j.seen()
		switch {
		case err != nil:
			return 0, err
		case seen >= now.Header.Revision:
			return seen, nil
		case time.Now().After(give):
			return 0, fmt.Errorf("the judge has seen revision %d and not yet %d", seen, now.Header.Revision)
		}
	}
}

func (j *Judge) seen() (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.history.revision, errors.Join(j.lie, j.err)
}

// patience is how far the judge may lag behind etcd.
const patience = 30 * time.Second

// Compact has etcd forget everything before this moment, as an API server does every five minutes. No other judge may
// be at work.
func (j *Judge) Compact(ctx context.Context) error {
	revision, err := j.Now(ctx) // or the judge would miss something
	if err != nil {
		return err
	}
	_, err = j.client.Compact(ctx, revision)
	return err
}

func (j *Judge) watch(events clientv3.WatchChan) {
	defer close(j.stopped)
	for answer := range events {
		j.mu.Lock()
		if err := answer.Err(); err != nil {
			j.err = fmt.Errorf("the judge cannot watch etcd: %w", err)
		}
		for _, event := range answer.Events {
			j.see(event)
		}
		j.mu.Unlock()
	}
}

// see takes in one write and judges what is the case now.
func (j *Judge) see(event *clientv3.Event) {
	change, err := j.history.take(event)
	if err != nil && j.err == nil {
		j.err = err
	}
	if time.Now().Before(j.window.opens) {
		j.window.revision = j.history.revision
	}
	if change == nil || j.lie != nil {
		return
	}
	for _, found := range []string{j.trimmed(), j.opened(change), j.unproved(change), j.lost(change)} {
		if found != "" && j.lie == nil {
			j.lie = fmt.Errorf("at revision %d: %s", event.Kv.ModRevision, found)
		}
	}
}

// trimmed finds objects at a version that storedVersions does not name.
func (j *Judge) trimmed() string {
	for name, crd := range j.history.crds {
		for version, names := range j.history.stored[crd.Spec.Names.Plural] {
			if len(names) > 0 && !slices.Contains(crd.Status.StoredVersions, version) {
				return fmt.Sprintf("storedVersions of %s is %v, but stored at %s are %s", name, crd.Status.StoredVersions, version, few(names))
			}
		}
	}
	return ""
}

// opened finds objects at a version that an open gate calls gone. A gate is held to what it says when it opens, and for
// as long as the CRD is the one it spoke of. What managedFields name is said of the moment when it opens.
func (j *Judge) opened(c *change) string {
	for name, gate := range j.history.gates {
		crd := j.history.crds[gate.Spec.CRDName]
		opens := c.gate == name && !c.wasOpen
		if !gate.open() || !opens && (crd == nil || !gate.speaksOf(crd)) {
			continue
		}
		plural, _, _ := strings.Cut(gate.Spec.CRDName, ".")
		for _, version := range gate.Spec.Versions {
			if names := j.history.stored[plural][version]; len(names) > 0 {
				return fmt.Sprintf("the gate %s is open, but stored at %s are %s", name, version, few(names))
			}
			if names := j.history.named(plural, version); opens && len(names) > 0 {
				return fmt.Sprintf("the gate %s opens, but %s is named by managedFields of %s", name, version, few(names))
			}
		}
	}
	return ""
}

// unproved finds, at a trim, objects that nobody has written, or asked the API server to write, since the settle time
// was over.
func (j *Judge) unproved(c *change) string {
	crd := j.history.crds[c.trimmedCRD]
	if crd == nil {
		return ""
	}
	names := map[string]bool{}
	for name, o := range j.history.objects[crd.Spec.Names.Plural] {
		if o.revision <= j.window.revision && j.written(crd.path(name)).Before(j.window.opens) {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("storedVersions of %s is trimmed to %v although these have not been asked about since the settle time was over: %s",
		crd.Name, crd.Status.StoredVersions, few(names))
}

// lost finds an object that is deleted.
func (j *Judge) lost(c *change) string {
	if c.deleted == "" || j.mayGo {
		return ""
	}
	return c.deleted + " is deleted"
}

func few(names map[string]bool) string {
	sorted := slices.Sorted(maps.Keys(names))
	if len(sorted) <= 5 {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:5], ", "), len(sorted)-5)
}
