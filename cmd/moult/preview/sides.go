package preview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// sides are the two states of the repository.
type sides struct{ base, head side }

// side is a tree or, if that is nil, what standard input held.
type side struct {
	tree   *repository.Tree
	stream *delivery.Cluster
}

func (p *command) open(ctx context.Context, stdin io.Reader) (*sides, error) {
	s := &sides{}
	var err error
	if s.base, err = openSide(ctx, p.base, stdin); err != nil {
		return nil, fmt.Errorf("--base: %w", err)
	}
	if s.head, err = openSide(ctx, p.head, stdin); err != nil {
		s.close()
		return nil, fmt.Errorf("--head: %w", err)
	}
	for _, one := range []side{s.base, s.head} {
		if one.tree != nil {
			for _, note := range one.tree.Notes {
				fmt.Fprintf(p.ErrOut, "%s: %s\n", one.tree.Name, note)
			}
		}
	}
	return s, nil
}

func openSide(ctx context.Context, where string, stdin io.Reader) (side, error) {
	if where == "-" {
		read, err := desired.Stream("standard input", stdin)
		if err == nil && !slices.ContainsFunc(read.Units, func(u *delivery.Unit) bool { return len(u.Objects) > 0 }) {
			err = errors.New("standard input holds no manifest, as if all were to be deleted; if it comes from a program, that has failed, and if there is to be none, name an empty folder")
		}
		return side{stream: read}, err
	}
	opened, err := repository.Open(ctx, where)
	return side{tree: opened}, err
}

func (s *sides) close() {
	for _, one := range []side{s.base, s.head} {
		if one.tree != nil {
			_ = one.tree.Close() // what is left then is a temporary folder
		}
	}
}

// follow is what an entry point amounts to; empty is what was named itself. Nothing comes of one that is not there.
func (s side) follow(ctx context.Context, entry string) (delivery.Cluster, error) {
	if s.stream != nil {
		return *s.stream, nil
	}
	if !s.has(entry) {
		return delivery.Cluster{}, nil
	}
	followed, err := desired.Follow(ctx, s.tree, entry)
	if err != nil {
		return delivery.Cluster{}, err
	}
	return *followed, nil
}

// has tells whether there is such an entry point.
func (s side) has(entry string) bool {
	if s.stream != nil || entry == "" {
		return true
	}
	for _, around := range []string{s.tree.Dir, s.tree.Root} {
		if _, err := os.Stat(filepath.Join(around, filepath.FromSlash(entry))); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// delivered is what one entry point gets before and after.
func (s *sides) delivered(ctx context.Context, entry, name string) (preview.Delivered, error) {
	var base, head preview.Side
	var both errgroup.Group
	read := func(flag string, from side, to *preview.Side) {
		both.Go(func() error {
			c, err := from.follow(ctx, entry)
			if err != nil {
				return fmt.Errorf("%s: %w%s", flag, err, nameEntry(entry))
			}
			c.Name = name
			if *to, err = preview.SideOf(c); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
			return nil
		})
	}
	read("--head", s.head, &head)
	read("--base", s.base, &base)
	if err := both.Wait(); err != nil {
		return preview.Delivered{}, err
	}
	if !s.base.has(entry) && !s.head.has(entry) {
		return preview.Delivered{}, fmt.Errorf("--entry %s: neither --base nor --head has such a folder", entry)
	}
	return preview.Compare(name, base, head), nil
}

// nameEntry is what to do about a build of everything that there is.
func nameEntry(entry string) string {
	if entry != "" {
		return ""
	}
	return "; in a repository with several clusters, name an entry point with --entry"
}
