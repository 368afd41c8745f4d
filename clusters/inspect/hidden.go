package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/survivors"
)

// hiding is what shows whose objects cannot be seen: an aggregated API server answers for a version, and does not have
// what is stored under a CRD. It is gathered from the lists of a look.
type hiding struct {
	// handedOn are the versions that the API server hands on, and the APIService that makes it.
	handedOn map[schema.GroupVersion]string
	// crds are the resources that CRDs say there are.
	crds map[schema.GroupResource]bool
}

func newHiding() hiding {
	return hiding{handedOn: map[schema.GroupVersion]string{}, crds: map[schema.GroupResource]bool{}}
}

var (
	apiServices = schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
	crdResource = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// notice takes in an object of a resource: as k8s.io/kube-aggregator does (pkg/apiserver, handler_proxy.go), an APIService
// without a service is local.
func (h hiding) notice(of schema.GroupResource, content survivors.Content) {
	name, _, _ := unstructured.NestedString(content, "metadata", "name")
	switch of {
	case crdResource:
		h.crds[schema.ParseGroupResource(name)] = true
	case apiServices:
		service, is, _ := unstructured.NestedMap(content, "spec", "service")
		version, group, _ := strings.Cut(name, ".")
		if is {
			h.handedOn[schema.GroupVersion{Group: group, Version: version}] = fmt.Sprintf(
				"APIService %s hands the requests for it on to the aggregated API server behind Service %v/%v", name, service["namespace"], service["name"])
		}
	}
}

// missing are the resources of CRDs that are not among those that were listed.
func (h hiding) missing(resources []listed) map[schema.GroupResource]bool {
	missing := maps.Clone(h.crds)
	for _, r := range resources {
		delete(missing, r.GroupResource)
	}
	return missing
}

// hidden are the resources of CRDs that were listed at a version that is handed on, or at none; and why.
func (h hiding) hidden(resources []listed) map[schema.GroupResource]string {
	seen, hidden := map[schema.GroupResource]bool{}, map[schema.GroupResource]string{}
	for _, r := range resources {
		seen[r.GroupResource] = seen[r.GroupResource] || h.handedOn[r.at.GroupVersion()] == ""
	}
	for _, gv := range slices.SortedFunc(maps.Keys(h.handedOn), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
		for crd := range h.crds {
			if crd.Group == gv.Group && !seen[crd] && hidden[crd] == "" {
				hidden[crd] = h.handedOn[gv] + ", so what is stored under the CRD cannot be seen"
			}
		}
	}
	for crd := range h.missing(resources) {
		hidden[crd] = cmp.Or(hidden[crd], "the API server serves no version of it, so what is stored under the CRD cannot be seen")
	}
	return hidden
}
