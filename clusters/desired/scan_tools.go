package desired

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
)

// Wired follows everything of Flux and Argo CD that lies in the files of a tree, for a tree that cannot be built as a whole.
// A file that is no manifest, such as values for a chart, must not hide what an Application beside it brings. A file that
// cannot be read is unseen. It is empty if there is nothing of either tool. Of the options, only those of the network count: charts are not
// rendered, as what lies in a file may be changed by a kustomization.
func Wired(ctx context.Context, tree *repository.Tree, o Options) (*delivery.Cluster, error) {
	t := files.Of(tree)
	c := &delivery.Cluster{Name: t.Name}
	f := &follower{Options: Options{Repositories: notFetched{}, Network: o.Network, Builds: o.Builds, Changed: o.Changed, Guessed: true}, tree: t, seen: map[string]bool{}, cluster: c, known: flux.ObjectsOf(c)}
	found := &delivery.Unit{Name: t.Name}
	var unread []delivery.Unseen
	err := t.Each(t.Dir, func(string) bool { return false }, func(file string) error {
		if !detect.IsManifest(filepath.Base(file)) || detect.ForReading(t.Dir, file) {
			return nil
		}
		t.Reads.File(file)
		content, err := render.ReadRegular(file)
		if pointer := (*render.PointerError)(nil); errors.As(err, &pointer) {
			return nil // the CRDs in files are looked for elsewhere, and reported there
		}
		if err != nil || !detect.Tool.Match(content) && !detect.Installer.Match(content) {
			return err
		}
		read, failed := render.Stream(file, bytes.NewReader(content))
		switch {
		case failed != nil && !detect.MayDeliver(content):
			return nil
		case failed != nil && bytes.Contains(content, []byte("{{")):
			unread = append(unread, t.Unseen(file, content, "it is a template of what Flux or Argo CD applies"))
			return nil
		case failed != nil:
			unread = append(unread, t.Unseen(file, content, "it is about what Flux or Argo CD applies, and fails: "+files.FailureOf(f.tree.Shorten(failed))))
			return nil
		}
		found.Objects = append(found.Objects, slices.DeleteFunc(files.Placed(read, f.tree.Place), isPatch)...)
		return nil
	})
	if err != nil || len(found.Objects)+len(unread)+len(t.Submodules) == 0 {
		return &delivery.Cluster{}, err
	}
	f.add(found)
	err = f.follow(ctx)
	f.cluster.Unseen = append(f.cluster.Unseen, unread...)
	return f.cluster, err
}

// notFetched has no other repository, so that what is taken from a tag of one is not looked for in this one.
type notFetched struct{}

// Fetch implements RepositorySource.
func (notFetched) Fetch(context.Context, string, string) (*repository.Tree, error) {
	return nil, charts.ErrNotAsked
}

// isPatch reports whether an object is a Kustomization of Flux only together with another file: alone, it lacks what Flux requires.
func isPatch(object *delivery.Object) bool {
	return object.Is("kustomize.toolkit.fluxcd.io", "Kustomization") && object.Field("spec", "sourceRef") == nil
}
