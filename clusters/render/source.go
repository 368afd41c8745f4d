package render

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// source is a file that has been parsed. It is not changed any more, so that all who read the same content can share it.
type source struct {
	// roots are the nodes of all documents of YAML.
	roots []*yaml.Node
	// documents are the objects in them.
	documents []document
}

// parsed are the sources that somebody still holds, by their content: most of what a pull request's base consists of is
// in its head, too, and what one cluster gets the next one gets as well.
var parsed = struct {
	sync.Mutex

	known map[[sha256.Size]byte]weak.Pointer[source]
}{known: map[[sha256.Size]byte]weak.Pointer[source]{}}

// sourceOf parses a file, unless somebody holds the same one.
func sourceOf(content []byte) (*source, error) {
	sum := sha256.Sum256(content)
	parsed.Lock()
	found := parsed.known[sum].Value()
	parsed.Unlock()
	if found != nil {
		return found, nil
	}
	roots, documents, err := parse(content)
	if err != nil {
		return nil, err
	}
	found = &source{roots: roots, documents: documents}
	parsed.Lock()
	defer parsed.Unlock()
	parsed.known[sum] = weak.Make(found)
	runtime.AddCleanup(found, forget, sum)
	return found, nil
}

// forget does not take away what has been parsed anew in the meantime.
func forget(sum [sha256.Size]byte) {
	parsed.Lock()
	defer parsed.Unlock()
	if parsed.known[sum].Value() == nil {
		delete(parsed.known, sum)
	}
}
