package rewrite

import (
	"hash/maphash"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Alteration is an object that was changed by a write that asked for no change, by
// a mutating webhook for example, and what was changed of it.
type Alteration struct {
	types.NamespacedName
	// Fields are paths, such as metadata.annotations[stamp]; none if it cannot be
	// told.
	Fields []string
}

// maxFields is how many fields of an altered object are reported.
const maxFields = 3

// alterations are the fields that a write has changed that asked for no change. The
// API server notes none of them in managedFields: webhooks are called after that.
// It counts changes of the spec in the generation; changes of the status cannot be
// seen. An object that is only stored at another version has none.
func alterations(before, after *metav1.PartialObjectMetadata) []string {
	fields := changed("metadata.annotations", before.Annotations, after.Annotations)
	fields = append(fields, changed("metadata.labels", before.Labels, after.Labels)...)
	if before.Generation != after.Generation {
		fields = append(fields, "spec")
	}
	return fields
}

// changed are the keys of a map with other values, as paths in their order.
func changed(path string, before, after map[string]string) (fields []string) {
	for key, value := range after {
		if was, ok := before[key]; !ok || was != value && was != digest(value) {
			fields = append(fields, path+"["+key+"]")
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			fields = append(fields, path+"["+key+"]")
		}
	}
	slices.Sort(fields)
	return fields
}

var seed = maphash.MakeSeed()

// digest replaces a value of which it is only asked whether it has changed. Most
// of an object's metadata is in such values.
func digest(value string) string {
	sum := maphash.String(seed, value)
	raw := make([]byte, 0, 8)
	for range cap(raw) {
		raw, sum = append(raw, byte(sum)), sum>>8
	}
	return string(raw)
}

// String is "namespace/name (fields)".
func (a Alteration) String() string {
	name := strings.TrimPrefix(a.NamespacedName.String(), "/")
	if len(a.Fields) == 0 {
		return name
	}
	return name + " (" + strings.Join(a.Fields[:min(len(a.Fields), maxFields)], ", ") + ")"
}
