package desired

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// artifactFolder is a folder of an artifact that is made of this repository.
type artifactFolder struct {
	// dir is the folder in this repository, and root the one around it that the artifact has.
	dir, root string
}

// artifactOf finds what an ExternalArtifact has at a path, if an ArtifactGenerator makes that of one folder of this repository.
// The error says why it cannot be told.
// https://github.com/fluxcd/source-watcher/blob/main/docs/spec/v1beta1/artifactgenerators.md
func (f *follower) artifactOf(from delivery.Reference, at string) (artifactFolder, error) {
	made := f.artifactsNamed(from)
	switch {
	case len(made) == 0:
		return artifactFolder{}, errors.New("no ArtifactGenerator in this repository makes it")
	case len(made) > 1:
		return artifactFolder{}, errors.New("several ArtifactGenerators make it")
	case strings.EqualFold(made[0].generator.GetAnnotations()["source.extensions.fluxcd.io/reconcile"], "disabled"),
		strings.EqualFold(made[0].generator.GetAnnotations()["source.extensions.fluxcd.io/reconcile"], "disable"):
		return artifactFolder{}, errors.New("its ArtifactGenerator is suspended")
	}
	return f.folderInArtifact(made[0].generator, made[0].copies, path.Clean("/"+filepath.ToSlash(at)))
}

// artifact is what an ArtifactGenerator makes under one name.
type artifact struct {
	generator *delivery.Object
	copies    []*delivery.Object
}

// artifactsNamed are those that are seen so far.
func (f *follower) artifactsNamed(from delivery.Reference) (made []artifact) {
	for _, object := range f.cluster.Objects() {
		if !object.Is("source.extensions.fluxcd.io", "ArtifactGenerator") || object.GetNamespace() != from.Namespace {
			continue
		}
		for _, one := range object.Entries("spec", "artifacts") {
			if one.Text("name") == from.Name {
				made = append(made, artifact{object, one.Entries("copy")})
			}
		}
	}
	return made
}

// folderInArtifact finds the one operation that brings a folder, with all that is in it.
func (f *follower) folderInArtifact(generator *delivery.Object, copies []*delivery.Object, at string) (found artifactFolder, err error) {
	withSlash := func(path string) string { return strings.TrimSuffix(path, "/") + "/" }
	for _, operation := range copies {
		alias, source, to, err := copied(operation)
		if err != nil {
			return artifactFolder{}, err
		}
		inside, covers := strings.CutPrefix(withSlash(at), withSlash(to))
		switch {
		case !covers && !strings.HasPrefix(withSlash(to), withSlash(at)):
			continue // it is beside the folder
		case !covers || found.dir != "":
			return artifactFolder{}, errors.New("it is put together of several")
		}
		if err := f.isOurSource(generator, alias); err != nil {
			return artifactFolder{}, err
		}
		root := folder(f.tree, source)
		if root == "" {
			return artifactFolder{}, fmt.Errorf("there is no folder %s in this repository", source)
		}
		found = artifactFolder{dir: filepath.Join(root, filepath.FromSlash(inside)), root: root}
	}
	if found.dir == "" {
		return artifactFolder{}, errors.New("nothing is copied there")
	}
	return found, nil
}

// copied takes a copy operation apart that brings a whole folder: from which source, which folder, and to where in the
// artifact, with a slash before it.
func copied(operation *delivery.Object) (alias, source, to string, err error) {
	if strategy := operation.Text("strategy"); strategy != "" && strategy != "Overwrite" || operation.Field("exclude") != nil {
		return "", "", "", errors.New("some of it is merged, unpacked or left out")
	}
	alias, source, found := strings.Cut(strings.TrimPrefix(operation.Text("from"), "@"), "/")
	to, inArtifact := strings.CutPrefix(operation.Text("to"), "@artifact")
	whole := source == "**"
	if rest, all := strings.CutSuffix(source, "/**"); all {
		source, whole = rest, true
	}
	if whole && source == "**" {
		source = ""
	}
	if !found || !inArtifact || !whole || strings.ContainsAny(source, "*?[]{}\\") {
		return "", "", "", fmt.Errorf("%s is no whole folder", operation.Text("from"))
	}
	return alias, source, path.Clean("/" + to), nil
}

// isOurSource tells whether a source of a generator is this repository, as it is.
func (f *follower) isOurSource(generator *delivery.Object, alias string) error {
	for _, source := range generator.Entries("spec", "sources") {
		if source.Text("alias") != alias {
			continue
		}
		from := delivery.ReferenceOf(source, generator.GetNamespace())
		elsewhere, pinned := f.sourceIsHere(from)
		repository := f.gitRepository(from.Namespace, from.Name)
		switch {
		case elsewhere != "":
			return errors.New(elsewhere)
		case pinned != "":
			return fmt.Errorf("it is taken from %s", pinned)
		case repository == nil || len(f.sourceIgnores()) > 0 || slices.ContainsFunc(leavingOut, func(field string) bool { return jsonOf(repository.Field("spec", field)) != "" }):
			return fmt.Errorf("what GitRepository %s leaves out is not worked out for an artifact", from.Name)
		}
		return nil
	}
	return fmt.Errorf("it has no source %s", alias)
}

// fluxArtifact fills a unit with what an artifact of this repository has, if that can be told. The error says why it cannot.
func (f *follower) fluxArtifact(u *delivery.Unit, d delivery.Source) error {
	from, err := f.artifactOf(u.By.SourceRef(), d.Path)
	if err != nil {
		return err
	}
	o := f.fluxOptions(u, d)
	o.Root = from.root
	rendering, err := render.Folder(from.dir, o)
	if err != nil {
		return f.inTree(err)
	}
	u.Unseen = ""
	u.Dirs = append(u.Dirs, f.tree.Relative(from.dir))
	u.Objects = append(u.Objects, f.objects(u, rendering)...)
	return nil
}

// allBuilt tells whether each artifact of an ArtifactGenerator is taken by Kustomizations here, and all of these were built.
func (f *follower) allBuilt(generator *delivery.Object) bool {
	artifacts := generator.Entries("spec", "artifacts")
	if !generator.Is("source.extensions.fluxcd.io", "ArtifactGenerator") || len(artifacts) == 0 {
		return false
	}
	for _, one := range artifacts {
		taken := 0
		for _, u := range f.cluster.Units {
			if u.By == nil || u.Tool != delivery.Flux {
				continue
			}
			from := u.By.SourceRef()
			if from.Kind != "ExternalArtifact" || from.Name != one.Text("name") || from.Namespace != generator.GetNamespace() {
				continue
			}
			if u.Unseen != "" {
				return false
			}
			taken++
		}
		if taken == 0 {
			return false
		}
	}
	return true
}
