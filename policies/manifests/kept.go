package manifests

import (
	"bytes"
	"slices"
)

// Kept are the places that stay at a version which is not the storage version, because it is served and not deprecated. A
// Target that is made with the version in from converts them.
func (p Plan) Kept(files []File) []Reference {
	versions := map[string]bool{}
	for _, t := range p {
		for version := range t.versions {
			if t.keeps(version) {
				versions[version] = true
			}
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		for version := range versions {
			if bytes.Contains(f.Content, []byte(version)) {
				return false
			}
		}
		return true // it is spared the parser
	})
	kept := []Reference{}
	for _, matches := range p.find(candidates, files, p.keeps) {
		for _, m := range matches {
			kept = append(kept, m.Reference)
		}
	}
	return kept
}

// keeps tells whether manifests of a kind stay at a version that is not the storage version.
func (p Plan) keeps(gk GroupKind, version string) bool {
	t := p[gk]
	return t != nil && t.keeps(version)
}

// keeps tells whether manifests stay at a version although it is not the storage version: it is served and not deprecated,
// and nobody has asked for it to be left.
func (t *Target) keeps(version string) bool {
	return version != t.To && t.versions[version] != nil && !t.leaves(version)
}
