// Package owners moves owner references from versions of a CRD that are to be removed, or were removed, to its storage version,
// in all objects of a cluster. Repair lists them by their metadata, and changes the apiVersion of a reference and
// nothing else, by a JSON Patch that tests what it was read as. The garbage collector resolves a reference at its
// version, so one at a version that has left makes it delete what lives, and keep what should go. docs/survivors.md is
// for users.
package owners

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/words"
)

// Target is a CRD whose objects are owners.
type Target struct {
	// CRD is the name.
	CRD        string `json:"crd"`
	Group      string `json:"group"`
	Kind       string `json:"kind"`
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced"`
	// Storage is the version that references are moved to. It has to be served.
	Storage string `json:"to"`
	// Leaving are the versions that they are moved from.
	Leaving []string `json:"leaving"`
	// Served are those at which the garbage collector finds an owner. References at others are moved, too, if Unserved is true.
	Served   []string `json:"served"`
	Unserved bool     `json:"unserved"`
}

// moves reports whether a reference is to an object of the CRD at a version that it is to be moved from. The garbage collector
// takes a kind in lower case for the same (k8s.io/client-go/restmapper, NewDiscoveryRESTMapper).
func (t *Target) moves(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != t.Group || !strings.EqualFold(ref.Kind, t.Kind) || gv.Version == t.Storage {
		return false
	}
	return slices.Contains(t.Leaving, gv.Version) || t.Unserved && !slices.Contains(t.Served, gv.Version)
}

// apiVersion is what a reference is to have.
func (t *Target) apiVersion() string { return t.Group + "/" + t.Storage }

// resource is where the owners are read.
func (t *Target) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Storage, Resource: t.Plural}
}

// match is a reference that is to be moved.
type match struct {
	*metav1.OwnerReference

	index  int
	target *Target
}

// matches are those of one object.
func matches(targets []Target, item *metav1.PartialObjectMetadata) (found []match) {
	for i := range item.OwnerReferences {
		ref := &item.OwnerReferences[i]
		for k := range targets {
			if targets[k].moves(ref) {
				found = append(found, match{OwnerReference: ref, index: i, target: &targets[k]})
				break
			}
		}
	}
	return found
}

// ownersOf are those that references refer to.
func ownersOf(found []match) []types.UID {
	return words.Of(found, func(m match) types.UID { return m.UID })
}

// move is a patch that moves references, each only if it is in its place as it was read.
func move(item *metav1.PartialObjectMetadata, found []match) ([]byte, error) {
	ops := rewrite.SameState(item)
	for _, m := range found {
		at := fmt.Sprintf("/metadata/ownerReferences/%d/", m.index)
		ops = append(ops, rewrite.Operation{Op: "test", Path: at + "apiVersion", Value: m.APIVersion}, rewrite.Operation{Op: "test", Path: at + "kind", Value: m.Kind},
			rewrite.Operation{Op: "test", Path: at + "name", Value: m.Name}, rewrite.Operation{Op: "test", Path: at + "uid", Value: m.UID})
	}
	for _, m := range found {
		ops = append(ops, rewrite.Operation{Op: "replace", Path: fmt.Sprintf("/metadata/ownerReferences/%d/apiVersion", m.index), Value: m.target.apiVersion()})
	}
	return rewrite.Body(ops)
}
