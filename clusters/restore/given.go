package restore

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
)

// givenFor are the objects of a CRD that somebody has converted, by namespace and name. The error says which one cannot be used.
func (r *restorer) givenFor(crd *apiextensionsv1.CustomResourceDefinition) (map[types.NamespacedName]*unstructured.Unstructured, error) {
	given := map[types.NamespacedName]*unstructured.Unstructured{}
	for i := range r.Converted {
		object := &r.Converted[i]
		gvk := object.GroupVersionKind()
		if gvk.Group != crd.Spec.Group || gvk.Kind != crd.Spec.Names.Kind {
			continue
		}
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
		problem := ""
		switch namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped; {
		case !apihelpers.HasServedCRDVersion(crd, gvk.Version):
			problem = fmt.Sprintf("is at %s, and the cluster serves %s", gvk.Version, strings.Join(crds.Served(crd), ", "))
		case key.Name == "":
			problem = "has no name"
		case namespaced && key.Namespace == "":
			problem = "has no namespace; build the manifests as your tool does, for example with kustomize build, and give what that prints"
		case given[key] != nil:
			problem = "is there twice"
		}
		if problem != "" {
			return nil, fmt.Errorf("--converted: %s %s %s", gvk.Kind, strings.TrimPrefix(key.String(), "/"), problem)
		}
		given[key] = object
	}
	return given, nil
}

// replaced is an object as somebody has converted it. Who owns it, its labels and annotations are those of the backup.
func replaced(from *chosen, given *unstructured.Unstructured) *chosen {
	object := given.DeepCopy()
	object.Object["metadata"] = from.object.DeepCopy().Object["metadata"]
	return &chosen{object: object, version: given.GroupVersionKind().Version, given: true}
}
