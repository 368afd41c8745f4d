package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/words"
)

// omitted is what a build leaves out, because it cannot be had here. Kustomize adds each of these to what it builds anyway, and
// applies patches and transformers later.
type omitted struct{ remotes, charts, generators bool }

// widened is the same with what a build failed for; the same if that cannot be left out.
func (w omitted) widened(err error) omitted {
	var chart *NotInflatedError
	switch {
	case errors.As(err, &chart):
		w.charts = true
	case types.IsErrOnlyBuiltinPluginsAllowed(err):
		w.generators = true
	case OnlyHere(err) != "":
		w.remotes = true
	}
	return w
}

// partly builds a folder again without what cannot be had here. If that fails, too, the first error counts: a patch may be for
// what is omitted.
func (f *folder) partly(first error) (*Rendering, error) {
	for err := first; ; {
		next := f.omitted.widened(err)
		if next == f.omitted {
			return nil, first
		}
		f.omitted = next
		var built *Rendering
		if built, err = f.options.Builds.folder(f); err == nil {
			built.Lacks = fmt.Sprintf("%s; all of it but %s is compared", OnlyHere(first), words.Few(built.lacks, mostLacking))
			return built, nil
		}
	}
}

// mostLacking is how many parts of a build are named that are left out.
const mostLacking = 3

// lack notes that something is left out. A kustomization may be read several times.
func (o *overlay) lack(what string) {
	if !slices.Contains(o.lacks, what) {
		o.lacks = append(o.lacks, what)
	}
}

// leaveOut takes remote bases, and what plug-ins generate, out of a kustomization.
func (o *overlay) leaveOut(content []byte) ([]byte, error) {
	var k types.Kustomization
	if o.omitted == (omitted{}) {
		return content, nil
	}
	if k.Unmarshal(content) != nil {
		return content, nil //nolint:nilerr // Kustomize reports it
	}
	k.FixKustomization() // older fields become newer ones
	all := len(k.Resources) + len(k.Generators)
	if o.omitted.remotes {
		k.Resources = slices.DeleteFunc(k.Resources, func(name string) bool {
			_, remote := remoteBaseOf(name)
			if remote {
				o.lack(name)
			}
			return remote
		})
	}
	if o.omitted.generators && len(k.Generators) > 0 {
		o.lack("what " + strings.Join(k.Generators, ", ") + " generates")
		k.Generators = nil
	}
	if len(k.Resources)+len(k.Generators) == all {
		return content, nil
	}
	return marshalled(k)
}

// marshalled is a kustomization as a file. Kustomize refuses one that says nothing, and a list without entries is not written.
func marshalled(k types.Kustomization) ([]byte, error) {
	content, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	var written types.Kustomization
	if written.Unmarshal(content) == nil && written.CheckEmpty() != nil {
		k.Namespace = "placeholder"
		return yaml.Marshal(k)
	}
	return content, nil
}
