package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNotStored says that etcd holds no object under the name asked for.
var ErrNotStored = errors.New("not stored in etcd")

// pageSize bounds the memory of a walk: keys per request.
const pageSize = 500

// Etcd reads custom resources as they are stored: JSON under /registry/<group>/<plural>/[<namespace>/]<name>, written
// at the version that was the storage version at the last write.
type Etcd struct {
	// Endpoint is etcd's client URL, for programs such as etcdctl; it needs no credentials.
	Endpoint string

	client *clientv3.Client
}

// Stored is one object as etcd holds it.
type Stored struct {
	// Namespace is empty for a cluster-scoped object.
	Namespace, Name string
	// Version is the version part of the stored apiVersion, such as v1alpha1.
	Version string
	// Updates counts the writes since this object was created; a write the API server elides does not count.
	Updates int64
	// Revision is the etcd revision of the last write, which is the object's resourceVersion.
	Revision int64
	// Raw is the stored JSON.
	Raw []byte
}

func newEtcd(endpoint string) (*Etcd, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("etcd client for %s: %w", endpoint, err)
	}
	return &Etcd{Endpoint: endpoint, client: client}, nil
}

func (e *Etcd) close() error { return e.client.Close() }

// StoredVersion is the version in the object's stored bytes. The namespace is empty for a cluster-scoped object. The
// error wraps ErrNotStored when there is no such object.
func (e *Etcd) StoredVersion(ctx context.Context, gr schema.GroupResource, namespace, name string) (string, error) {
	stored, err := e.Object(ctx, gr, namespace, name)
	return stored.Version, err
}

// Raw is the object's stored JSON. Namespace and error are as for StoredVersion.
func (e *Etcd) Raw(ctx context.Context, gr schema.GroupResource, namespace, name string) ([]byte, error) {
	stored, err := e.Object(ctx, gr, namespace, name)
	return stored.Raw, err
}

// Object is all that etcd says about one object. Namespace and error are as for StoredVersion.
func (e *Etcd) Object(ctx context.Context, gr schema.GroupResource, namespace, name string) (Stored, error) {
	key := key(gr, namespace, name)
	answer, err := e.client.Get(ctx, key)
	if err != nil {
		return Stored{}, fmt.Errorf("read %s from etcd: %w", key, err)
	}
	if len(answer.Kvs) == 0 {
		return Stored{}, fmt.Errorf("%s: %w", key, ErrNotStored)
	}
	kv := answer.Kvs[0]
	return parse(gr, string(kv.Key), kv.Value, kv.Version, kv.ModRevision)
}

// Put stores an object's JSON in place of what is there, as an API server does that has not heard of the latest change of
// the CRD.
func (e *Etcd) Put(ctx context.Context, gr schema.GroupResource, namespace, name string, raw []byte) error {
	if _, err := e.client.Put(ctx, key(gr, namespace, name), string(raw)); err != nil {
		return fmt.Errorf("write %s/%s to etcd: %w", namespace, name, err)
	}
	return nil
}

func (e *Etcd) count(ctx context.Context, gr schema.GroupResource) (int64, error) {
	answer, err := e.client.Get(ctx, prefix(gr), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("count %s in etcd: %w", prefix(gr), err)
	}
	return answer.Count, nil
}

// Purge deletes every object of the resource, whether or not an API server could still read it.
func (e *Etcd) Purge(ctx context.Context, gr schema.GroupResource) error {
	if _, err := e.client.Delete(ctx, prefix(gr), clientv3.WithPrefix()); err != nil {
		return fmt.Errorf("delete %s from etcd: %w", prefix(gr), err)
	}
	return nil
}

// CountByVersion counts the objects stored at each version.
func (e *Etcd) CountByVersion(ctx context.Context, gr schema.GroupResource) (map[string]int, error) {
	count := map[string]int{}
	err := e.Walk(ctx, gr, func(s Stored) { count[s.Version]++ })
	return count, err
}

// Stale names the objects that are not stored at the version, as namespace/name or, cluster-scoped, name.
func (e *Etcd) Stale(ctx context.Context, gr schema.GroupResource, version string) ([]string, error) {
	var stale []string
	err := e.Walk(ctx, gr, func(s Stored) {
		if s.Version != version {
			stale = append(stale, strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"))
		}
	})
	return stale, err
}

// Writes sums up the updates of all objects that exist now, so that the difference of two calls is what was written
// between them if nothing was deleted.
func (e *Etcd) Writes(ctx context.Context, gr schema.GroupResource) (int64, error) {
	var writes int64
	err := e.Walk(ctx, gr, func(s Stored) { writes += s.Updates })
	return writes, err
}

// Walk visits every object of the resource, ordered by namespace and name, all as of one etcd revision. It holds one
// page of 500 objects in memory.
func (e *Etcd) Walk(ctx context.Context, gr schema.GroupResource, visit func(Stored)) error {
	start := prefix(gr)
	end := clientv3.GetPrefixRangeEnd(start)
	var revision int64 // 0 is the newest; the first answer fixes it
	for {
		page, err := e.client.Get(ctx, start, clientv3.WithRange(end), clientv3.WithLimit(pageSize), clientv3.WithRev(revision))
		if err != nil {
			return fmt.Errorf("read %s from etcd: %w", prefix(gr), err)
		}
		for _, kv := range page.Kvs {
			stored, err := parse(gr, string(kv.Key), kv.Value, kv.Version, kv.ModRevision)
			if err != nil {
				return err
			}
			visit(stored)
		}
		if !page.More {
			return nil
		}
		revision = page.Header.Revision
		start = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// prefix ends in a slash, without which widgets would include widgetsets.
func key(gr schema.GroupResource, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return prefix(gr) + name
}

func prefix(gr schema.GroupResource) string { return "/registry/" + gr.Group + "/" + gr.Resource + "/" }

func parse(gr schema.GroupResource, key string, value []byte, version, revision int64) (Stored, error) {
	var object struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(value, &object); err != nil {
		return Stored{}, fmt.Errorf("%s is not stored as JSON, is it a custom resource? %w", key, err)
	}
	gv, err := schema.ParseGroupVersion(object.APIVersion)
	if err != nil {
		return Stored{}, fmt.Errorf("%s: stored apiVersion: %w", key, err)
	}
	stored := Stored{Name: strings.TrimPrefix(key, prefix(gr)), Version: gv.Version, Updates: version - 1, Revision: revision, Raw: value}
	if namespace, name, namespaced := strings.Cut(stored.Name, "/"); namespaced {
		stored.Namespace, stored.Name = namespace, name
	}
	return stored, nil
}
