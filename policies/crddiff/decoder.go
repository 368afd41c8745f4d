package crddiff

import (
	"crypto/sha256"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// Decoder decodes CRDs, those with the same spec once. A large CRD takes as much memory as a hundred of its files, and many
// clusters get the same ones. What it returns shares the spec, so no caller may change it. Several goroutines may use it, and nil
// remembers nothing.
type Decoder struct {
	mu sync.Mutex
	// seen are specs by where they are in memory, which holds them there, and known by their content.
	seen  map[uintptr]seenSpec
	known map[[sha256.Size]byte]*knownSpec
}

type seenSpec struct {
	spec  map[string]any
	known *knownSpec
}

type knownSpec struct {
	crd        *definition
	undeclared []string
}

// Strictly is DecodeStrictly.
func (d *Decoder) Strictly(object *unstructured.Unstructured) (crd *definition, undeclared []string, err error) {
	spec, _ := object.Object["spec"].(map[string]any)
	if d == nil || len(spec) == 0 || object.GroupVersionKind().Version != "v1" {
		return DecodeStrictly(object)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known, err := d.of(spec, object)
	if err != nil {
		return nil, nil, err
	}
	rest := maps.Clone(object.Object)
	delete(rest, "spec")
	crd = &definition{}
	if shallow(rest) == nil {
		undeclared, err = strictlyInto(rest, crd)
	}
	if err != nil || crd.Name == "" {
		return DecodeStrictly(object) // it has the words
	}
	crd.Spec = known.crd.Spec
	// In the order of the fields.
	at := slices.IndexFunc(undeclared, func(path string) bool { return strings.HasPrefix(path, "status") })
	if at < 0 {
		at = len(undeclared)
	}
	return crd, slices.Insert(undeclared, at, known.undeclared...), nil
}

// of is a spec that is known, or becomes so.
func (d *Decoder) of(spec map[string]any, object *unstructured.Unstructured) (*knownSpec, error) {
	at := reflect.ValueOf(spec).Pointer()
	if seen, there := d.seen[at]; there {
		return seen.known, nil
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	if d.seen == nil {
		d.seen, d.known = map[uintptr]seenSpec{}, map[[sha256.Size]byte]*knownSpec{}
	}
	sum := sha256.Sum256(raw)
	if d.known[sum] == nil {
		crd, undeclared, err := DecodeStrictly(object)
		if err != nil {
			return nil, err
		}
		d.known[sum] = &knownSpec{crd, slices.DeleteFunc(undeclared, func(path string) bool { return !strings.HasPrefix(path, "spec") })}
	}
	d.seen[at] = seenSpec{spec, d.known[sum]}
	return d.known[sum], nil
}
