package preview

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
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
func (s *sides) unread() (names []string, err error) { return s.without((*repository.Reads).Has) }

// without are the changed files that something is true of on neither side.
func (s *sides) without(is func(*repository.Reads, string) bool) (names []string, err error) {
	changes, err := s.changed()
	for _, c := range changes {
		if !is(&s.base.tree.Reads, c.Base) && !is(&s.head.tree.Reads, c.Head) {
			names = append(names, c.Name)
		}
	}
	return names, err
}

// on are where changed files of some names are on a side.
func (s *sides) on(from side, names []string) (paths []string) {
	for _, c := range s.changes {
		switch {
		case !slices.Contains(names, c.Name):
		case from.tree == s.base.tree:
			paths = append(paths, c.Base)
		default:
			paths = append(paths, c.Head)
		}
	}
	return paths
}

// touched are the folders of the kustomizations that changed files may be part of, on either side.
func (s *sides) touched() ([]string, error) { return s.onBoth(nil, scan.Touched) }

// wiring are entry points that nothing in the repository names, and changed files have to do with; only those of some names, if
// there are any.
func (s *sides) wiring(names []string, find func(*repository.Tree, []string) ([]string, error)) ([]string, error) {
	if !s.base.isFolder() || !s.head.isFolder() {
		return nil, nil
	}
	return s.onBoth(names, find)
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

// rendered is what an entry point's cluster gets besides: the manifests of --also and --also-base. Without --also-base,
// they are new.
func (p *command) rendered(ctx context.Context, entry string) (more preview.Pair, err error) {
	for _, one := range []struct {
		flag  string
		texts []string
		to    *delivery.Cluster
	}{{"--also-base", p.alsoBase, &more.Base}, {"--also", p.also, &more.Head}} {
		for _, text := range one.texts {
			from, of, err := p.sourceOf(one.flag, text)
			if err != nil {
				return more, err
			}
			if of != entry {
				continue
			}
			open := os.ReadFile
			if one.to == &more.Base { // what is in both sides is no change
				open = func(file string) ([]byte, error) { return p.trusted(ctx, file) }
			}
			content, err := open(from.place)
			if err != nil {
				return more, fmt.Errorf("%s: %w", one.flag, err)
			}
			read, err := desired.Stream(ctx, from.place, bytes.NewReader(content))
			if err != nil {
				return more, fmt.Errorf("%s: %w", one.flag, err)
			}
			beside(one.to, *read)
		}
	}
	return more, nil
}

// beside adds to a cluster what it gets besides.
func beside(c *delivery.Cluster, more delivery.Cluster) {
	c.Units, c.Unseen = append(c.Units, more.Units...), append(c.Unseen, more.Unseen...)
	c.Findings = append(c.Findings, more.Findings...)
}

// apart compares the CRDs that several units of a cluster bring, as each of them brings it.
func (s *sides) apart(p preview.Pair) []preview.Delivered {
	here, elsewhere := preview.Apart(p)
	return append(s.compare(here...), s.held(elsewhere...)...)
}

// fetched are the units that were not built of the files of this repository alone.
func fetched(c delivery.Cluster) delivery.Cluster {
	c.Units = slices.DeleteFunc(slices.Clone(c.Units), func(u *delivery.Unit) bool { return len(u.Charts)+len(u.Elsewhere) == 0 })
	return c
}

// heldBy compares the CRDs that objects of a cluster hold for somebody else.
func (s *sides) heldBy(p preview.Pair) []preview.Delivered { return s.held(preview.Held(p)...) }

// held compares what is of no cluster of which a snapshot says something.
func (s *sides) held(pairs ...preview.Pair) []preview.Delivered {
	held := s.compare(pairs...)
	for i := range held {
		held[i].Held = true
	}
	return held
}

// compare reads the CRDs of both sides.
func (s *sides) compare(pairs ...preview.Pair) (all []preview.Delivered) {
	for _, p := range pairs {
		p.Base.Name, p.Head.Name = p.Name, p.Name
		p.Install()
		all = append(all, preview.Compare(p.Name, preview.SideOf(p.Base, &s.decoder), preview.SideOf(p.Head, &s.decoder)))
	}
	return all
}
