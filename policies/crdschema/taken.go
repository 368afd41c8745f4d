package crdschema

import (
	"maps"
	"slices"
)

// Taken are the fields of an object that another reading of it lacks, or has other values of, with [*] for each index. What labels,
// annotations, finalizers and owner references hold may change; the API server changes the rest of metadata by itself.
func Taken(before, after map[string]any) []string {
	taken, known, bytes := map[string]bool{}, names{}, 0
	take := func(path Path) {
		if taken[More] {
			return
		}
		text := AnyItem(path.text(known))
		if bytes += len(text); bytes > mostText {
			text = More
		}
		taken[text] = true
	}
	content := comparison{lost: take, changed: take, added: func(Path) {}}
	metadata := comparison{lost: take, changed: func(Path) {}, added: func(Path) {}}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		is, there := after[name]
		switch {
		case name == "metadata":
			for _, of := range []string{"annotations", "finalizers", "labels", "ownerReferences"} {
				metadata.values(Path{name, of}, within(before[name], of), within(is, of))
			}
		case !there:
			take(Path{name})
		default:
			content.values(Path{name}, before[name], is)
		}
	}
	return slices.Sorted(maps.Keys(taken))
}

// within is a field of metadata; without it there is nothing in it.
func within(metadata any, field string) any {
	of, _ := metadata.(map[string]any)
	switch field {
	case "annotations", "labels":
		values, _ := of[field].(map[string]any)
		return values
	default:
		values, _ := of[field].([]any)
		return values
	}
}
