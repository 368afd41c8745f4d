package crdschema

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Finder finds what objects of a CRD lose when they are stored at its storage version.
type Finder struct {
	versions map[string]*Version
	to       *Version
}

// Of is the finder for a CRD that no webhook converts. It is an error if a schema is not structural.
func Of(crd *apiextensionsv1.CustomResourceDefinition) (*Finder, error) {
	f := &Finder{versions: map[string]*Version{}}
	for _, name := range crds.Versions(crd) {
		v, err := VersionOf(crd, name)
		if err != nil {
			return nil, err
		}
		bare(v.Schema)
		f.versions[name] = v
	}
	f.to = f.versions[crds.StorageVersion(crd)]
	return f, nil
}

// bare takes out of a schema by what nothing is found: which values are valid, and how fields are described.
func bare(s *structural.Structural) {
	if s == nil {
		return
	}
	s.ValueValidation, s.ValidationExtensions = nil, structural.ValidationExtensions{}
	s.Generic = structural.Generic{Type: s.Type, Default: s.Default, Nullable: s.Nullable}
	for name, field := range s.Properties {
		bare(&field)
		s.Properties[name] = field
	}
	bare(s.Items)
	if s.AdditionalProperties != nil {
		bare(s.AdditionalProperties.Structural)
	}
}

// Lacking are the fields that a version has and the storage version has not, or not in each form, sorted. They are
// patterns: * is any key of a map, and [*] any item of a list. If there are none, no object loses a field. Of very many, More stands
// for the rest.
func (f *Finder) Lacking(version string) []string {
	v := f.versions[version]
	if v == nil || f.to == nil || v == f.to || f.to.Schema == nil {
		return nil
	}
	from := v.Schema
	if from == nil || v.keeps {
		from = anything
	}
	unnamed := anyNameOf(from, f.to.Schema)
	lacking := gathered{v: v, unnamed: unnamed}
	for witness := range unnamed.witnesses(from, f.to.Schema) {
		if v.Coerce(witness, true) != nil {
			continue
		}
		if err := v.changed(witness, f.to, true, lacking.add); err != nil {
			lacking.add(Path{More})
		}
	}
	return slices.Sorted(maps.Keys(lacking.patterns))
}

// gathered are the patterns of paths, each once, as far as there is room for them.
type gathered struct {
	v        *Version
	patterns map[string]bool
	names    names
	unnamed  anyName // of witnesses
	bytes    int
}

func (g *gathered) add(path Path) {
	if g.patterns == nil {
		g.patterns, g.names = map[string]bool{}, names{}
	}
	if g.patterns[More] {
		return
	}
	pattern := g.v.pattern(path, g.names, g.unnamed)
	if g.patterns[pattern] {
		return
	}
	if g.bytes += len(pattern); g.bytes > mostText {
		pattern = More
	}
	g.patterns[pattern] = true
}

// Lost are the fields that an object loses, as it is read at a version, sorted, as patterns of Lacking. A key that the
// version's schema does not name, where it keeps such, is reported as it is. An object that the API server refuses to
// convert loses nothing. The error is of an object that cannot be read so, or a *TooLarge. It takes as long as the object is large:
// anybody may have written it.
func (f *Finder) Lost(object map[string]any, version string) (patterns []string, err error) {
	if unpacking.SizeOf(object) > MostCompared {
		return nil, &TooLarge{Most: MostCompared}
	}
	return f.LostFrom(runtime.DeepCopyJSON(object), version)
}

// LostFrom is Lost of an object that is not needed any more, but for its own metadata. It takes less memory.
func (f *Finder) LostFrom(object map[string]any, version string) (patterns []string, err error) {
	v := f.versions[version]
	if v == nil || f.to == nil || v == f.to {
		return nil, nil
	}
	if unpacking.SizeOf(object) > MostCompared {
		return nil, &TooLarge{Most: MostCompared}
	}
	if err := v.Coerce(object, true); err != nil {
		return nil, err
	}
	lost := gathered{v: v}
	err = v.changed(object, f.to, false, func(path Path) {
		if !v.IsDefault(object, path) {
			lost.add(path)
		}
	})
	return slices.Sorted(maps.Keys(lost.patterns)), err
}

// Add is how many bytes of memory LostFrom takes for defaults of the storage version, about.
func (f *Finder) Add(object map[string]any) int64 {
	if f.to == nil {
		return 0
	}
	return f.to.Add(object)
}

// pattern is a path without the keys and the indexes that the schema leaves open. So is the one that is given, unless it is empty.
func (v *Version) pattern(path Path, known names, unnamed anyName) string {
	at, text := v.Schema, make([]byte, 0, 8*len(path))
	for _, step := range path {
		name, isName := step.(string)
		next, named := child(at, name)
		switch {
		case !isName:
			text = append(text, "[*]"...)
			at = items(at)
		case at != nil && !named && at.AdditionalProperties != nil:
			text = append(dotted(text), '*')
			at = at.AdditionalProperties.Structural
		case unnamed != "" && name == string(unnamed):
			text, at = append(dotted(text), '*'), nil
		default:
			text = joined(text, known.short(name))
			at = next
		}
	}
	return string(text)
}

func child(s *structural.Structural, name string) (*structural.Structural, bool) {
	if s == nil {
		return nil, false
	}
	property, found := s.Properties[name]
	if !found {
		return nil, false
	}
	return &property, true
}

func items(s *structural.Structural) *structural.Structural {
	if s == nil {
		return nil
	}
	return s.Items
}
