package survivors

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Content is an object as JSON has it: unstructured.Unstructured.Object, or what OfMetadata makes.
type Content = map[string]any

// OfMetadata is an object of which only the metadata were read, as far as a Walker reads them.
func OfMetadata(m *metav1.ObjectMeta) Content {
	meta := map[string]any{"namespace": m.Namespace, "name": m.Name, "labels": texts(m.Labels), "annotations": texts(m.Annotations)}
	var owners []any
	for i := range m.OwnerReferences {
		o := &m.OwnerReferences[i]
		owners = append(owners, map[string]any{
			"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": string(o.UID), "controller": o.Controller != nil && *o.Controller,
		})
	}
	if owners != nil {
		meta["ownerReferences"] = owners
	}
	return Content{"metadata": meta}
}

func texts(from map[string]string) map[string]any {
	to := make(map[string]any, len(from))
	for key, value := range from {
		to[key] = value
	}
	return to
}

// metadata is what conditions and references need of an object.
type metadata struct {
	namespace, name string
	labels          map[string]string
	owners          []string // Kind.group
}

func metadataOf(content Content) *metadata {
	meta, _ := content["metadata"].(map[string]any)
	m := &metadata{namespace: text(meta["namespace"]), name: text(meta["name"]), labels: map[string]string{}}
	labels, _ := meta["labels"].(map[string]any)
	for key, value := range labels {
		m.labels[key] = text(value)
	}
	owners, _ := meta["ownerReferences"].([]any)
	for _, item := range owners {
		owner, _ := item.(map[string]any)
		gv, err := schema.ParseGroupVersion(text(owner["apiVersion"]))
		if err == nil {
			m.owners = append(m.owners, text(owner["kind"])+"."+gv.Group)
		}
	}
	return m
}

// text is a value if it is a text, and else nothing.
func text(value any) string {
	s, _ := value.(string)
	return s
}
