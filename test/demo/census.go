package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// census is what a client can read of the objects.
type census struct {
	// specs are the digests of their specs, by name and UID.
	specs map[string][sha256.Size]byte
	// owners counts the objects that each owner has fields of.
	owners map[owner]int
}

// owner is who has written fields of an object, and at which version, as managedFields tell.
type owner struct{ manager, version string }

func takeCensus(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource) (census, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return census{}, err
	}
	found, next := census{specs: map[string][sha256.Size]byte{}, owners: map[owner]int{}}, metav1.ListOptions{Limit: 500}
	for {
		page, err := client.Resource(gvr).List(ctx, next)
		if err != nil {
			return census{}, err
		}
		for _, object := range page.Items {
			spec, err := json.Marshal(object.Object["spec"])
			if err != nil {
				return census{}, err
			}
			found.specs[object.GetNamespace()+"/"+object.GetName()+" "+string(object.GetUID())] = sha256.Sum256(spec)
			for _, entry := range object.GetManagedFields() {
				found.owners[owner{entry.Manager, path.Base(entry.APIVersion)}]++
			}
		}
		if next.Continue = page.GetContinue(); next.Continue == "" {
			return found, nil
		}
	}
}

// common counts the objects that are the same in both.
func (c census) common(other census) int {
	same := 0
	for key, digest := range c.specs {
		if found, ok := other.specs[key]; ok && found == digest {
			same++
		}
	}
	return same
}

// ownersAt are the owners as they are once all of them have moved to a version.
func (c census) ownersAt(version string) map[owner]int {
	moved := map[owner]int{}
	for o, objects := range c.owners {
		moved[owner{o.manager, version}] += objects
	}
	return moved
}

// spokenOwners is for example "gitops owns 900 at v1, console owns 100 at v1".
func (c census) spokenOwners() string {
	owners := slices.SortedFunc(maps.Keys(c.owners), func(a, b owner) int {
		return cmp.Or(cmp.Compare(c.owners[b], c.owners[a]), cmp.Compare(a.manager, b.manager), cmp.Compare(a.version, b.version))
	})
	words := make([]string, 0, len(owners))
	for _, o := range owners {
		words = append(words, fmt.Sprintf("%s owns %d at %s", o.manager, c.owners[o], o.version))
	}
	return strings.Join(words, ", ")
}
