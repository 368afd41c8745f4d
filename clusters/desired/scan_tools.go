package desired

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
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
	f := newFollower(Options{Repositories: notFetched{}, Network: o.Network, Builds: o.Builds, Changed: o.Changed, Guessed: true}, t, c)
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
		objects, unseen := asItLies(t, file, content)
		found.Objects, unread = append(found.Objects, objects...), append(unread, unseen...)
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

// asItLies are the objects in a file that no kustomization changes, as far as is known. A template of what Flux or Argo CD applies is unseen, and
// other files that cannot be read are no manifests.
func asItLies(t *files.Tree, file string, content []byte) (objects []*delivery.Object, unseen []delivery.Unseen) {
	read, failed := render.Stream(file, bytes.NewReader(content))
	switch {
	case failed != nil && !detect.MayDeliver(content):
		return nil, nil
	case failed != nil && bytes.Contains(content, []byte("{{")):
		return nil, []delivery.Unseen{t.Unseen(file, content, "it is a template of what Flux or Argo CD applies")}
	case failed != nil:
		return nil, []delivery.Unseen{t.Unseen(file, content, "it is about what Flux or Argo CD applies, and fails: "+files.FailureOf(t.Shorten(failed)))}
	}
	return slices.DeleteFunc(files.Placed(read, t.Place), isPatch), nil
}

// readLoose fills a unit with the manifests of a folder itself that a person may apply as they lie there. Its CRDs are compared by their files.
func (f *follower) readLoose(unit *delivery.Unit, dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name())
		if !entry.Type().IsRegular() || !detect.IsManifest(entry.Name()) || detect.ForReading(f.tree.Root, file) {
			continue
		}
		content, unread := render.ReadRegular(file)
		if unread != nil {
			continue // what has a pointer in place of its content is looked for elsewhere
		}
		objects, unseen := asItLies(f.tree, file, content)
		if len(objects)+len(unseen) > 0 {
			f.tree.Reads.File(file)
		}
		unit.Objects = append(unit.Objects, slices.DeleteFunc(objects, func(o *delivery.Object) bool { return o.IsCRD() })...)
		f.cluster.Unseen = append(f.cluster.Unseen, unseen...)
	}
	return err
}

// notFetched has no other repository, so that what is taken from a tag of one is not looked for in this one.
type notFetched struct{}

// Fetch implements RepositorySource.
func (notFetched) Fetch(context.Context, string, string) (*repository.Tree, error) {
	return nil, charts.ErrNotAsked
}

// isPatch reports whether an object is one of Flux only together with another file: alone, it lacks what Flux requires.
func isPatch(object *delivery.Object) bool {
	return object.Is("kustomize.toolkit.fluxcd.io", "Kustomization") && object.Field("spec", "sourceRef") == nil ||
		kinds.IsHelmRelease(object) && object.Field("spec", "chart") == nil && object.Field("spec", "chartRef") == nil
}
