package desired

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// RepositorySource fetches a tag or a commit of another repository. An error says why it cannot be had.
type RepositorySource interface {
	Fetch(ctx context.Context, address, revision string) (*repository.Tree, error)
}

// fromElsewhere tries to see what a unit takes from another repository: it is built there, with build. If that succeeds, the
// unit is as unseen as unseen says, which is about its other sources; if not, why is remembered.
func (f *follower) fromElsewhere(ctx context.Context, u *delivery.Unit, unseen, address, revision, path string, build func(there *follower, dir string) (*render.Rendering, error)) {
	rendering, err := f.builtElsewhere(ctx, address, revision, path, build)
	switch {
	case err == nil:
		u.Unseen, u.Pinned = unseen, revision
		u.Elsewhere = append(u.Elsewhere, address)
		u.Objects = append(u.Objects, files.Placed(rendering, f.tree.Place)...)
	case !errors.Is(err, charts.ErrNotAsked):
		f.notSeen(u, err)
	}
}

// notSeen remembers why a unit cannot be seen, beside what is said of it anyway.
func (f *follower) notSeen(u *delivery.Unit, err error) {
	if f.releases != nil && err != nil {
		f.notRendered[u.By] = err
	}
}

// builtElsewhere builds a folder of another repository. Its files are no files of this one: their places are empty.
func (f *follower) builtElsewhere(ctx context.Context, address, revision, path string, build func(there *follower, dir string) (*render.Rendering, error)) (*render.Rendering, error) {
	if f.Repositories == nil || address == "" || revision == "" {
		return nil, charts.ErrNotAsked
	}
	tree, err := f.Repositories.Fetch(ctx, address, revision)
	if err != nil {
		return nil, err
	}
	from := files.Of(tree)
	there := newFollower(Options{Network: f.Network, Builds: f.Builds}, from, f.cluster)
	there.releases = newReleases(from, f.Charts)
	dir := there.tree.Folder(path)
	if dir == "" {
		return nil, fmt.Errorf("there is no folder %s in %s", path, tree.Name)
	}
	rendering, err := build(there, dir)
	if err != nil {
		return nil, fmt.Errorf("it cannot be built: %w", there.tree.Shorten(err))
	}
	for _, object := range rendering.Objects {
		object.At = nowhereHere
	}
	return rendering, nil
}

// fluxFromElsewhere is for a Kustomization whose GitRepository is another one.
func (f *follower) fluxFromElsewhere(ctx context.Context, u *delivery.Unit, d delivery.Source) {
	from := u.By.SourceRef()
	source := f.known.Source("GitRepository", from)
	if source == nil || from.Kind != "GitRepository" || source.Field("spec", "include") != nil {
		return
	}
	for _, field := range flux.LeavingOut[1:] { // what is ignored is worked out
		if jsonOf(source.Field("spec", field)) != "" {
			return // whether what was omitted is missed is not known
		}
	}
	f.fromElsewhere(ctx, u, "", source.Text("spec", "url"), flux.PinnedTo(source), d.Path, func(there *follower, dir string) (*render.Rendering, error) {
		return render.Folder(dir, there.fluxOptions(u, d))
	})
}

// argoCDFromElsewhere is for a source of an Application that is another repository.
func (f *follower) argoCDFromElsewhere(ctx context.Context, u *delivery.Unit, unseen string, d delivery.Source) {
	source := d.Settings
	f.fromElsewhere(ctx, u, unseen, source.Text("repoURL"), argocd.TagOrCommit(source.Text("targetRevision")), d.Path, func(there *follower, dir string) (*render.Rendering, error) {
		if argocd.TypeOf(source, dir) == argocd.OfHelm {
			return there.argoCDChartElsewhere(ctx, u, source, dir)
		}
		if why := argocd.NotAsItLies(there.tree, u, source, d.Path); why != "" {
			return nil, errors.New(why)
		}
		return there.argoCDFolder(ctx, u, d, dir, false)
	})
}

// argoCDChartElsewhere renders a chart of another repository. Values may come from a third one, or from this.
func (f *follower) argoCDChartElsewhere(ctx context.Context, u *delivery.Unit, source *delivery.Object, dir string) (*render.Rendering, error) {
	if slices.ContainsFunc(source.Texts("helm", "valueFiles"), func(file string) bool { return strings.HasPrefix(file, "$") }) {
		return nil, errors.New("its values come from another source")
	}
	rendered := &delivery.Unit{Name: u.Name, By: u.By, Sources: u.Sources}
	if err := argocd.AddChart(ctx, f.charts, rendered, source, dir); err != nil {
		return nil, err
	}
	u.Depending = append(u.Depending, rendered.Depending...)
	return &render.Rendering{Name: dir, Objects: rendered.Objects}, nil
}

// nowhereHere is the place of what no file of this repository holds.
func nowhereHere(...string) finding.Place { return finding.Place{} }
