package judges

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// odd makes an object of a fuzzer's bytes: JSON, then edits that keep it JSON. Apart from its apiVersion and kind, by
// which a script is chosen at all, anything may become of it. Not ok: the bytes are no JSON object.
func odd(kind string, content, edits []byte) (object map[string]any, ok bool) {
	object, ok = fromJSON(content)
	if !ok {
		return nil, false
	}
	for ; len(edits) >= 3 && size(object) < 20_000; edits = edits[3:] {
		places := placesIn(object, nil)
		if len(places) == 0 {
			break
		}
		places[int(edits[0])%len(places)].edit(edits[1], edits[2])
	}
	object["kind"], object["apiVersion"] = kind, "moult.dev/v1alpha1"
	if kind == crd {
		object["apiVersion"] = "apiextensions.k8s.io/v1"
	}
	return object, true
}

// place is a field of an object or an item of a list.
type place struct {
	object map[string]any
	field  string
	list   []any
	index  int
}

func placesIn(value any, found []place) []place {
	const enough = 256 // an edit can point no further
	switch v := value.(type) {
	case map[string]any:
		fields := make([]string, 0, len(v))
		for field := range v {
			fields = append(fields, field)
		}
		slices.Sort(fields)
		for _, field := range fields {
			found = append(found, place{object: v, field: field})
			if len(found) < enough {
				found = placesIn(v[field], found)
			}
		}
	case []any:
		for i := range v {
			found = append(found, place{list: v, index: i})
			if len(found) < enough {
				found = placesIn(v[i], found)
			}
		}
	}
	return found
}

func (p place) edit(how, with byte) {
	switch value := p.value(); {
	case how%8 == 0 && p.object != nil:
		delete(p.object, p.field)
	case how%8 == 1: // a list of copies, thousands if they are small
		p.set(slices.Repeat([]any{value}, min(int(with)*int(with)/8, 10_000/size(value))))
	case how%8 == 2:
		p.set(map[string]any{p.field: value})
	case how%8 == 3 && p.list != nil: // an item once more
		p.set(p.list[int(with)%len(p.list)])
	default:
		p.set(strange(with))
	}
}

func (p place) value() any {
	if p.object != nil {
		return p.object[p.field]
	}
	return p.list[p.index]
}

// size is about how many things a value consists of, where a long text counts for several.
func size(value any) int {
	total := 1
	switch v := value.(type) {
	case string:
		total += len(v) / 64
	case map[string]any:
		for _, part := range v {
			total += size(part)
		}
	case []any:
		for _, part := range v {
			total += size(part)
		}
	}
	return total
}

// set stores a copy: an object must not come to hold itself.
func (p place) set(value any) {
	value = (&unstructured.Unstructured{Object: map[string]any{"value": value}}).DeepCopy().Object["value"]
	if p.object != nil {
		p.object[p.field] = value
		return
	}
	p.list[p.index] = value
}

func strange(which byte) any {
	values := []any{
		nil, true, false, "", "True", "False", "Unknown", "Ready", "Stalled", "Reconciling", "StorageMigrated", "Established",
		"StorageVersionNotServed", "FieldsWouldBeLost", "Installing", "InvalidCABundle", "generation 7: done", "generation 7:", "\x00", "\u00ff",
		strings.Repeat("x", 1<<16), "1e999", "-1", "7", int64(7), int64(2), int64(-1), int64(1) << 62, 0.5, 7.0, 1e300, -1e300,
		[]any{}, []any{nil}, []any{[]any{}}, map[string]any{}, map[string]any{"type": "Ready", "status": "True"},
		map[string]any{"1": "one"}, map[string]any{"moult.dev/migrate": "true"}, map[string]any{"moult.dev/paused": "true"},
		[]any{map[string]any{"type": "Established", "status": "True"}},
	}
	return values[int(which)%len(values)]
}

// withMetadata adds the metadata that every object has: CEL cannot ask whether a top-level field is there.
func withMetadata(object map[string]any) map[string]any {
	if _, ok := object["metadata"]; !ok {
		object["metadata"] = map[string]any{}
	}
	return object
}

// plausible reports whether an API server could hold the CRD: what we and Flux read is of the right type, no condition is
// there twice, and numbers are whole and of a size that Lua can tell apart.
func plausible(object map[string]any) bool {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok || !isText(metadata, "deletionTimestamp") || !isCount(metadata, "generation") {
		return false
	}
	if labels, given := metadata["labels"]; given {
		if labels, ok := labels.(map[string]any); !ok || !isText(labels, "moult.dev/migrate") {
			return false
		}
	}
	seen := map[string]bool{}
	for _, item := range conditionsOf(object) {
		c, _ := item.(map[string]any)
		name, named := c["type"].(string)
		if _, ok := c["status"].(string); !ok || !named || seen[name] || !isText(c, "reason") || !isText(c, "message") || !isCount(c, "observedGeneration") {
			return false
		}
		seen[name] = true
	}
	reported, ok := object["status"].(map[string]any)
	return ok && reported["observedGeneration"] == nil
}

func isText(object map[string]any, field string) bool {
	value, given := object[field]
	_, text := value.(string)
	return text || !given
}

func isCount(object map[string]any, field string) bool {
	value, given := object[field]
	count, whole := value.(int64)
	return !given || whole && count >= 0 && count < 1<<53
}
