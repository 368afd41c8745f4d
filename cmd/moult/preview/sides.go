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

	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/desired/detect"
	names "github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// sides are the two states of the repository.
type sides struct {
	base, head side
	charts     *store.Store
	remotes    *repository.Remotes // nil if no host is asked
	// following are the options of whatever is followed, on both sides, and building those of files that nothing leads to.
	following desired.Options
	building  scan.Options
	errOut    io.Writer
	// changes are the files that differ, nil until something asks for them.
	changes []repository.Change
	// decoder knows the CRDs that were read: most of the base's are the head's, and each cluster's.
	decoder crddiff.Decoder
}

// side is a tree or, if that is nil, what standard input held.
type side struct {
	tree   *repository.Tree
	stream *delivery.Cluster
}

func (p *command) open(ctx context.Context, stdin io.Reader) (*sides, error) {
	s := &sides{errOut: p.ErrOut}
	var err error
	if s.base, err = openSide(ctx, p.base, stdin, nil); err != nil {
		return nil, fmt.Errorf("--base: %w", err)
	}
	if s.head, err = openSide(ctx, p.head, stdin, s.base.tree); err != nil {
		s.close()
		return nil, fmt.Errorf("--head: %w", err)
	}
	policy := p.network(s.base)
	if s.charts, err = p.chartStore(s.base, policy); err != nil {
		s.close()
		return nil, err
	}
	known, err := p.knownClusters(ctx)
	if err != nil {
		s.close()
		return nil, err
	}
	s.remotes = repository.NewRemotes(policy)
	s.building = scan.Options{Network: policy, Builds: render.NewBuilds()}
	s.following = desired.Options{Charts: s.charts, Repositories: s.remotes, Clusters: known, Network: policy, Guessed: len(p.entries) == 0, Builds: s.building.Builds}
	changes, err := s.changed()
	if err != nil {
		s.close()
		return nil, err
	}
	for _, c := range changes {
		s.following.Changed = append(s.following.Changed, c.Name)
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

func openSide(ctx context.Context, where string, stdin io.Reader, beside *repository.Tree) (side, error) {
	if where == "-" {
		read, err := desired.Stream(ctx, "standard input", stdin)
		if err == nil && !slices.ContainsFunc(read.Units, func(u *delivery.Unit) bool { return len(u.Objects) > 0 }) {
			err = errors.New("standard input holds no manifest, which would delete everything; check whether the program that writes it has failed. To preview a deletion of everything, name an empty folder")
		}
		return side{stream: read}, err
	}
	opened, err := repository.OpenBeside(ctx, where, beside)
	return side{tree: opened}, err
}

func (s *sides) close() {
	for _, one := range []side{s.base, s.head} {
		if one.tree != nil {
			_ = one.tree.Close() // what remains then is a temporary folder
		}
	}
	if s.remotes != nil {
		_ = s.remotes.Close() // as above
		_ = s.building.Builds.Close()
	}
}

// follow is what an entry point amounts to; empty is what was named itself. Nothing comes of one that is not there.
func (s side) follow(ctx context.Context, entry string, o desired.Options) (delivery.Cluster, error) {
	if s.stream != nil {
		return *s.stream, nil
	}
	if !s.has(entry) {
		return delivery.Cluster{}, nil
	}
	followed, err := desired.Follow(ctx, s.tree, entry, o)
	if err != nil {
		return delivery.Cluster{}, err
	}
	return *followed, nil
}

// has reports whether there is such an entry point.
func (s side) has(entry string) bool {
	if s.stream != nil || entry == "" {
		return true
	}
	entry, _ = helm.ValuesOf(entry)
	entry, _ = names.IsLoose(entry)
	for _, around := range []string{s.tree.Dir, s.tree.Root} {
		if _, err := os.Stat(filepath.Join(around, filepath.FromSlash(entry))); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// isFolder reports whether a side is a folder, and not a file or standard input.
func (s side) isFolder() bool {
	if s.tree == nil {
		return false
	}
	info, err := os.Stat(s.tree.Dir)
	return err == nil && info.IsDir()
}

// mayBeApplied reports whether somebody may apply a file that nothing in the repository leads to.
func (s side) mayBeApplied(file string) bool {
	return !detect.ForReading(s.tree.Dir, filepath.Join(s.tree.Root, filepath.FromSlash(file)))
}

// isKustomization reports whether a side says itself how it is built.
func (s side) isKustomization() bool { return render.KustomizationIn(s.tree.Dir) != "" }

// delivered is what one entry point gets before and after. Without one it is all that lies in the repository, which may be
// several: a CRD need not change alike in each of its copies.
//
// What the cluster gets beside it is given by more.
func (s *sides) delivered(ctx context.Context, entry, name string, more preview.Pair) ([]preview.Delivered, error) {
	if !s.base.has(entry) && !s.head.has(entry) {
		return nil, fmt.Errorf("--entry %s: neither --base nor --head has such a folder", entry)
	}
	if entry == "" && s.base.isFolder() && s.head.isFolder() {
		return s.everything(ctx, name)
	}
	pair, err := s.both(func(from side) (delivery.Cluster, error) {
		c, err := from.follow(ctx, entry, s.following)
		if err != nil {
			err = fmt.Errorf("%w%s", err, nameEntry(entry))
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	if s.isFormer(entry, pair) {
		pair.Head = delivery.Cluster{Name: pair.Head.Name}
	}
	beside(&pair.Base, more.Base)
	beside(&pair.Head, more.Head)
	pair.Name = name
	return slices.Concat(s.compare(pair), s.apart(pair), s.heldBy(pair)), nil
}

// isFormer reports whether an entry point that was found is none any more. Its kustomization made it one, and has gone. Nothing can be built of
// what is there now.
func (s *sides) isFormer(entry string, pair preview.Pair) bool {
	if !s.following.Guessed || entry == "" || len(pair.Head.Units) == 0 || pair.Head.Units[0].By != nil || pair.Head.Units[0].Err == nil {
		return false
	}
	has := func(from side) bool {
		return from.tree != nil && render.KustomizationIn(filepath.Join(from.tree.Dir, filepath.FromSlash(entry))) != ""
	}
	return has(s.base) && !has(s.head)
}

// everything is what a repository amounts to without an entry point. One that cannot be applied as it is, as an operator's
// with all its other files, has its CRDs all the same.
func (s *sides) everything(ctx context.Context, name string) ([]preview.Delivered, error) {
	touched, err := s.touched()
	if err != nil {
		return nil, err
	}
	all, err := s.both(func(from side) (delivery.Cluster, error) {
		found, err := scan.CRDs(ctx, from.tree, touched, s.building)
		return *found, err
	})
	if err != nil {
		return nil, err
	}
	whole, err := s.both(func(from side) (delivery.Cluster, error) { return from.follow(ctx, "", s.following) })
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.base.isKustomization(), s.head.isKustomization():
		return nil, fmt.Errorf("%w%s", err, nameEntry(""))
	default:
		if whole, err = s.both(func(from side) (delivery.Cluster, error) {
			found, err := desired.Wired(ctx, from.tree, s.following)
			return *found, err
		}); err != nil {
			return nil, err
		}
	}
	if err := s.withoutFollowed(&whole); err != nil {
		return nil, err
	}
	fmt.Fprintln(s.errOut, lookedAt(all))
	whole.Name = name
	var before []string
	for _, c := range []delivery.Cluster{all.Base, whole.Base} {
		for _, crd := range c.CRDs() {
			before = append(before, crd.GetName())
		}
	}
	delivered := s.compare(preview.Spread(whole, all, s.head.mayBeApplied)...)
	for i := range delivered {
		delivered[i].NoCluster, delivered[i].KnownBefore = true, before
	}
	held := s.heldBy(preview.Pair{Name: name, Base: fetched(whole.Base), Head: fetched(whole.Head)})
	return slices.Concat(delivered, s.apart(whole), held), nil
}

// lookedAt says in a line what of a repository was compared.
func lookedAt(all preview.Pair) string {
	var folders []string
	for _, c := range []delivery.Cluster{all.Head, all.Base} {
		for _, u := range c.Units {
			folders = append(folders, u.Name)
		}
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	in := ""
	if len(folders) > 0 {
		in = fmt.Sprintf(", in %s", words.Few(folders, maxFolders))
	}
	return fmt.Sprintf("compared: every CRD in the files, %d in --base and %d in --head%s", len(all.Base.CRDs()), len(all.Head.CRDs()), in)
}

// maxFolders is how many folders are named.
const maxFolders = 5

// both does the same with the head and the base.
func (s *sides) both(read func(side) (delivery.Cluster, error)) (p preview.Pair, err error) {
	var both errgroup.Group
	for _, one := range []struct {
		flag string
		from side
		to   *delivery.Cluster
	}{{"--head", s.head, &p.Head}, {"--base", s.base, &p.Base}} {
		both.Go(func() (err error) {
			if *one.to, err = read(one.from); err != nil {
				return fmt.Errorf("%s: %w", one.flag, err)
			}
			return nil
		})
	}
	if err = both.Wait(); err == nil {
		desired.Settle(&p.Base, &p.Head)
	}
	return p, err
}

// nameEntry is what to do about a build of everything that there is.
func nameEntry(entry string) string {
	if entry != "" {
		return ""
	}
	return "; in a repository with several clusters, name an entry point with --entry"
}
