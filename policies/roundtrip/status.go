package roundtrip

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/policies/crdschema"
)

// statuses are those that some objects have.
func statuses(objects []Object) (all []any) {
	for _, o := range objects {
		if status := o.Content["status"]; !crdschema.IsEmpty(status) {
			all = append(all, status)
		}
	}
	return all
}

// writeStatus stores objects, and has a client of another version write a status there, as the subresource takes it. It
// reports what does not arrive for this client, and what else is not the same then for clients of the objects' own
// version. What cannot be converted is left out: a trip has reported it.
func (c *Checker) writeStatus(ctx context.Context, objects []map[string]any, via string, donors []any) [][]Problem {
	all := make([][]Problem, len(objects))
	if len(donors) == 0 || len(objects) == 0 {
		return all
	}
	own, _ := objects[0]["apiVersion"].(string)
	from := own[len(own)-len(versionOf(Object{Content: objects[0]})):]
	stored := c.readAt(ctx, objects, c.engine.Storage)
	before, there := c.readAt(ctx, stored, from), c.readAt(ctx, stored, via)
	written := make([]map[string]any, len(objects))
	for i := range there {
		if there[i] != nil {
			written[i] = runtime.DeepCopyJSON(there[i])
			written[i]["status"] = runtime.DeepCopyJSONValue(donors[i%len(donors)])
		}
	}
	stored = c.readAt(ctx, written, c.engine.Storage)
	after, back := c.readAt(ctx, stored, from), c.readAt(ctx, stored, via)
	for i := range objects {
		if before[i] == nil || after[i] == nil || back[i] == nil || written[i] == nil {
			continue
		}
		all[i] = append(changes(before[i], after[i], false), changes(written[i], back[i], true)...)
	}
	return all
}

// changes are what is lost or has another value, in status or beside it.
func changes(before, after map[string]any, inStatus bool) (all []Problem) {
	for _, d := range between(before, after) {
		was := crdschema.At(before, d.path)
		if d.way == added || d.way == lost && crdschema.IsEmpty(was) || len(d.path) == 0 || (d.path[0] == "status") != inStatus {
			continue
		}
		all = append(all, Problem{Kind: StatusWrite, What: d.path.String(), Was: was, Is: crdschema.At(after, d.path)})
	}
	return all
}

// readAt has objects stored at a version; nil is one that cannot be converted, or is nil.
func (c *Checker) readAt(ctx context.Context, objects []map[string]any, version string) []map[string]any {
	all := make([]map[string]any, len(objects))
	var at []int
	var some []map[string]any
	for i, o := range objects {
		if o != nil {
			at, some = append(at, i), append(some, o)
		}
	}
	for n, stored := range c.engine.StoredAt(version).Stored(ctx, some) {
		all[at[n]] = stored
	}
	return all
}
