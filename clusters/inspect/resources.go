package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/moult-dev/moult/policies/survivors"
)

// listed is a resource of which objects can be listed, at the version that the API server prefers.
type listed struct {
	survivors.Resource
	at schema.GroupVersionResource
}

// permission is what lists or reads its objects.
func (l listed) permission(verb string) string {
	if l.Group == "" {
		return fmt.Sprintf("%s on %s", verb, l.Resource.Resource)
	}
	return fmt.Sprintf("%s on %s in %s", verb, l.Resource.Resource, l.Group)
}

// resources are all of which objects can be listed, sorted, and why those of some groups are not known.
func (c *Cluster) resources() (all []listed, unseen map[string]string, err error) {
	found, err := c.discovery.ServerPreferredResources()
	partly := (*discovery.ErrGroupDiscoveryFailed)(nil)
	switch {
	case errors.As(err, &partly):
		unseen = map[string]string{}
		for gv, err := range partly.Groups {
			unseen[gv.Group] = fmt.Sprintf("the resources of %s are not known: %s", gv, plain(err))
		}
	case err != nil:
		return nil, nil, err
	}
	for _, group := range found {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for i := range group.APIResources {
			if r := &group.APIResources[i]; canList(r) {
				at := gv.WithResource(r.Name)
				all = append(all, listed{Resource: survivors.Resource{GroupResource: at.GroupResource(), Categories: r.Categories}, at: at})
			}
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(a.String(), b.String()) })
	return all, unseen, nil
}

// find reports whether a resource is there still, and at which version. It is an error if the resources of its group are not known.
func (c *Cluster) find(of schema.GroupResource) (found listed, there bool, err error) {
	all, unseen, err := c.resources()
	if err != nil {
		return listed{}, false, err
	}
	for _, r := range all {
		if r.GroupResource == of {
			return r, true, nil
		}
	}
	if why, unknown := unseen[of.Group]; unknown {
		return listed{}, false, errors.New(why)
	}
	return listed{}, false, nil
}

func canList(r *metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/")
}

// isComputed reports whether the objects of a resource are made when they are asked for, or are those of another one. There can be a
// CRD of the name all the same.
func isComputed(r listed) bool {
	switch r.GroupResource {
	case schema.GroupResource{Group: "metrics.k8s.io", Resource: "nodes"}, schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"},
		schema.GroupResource{Resource: "componentstatuses"}, schema.GroupResource{Group: "events.k8s.io", Resource: "events"}:
		return true
	}
	return false
}
