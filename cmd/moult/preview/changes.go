package preview

import (
	"slices"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
)

// changed are the files that differ between the sides, none if one of them is no tree.
func (s *sides) changed() ([]repository.Change, error) {
	if s.base.tree == nil || s.head.tree == nil || s.changes != nil {
		return s.changes, nil
	}
	var err error
	s.changes, err = repository.Changed(s.base.tree, s.head.tree)
	return s.changes, err
}

// unread are the changed files that nothing was made of, on either side, by their names.
func (s *sides) unread() (names []string, err error) {
	changes, err := s.changed()
	for _, c := range changes {
		if !s.base.tree.Reads.Has(c.Base) && !s.head.tree.Reads.Has(c.Head) {
			names = append(names, c.Name)
		}
	}
	return names, err
}

// touched are the folders of the kustomizations that changed files may be part of, on either side.
func (s *sides) touched() ([]string, error) { return s.onBoth(nil, desired.Touched) }

// wiring are entry points that nothing in the repository names, and changed files have to do with; only those of some names, if
// there are any.
func (s *sides) wiring(names []string) ([]string, error) {
	if !s.base.isFolder() || !s.head.isFolder() {
		return nil, nil
	}
	return s.onBoth(names, desired.Wiring)
}

// onBoth finds folders on both sides that have to do with changed files.
func (s *sides) onBoth(names []string, find func(*repository.Tree, []string) ([]string, error)) (folders []string, err error) {
	changes, err := s.changed()
	if err != nil {
		return nil, err
	}
	var base, head []string
	for _, c := range changes {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			base, head = append(base, c.Base), append(head, c.Head)
		}
	}
	for tree, files := range map[*repository.Tree][]string{s.base.tree: base, s.head.tree: head} {
		found, err := find(tree, files)
		if err != nil {
			return nil, err
		}
		folders = append(folders, found...)
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}
