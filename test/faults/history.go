package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

const (
	crdPrefix  = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
	gatePrefix = "/registry/moult.dev/versionremovals/"
)

// history is what etcd holds at one revision, of all that one API group's migration is about.
type history struct {
	group    string
	revision int64

	said    map[string][]string                   // by CRD: the reasons of its condition, in the order in which they came
	crds    map[string]*crdState                  // by name
	gates   map[string]*gateState                 // by namespace/name
	objects map[string]map[string]object          // by plural and namespace/name
	stored  map[string]map[string]map[string]bool // plural → version → namespace/name
}

type crdState struct {
	*apiextensionsv1.CustomResourceDefinition
}

type gateState struct {
	*v1alpha1.VersionRemoval
}

type object struct {
	version  string
	named    map[string]bool // versions that its managedFields name
	revision int64
	raw      []byte
}

// change is what one write has changed, as far as it matters.
type change struct {
	trimmedCRD string // name of a CRD whose storedVersions has become one
	gate       string // a gate that was written
	wasOpen    bool   // it was before
	deleted    string // an object
}

func newHistory(group string, revision int64) history {
	return history{
		group: group, revision: revision, said: map[string][]string{}, crds: map[string]*crdState{}, gates: map[string]*gateState{},
		objects: map[string]map[string]object{}, stored: map[string]map[string]map[string]bool{},
	}
}

// present is what etcd holds now.
func present(ctx context.Context, etcd *clientv3.Client, group string) (history, error) {
	now, err := etcd.Get(ctx, "/registry/", clientv3.WithCountOnly())
	if err != nil {
		return history{}, err
	}
	h := newHistory(group, now.Header.Revision)
	for _, prefix := range []string{crdPrefix, gatePrefix, "/registry/" + group + "/"} {
		all, err := etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(now.Header.Revision))
		if err != nil {
			return history{}, err
		}
		for _, kv := range all.Kvs {
			if _, err := h.take(&clientv3.Event{Type: clientv3.EventTypePut, Kv: kv}); err != nil {
				return history{}, err
			}
		}
	}
	h.revision = now.Header.Revision
	return h, nil
}

// take adds one write. It returns nil if that was somebody else's matter.
func (h *history) take(event *clientv3.Event) (*change, error) {
	key, value := string(event.Kv.Key), event.Kv.Value
	if event.Type == clientv3.EventTypeDelete {
		value = nil
	}
	h.revision = event.Kv.ModRevision
	if name, ok := strings.CutPrefix(key, crdPrefix); ok && strings.HasSuffix(name, "."+h.group) {
		return h.takeCRD(name, value)
	}
	if name, ok := strings.CutPrefix(key, gatePrefix); ok {
		return h.takeGate(name, value)
	}
	if name, ok := strings.CutPrefix(key, "/registry/"+h.group+"/"); ok {
		plural, name, _ := strings.Cut(name, "/")
		return h.takeObject(plural, name, value)
	}
	return nil, nil
}

func (h *history) takeCRD(name string, value []byte) (*change, error) {
	if value == nil {
		delete(h.crds, name)
		return &change{}, nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(value, crd); err != nil {
		return nil, fmt.Errorf("CRD %s in etcd: %w", name, err)
	}
	for _, c := range crd.Status.Conditions {
		if said := h.said[name]; c.Type == v1alpha1.StorageMigrated && (len(said) == 0 || said[len(said)-1] != c.Reason) {
			h.said[name] = append(said, c.Reason)
		}
	}
	before := h.crds[name]
	h.crds[name] = &crdState{crd}
	if before != nil && len(before.Status.StoredVersions) > 1 && len(crd.Status.StoredVersions) == 1 {
		return &change{trimmedCRD: name}, nil
	}
	return &change{}, nil
}

func (h *history) takeGate(name string, value []byte) (*change, error) {
	before := h.gates[name]
	delete(h.gates, name)
	if value == nil {
		return &change{}, nil
	}
	removal := &v1alpha1.VersionRemoval{}
	if err := json.Unmarshal(value, removal); err != nil {
		return nil, fmt.Errorf("VersionRemoval %s in etcd: %w", name, err)
	}
	if !strings.HasSuffix(removal.Spec.CRDName, "."+h.group) {
		return nil, nil
	}
	h.gates[name] = &gateState{removal}
	return &change{gate: name, wasOpen: before != nil && before.open()}, nil
}

func (h *history) takeObject(plural, name string, value []byte) (*change, error) {
	if h.objects[plural] == nil {
		h.objects[plural], h.stored[plural] = map[string]object{}, map[string]map[string]bool{}
	}
	delete(h.stored[plural][h.objects[plural][name].version], name)
	delete(h.objects[plural], name)
	if value == nil {
		return &change{deleted: plural + " " + name}, nil
	}
	var stored metav1.PartialObjectMetadata
	if err := json.Unmarshal(value, &stored); err != nil {
		return nil, fmt.Errorf("%s %s in etcd: %w", plural, name, err)
	}
	_, version, _ := strings.Cut(stored.APIVersion, "/")
	named := map[string]bool{}
	for _, entry := range stored.ManagedFields {
		_, version, _ := strings.Cut(entry.APIVersion, "/")
		named[version] = true
	}
	h.objects[plural][name] = object{version: version, named: named, revision: h.revision, raw: slices.Clone(value)}
	if h.stored[plural][version] == nil {
		h.stored[plural][version] = map[string]bool{}
	}
	h.stored[plural][version][name] = true
	return &change{}, nil
}

func (h *history) counts(plural string) map[string]int {
	counts := map[string]int{}
	for version, names := range h.stored[plural] {
		if len(names) > 0 {
			counts[version] = len(names)
		}
	}
	return counts
}

// named are the objects whose managedFields name a version.
func (h *history) named(plural, version string) map[string]bool {
	names := map[string]bool{}
	for name, o := range h.objects[plural] {
		if o.named[version] {
			names[name] = true
		}
	}
	return names
}

func (c *crdState) storageVersion() string {
	for _, v := range c.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// path is that of an object at the storage version.
func (c *crdState) path(name string) string {
	base := "/apis/" + c.Spec.Group + "/" + c.storageVersion() + "/"
	if namespace, bare, namespaced := strings.Cut(name, "/"); namespaced {
		return base + "namespaces/" + namespace + "/" + c.Spec.Names.Plural + "/" + bare
	}
	return base + c.Spec.Names.Plural + "/" + name
}

func (g *gateState) open() bool { return meta.IsStatusConditionTrue(g.Status.Conditions, "Ready") }

// speaksOf reports whether what the gate says is about the CRD as it is. Its conditions are written a moment before the
// rest of its status, and count as soon as they are there.
func (g *gateState) speaksOf(c *crdState) bool {
	proof := g.Status.Proof
	return proof == nil || proof.UID == string(c.UID) && proof.Generation == c.Generation && proof.StorageVersion == c.storageVersion()
}
