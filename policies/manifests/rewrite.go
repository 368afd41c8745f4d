package manifests

import (
	"fmt"
	"maps"
	"slices"
)

// File is a file of a repository. Names are relative to one folder, with slashes.
type File struct {
	Name    string
	Content []byte
}

// Result is what became of a File.
type Result struct {
	File
	// Changed is the new content, nil if it is the old one.
	Changed []byte
	// References are all places that name a version to be left. One without a Why has been changed; one with a Why has not, and
	// a person has to.
	References []Reference
	// Err says that the change could not be carried out safely. Then Changed is nil.
	Err error
}

// Rewrite converts files to the storage versions that a plan names. Everything else in them stays as it is, byte for
// byte. The files are judged together, because a patch has to move with what it patches: for Kustomize, a patch whose
// target fits nothing is no error.
func Rewrite(files []File, plan Plan) []Result {
	all := plan.find(files, files, plan.leaves)
	for _, matches := range all {
		for i := range matches {
			plan.judge(&matches[i])
		}
	}
	keepTogether(all)
	results := make([]Result, len(files))
	for i, f := range files {
		results[i] = plan.carryOut(f, all[i])
	}
	return results
}

// find looks for wanted versions in files, and knows by the kustomizations among others which files are patches.
func (p Plan) find(files, others []File, wants func(GroupKind, string) bool) [][]match {
	all, patches := findAll(files, slices.Collect(maps.Keys(p)), wants), patchFiles(others)
	for _, matches := range all {
		for i := range matches {
			m := &matches[i]
			m.To = p[m.GroupKind].To
			if m.Role == Object && patches[m.File] {
				m.Role = Patch
			}
		}
	}
	return all
}

// leaves reports whether manifests of a kind are to leave a version.
func (p Plan) leaves(gk GroupKind, version string) bool {
	t := p[gk]
	return t != nil && version != "" && t.leaves(version)
}

// judge says why a person has to decide what a match is to become, if it is so.
func (p Plan) judge(m *match) {
	switch t := p[m.GroupKind]; {
	case m.Why != "":
	case t.webhook:
		m.Why = fmt.Sprintf("%s is converted by a webhook, so its fields may have other names at %s; take it from the cluster with `kubectl get %s -o yaml`, or change it by hand", t.CRD, t.To, t.resource())
	case m.object != nil:
		m.Why = t.objection(m.object, m.Version, m.Role == Patch)
	case m.patch != nil:
		m.Why = t.objectionToPatch(m.patch, m.Version)
	}
}

// carryOut makes one file's edits, and looks at what came out.
func (p Plan) carryOut(f File, matches []match) Result {
	r := Result{File: f, References: make([]Reference, 0, len(matches))}
	var edits []edit
	for _, s := range matches {
		if s.Why == "" {
			e, found := editOf(s.text, s.scalar, s.Version, s.To)
			switch {
			case !found:
				s.Why = "it is written in a way that cannot be changed safely; change it by hand"
			case !slices.Contains(edits, e):
				edits = append(edits, e)
			}
		}
		r.References = append(r.References, s.Reference)
	}
	if len(edits) == 0 {
		return r
	}
	changed := apply(f.Content, edits)
	if r.Err = p.check(f.Name, changed, r.References); r.Err == nil {
		r.Changed = changed
	}
	return r
}

// check makes sure that the result no longer has what was changed, and still has what was not.
func (p Plan) check(file string, changed []byte, references []Reference) error {
	left := find(file, changed, slices.Collect(maps.Keys(p)), p.leaves)
	expected := slices.DeleteFunc(slices.Clone(references), func(h Reference) bool { return h.Why == "" })
	same := slices.EqualFunc(left, expected, func(s match, h Reference) bool { return s.Place == h.Place && s.Version == h.Version })
	if !same {
		return fmt.Errorf("%s: the change would do more than it should, so nothing was changed; change it by hand: %d places would be left instead of %d", file, len(left), len(expected))
	}
	return nil
}
