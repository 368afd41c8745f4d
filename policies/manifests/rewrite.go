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
	// Hits are all places that name a version to be left. One without a Why has been changed; one with a Why has not, and
	// a person has to.
	Hits []Hit
	// Err says that the change could not be carried out safely. Then Changed is nil.
	Err error
}

// Rewrite turns one file to the storage versions that a plan names, as RewriteAll does it.
func Rewrite(file string, content []byte, plan Plan) ([]byte, []Hit, error) {
	r := RewriteAll([]File{{file, content}}, plan)[0]
	if r.Changed == nil {
		return content, r.Hits, r.Err
	}
	return r.Changed, r.Hits, r.Err
}

// RewriteAll turns files to the storage versions that a plan names. Everything else in them stays as it is, byte for
// byte. The files are judged together, because a patch has to move with what it patches: for Kustomize, a patch whose
// target fits nothing is no error.
func RewriteAll(files []File, plan Plan) []Result {
	kinds := slices.Collect(maps.Keys(plan))
	all := findAll(files, kinds, plan.leaves)
	patches := patchFiles(files)
	for i, f := range files {
		for j := range all[i] {
			s := &all[i][j]
			if s.Role == Object && patches[f.Name] {
				s.Role = Patch
			}
			plan.judge(s)
		}
	}
	couple(all)
	results := make([]Result, len(files))
	for i, f := range files {
		results[i] = plan.carryOut(f, all[i])
	}
	return results
}

// leaves tells whether manifests of a kind are to leave a version.
func (p Plan) leaves(gk GroupKind, version string) bool {
	t := p[gk]
	return t != nil && version != "" && t.leaves(version)
}

// judge says what a spot is to become, or why a person has to decide it.
func (p Plan) judge(s *spot) {
	t := p[s.GroupKind]
	s.To = t.To
	switch {
	case s.Why != "":
	case t.webhook:
		s.Why = fmt.Sprintf("%s is converted by a webhook, so its fields may have other names at %s; take it from the cluster with `kubectl get %s -o yaml`, or change it by hand", t.CRD, t.To, t.resource())
	case s.object != nil:
		s.Why = t.objection(s.object, s.Version, s.Role == Patch)
	case s.patch != nil:
		s.Why = t.objectionToPatch(s.patch, s.Version)
	}
}

// carryOut makes one file's edits, and looks at what came out.
func (p Plan) carryOut(f File, spots []spot) Result {
	r := Result{File: f, Hits: make([]Hit, 0, len(spots))}
	var edits []edit
	for _, s := range spots {
		if s.Why == "" {
			e, found := editOf(s.text, s.scalar, s.Version, s.To)
			switch {
			case !found:
				s.Why = "it is written in a way that cannot be changed safely; change it by hand"
			case !slices.Contains(edits, e):
				edits = append(edits, e)
			}
		}
		r.Hits = append(r.Hits, s.Hit)
	}
	if len(edits) == 0 {
		return r
	}
	changed := apply(f.Content, edits)
	if r.Err = p.check(f.Name, changed, r.Hits); r.Err == nil {
		r.Changed = changed
	}
	return r
}

// check makes sure that what was changed is gone, and that what was not is there.
func (p Plan) check(file string, changed []byte, hits []Hit) error {
	left := find(file, changed, slices.Collect(maps.Keys(p)), p.leaves)
	expected := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return h.Why == "" })
	same := slices.EqualFunc(left, expected, func(s spot, h Hit) bool { return s.Place == h.Place && s.Version == h.Version })
	if !same {
		return fmt.Errorf("%s: the change would do more than it should, so nothing was changed; change it by hand: %d places would be left instead of %d", file, len(left), len(expected))
	}
	return nil
}
