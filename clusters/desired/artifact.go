package desired

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/artifact"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// generatedArtifact is what an ArtifactGenerator makes under one name.
type generatedArtifact struct {
	artifactName

	copies []*delivery.Object
}

type artifactName struct {
	generator *delivery.Object
	name      string
}

// artifactOf finds what makes an ExternalArtifact. The error says why it cannot be told.
func (f *follower) artifactOf(from delivery.Reference) (generatedArtifact, error) {
	made := f.artifactsNamed(from)
	switch {
	case len(made) == 0:
		return generatedArtifact{}, errors.New("no ArtifactGenerator that is followed makes it")
	case len(made) > 1:
		return generatedArtifact{}, errors.New("several ArtifactGenerators make it")
	}
	generator := made[0].generator
	switch annotation := generator.GetAnnotations()["source.extensions.fluxcd.io/reconcile"]; {
	case strings.EqualFold(annotation, "disabled"), strings.EqualFold(annotation, "disable"):
		return generatedArtifact{}, errors.New("its ArtifactGenerator is suspended")
	case generator.Text("spec", "pathPattern") != "":
		return generatedArtifact{}, errors.New("its ArtifactGenerator makes one for each folder of a pattern")
	case f.known.Templated[generator]:
		return generatedArtifact{}, errors.New("its ArtifactGenerator has variables whose values are not in this repository")
	}
	return made[0], nil
}

// artifactsNamed are those that are seen so far.
func (f *follower) artifactsNamed(from delivery.Reference) (made []generatedArtifact) {
	for _, object := range f.cluster.Objects() {
		if !object.Is("source.extensions.fluxcd.io", "ArtifactGenerator") || object.GetNamespace() != from.Namespace {
			continue
		}
		for _, one := range object.Entries("spec", "artifacts") {
			if one.Text("name") == from.Name {
				made = append(made, generatedArtifact{artifactName{object, from.Name}, one.Entries("copy")})
			}
		}
	}
	return made
}

// artifactIsSeen reports whether an artifact's generator and the repositories that it takes are among what is seen so far.
func (f *follower) artifactIsSeen(from delivery.Reference) bool {
	made := f.artifactsNamed(from)
	return len(made) > 0 && !slices.ContainsFunc(made[0].generator.Entries("spec", "sources"), func(source *delivery.Object) bool {
		to := delivery.ReferenceOf(source, made[0].generator.GetNamespace())
		return to.Kind == "GitRepository" && f.known.Source("GitRepository", to) == nil
	})
}

// staged is an artifact, put together once.
func (f *follower) staged(ctx context.Context, a generatedArtifact) (*artifact.Artifact, error) {
	if f.stagings[a.artifactName] == nil {
		f.stagings[a.artifactName] = sync.OnceValues(func() (*artifact.Artifact, error) {
			dir, err := f.tree.Temporary("moult-artifact-")
			if err != nil {
				return nil, err
			}
			return artifact.Stage(dir, a.copies, func(alias string) (artifact.Source, error) { return f.artifactSource(ctx, a.generator, alias) })
		})
	}
	return f.stagings[a.artifactName]()
}

// artifactSource are the files of a generator's source: this repository, or a tag or commit of another that is fetched.
func (f *follower) artifactSource(ctx context.Context, generator *delivery.Object, alias string) (artifact.Source, error) {
	named := slices.DeleteFunc(generator.Entries("spec", "sources"), func(source *delivery.Object) bool { return source.Text("alias") != alias })
	if len(named) != 1 {
		return artifact.Source{}, fmt.Errorf("it has %d sources %s", len(named), alias)
	}
	from := delivery.ReferenceOf(named[0], generator.GetNamespace())
	elsewhere, pinned := f.known.SourceIsHere(from)
	repository := f.known.Source("GitRepository", from)
	switch {
	case repository == nil && elsewhere == "" && from.Name != "flux-system": // which flux bootstrap and the Flux Operator make
		return artifact.Source{}, &artifact.OtherSourceError{Why: fmt.Sprintf("GitRepository %s is not in this repository", from.Name)}
	case repository != nil && from.Kind == "GitRepository":
		for _, field := range []string{"sparseCheckout", "recurseSubmodules", "include"} {
			if jsonOf(repository.Field("spec", field)) != "" {
				return artifact.Source{}, &artifact.OtherSourceError{Why: fmt.Sprintf("what spec.%s of GitRepository %s does is not worked out for an artifact", field, from.Name)}
			}
		}
	}
	if elsewhere == "" && pinned == "" {
		return artifact.SourceOf(f.tree, "", flux.IgnoredBy(f.tree, repository))
	}
	there, err := f.artifactElsewhere(ctx, from, repository)
	switch {
	case errors.Is(err, charts.ErrNotAsked) && elsewhere == "":
		return artifact.Source{}, &artifact.OtherSourceError{Why: "it is taken from " + pinned}
	case errors.Is(err, charts.ErrNotAsked):
		return artifact.Source{}, &artifact.OtherSourceError{Why: elsewhere}
	case err != nil:
		return artifact.Source{}, &artifact.OtherSourceError{Why: err.Error()}
	}
	return artifact.SourceOf(there, repository.Text("spec", "url"), flux.IgnoredBy(there, repository))
}

// artifactElsewhere fetches what a GitRepository has of another repository.
func (f *follower) artifactElsewhere(ctx context.Context, from delivery.Reference, repository *delivery.Object) (*files.Tree, error) {
	if f.Repositories == nil || repository == nil || from.Kind != "GitRepository" || flux.PinnedTo(repository) == "" {
		return nil, charts.ErrNotAsked
	}
	tree, err := f.Repositories.Fetch(ctx, repository.Text("spec", "url"), flux.PinnedTo(repository))
	return files.Of(tree), err
}

// fluxArtifact fills a unit with what an artifact has that is made of this repository, if that can be told. The error says
// why it cannot.
func (f *follower) fluxArtifact(ctx context.Context, u *delivery.Unit, d delivery.Source) error {
	made, err := f.artifactOf(u.By.SourceRef())
	if err != nil {
		return err
	}
	staged, err := f.staged(ctx, made)
	if err != nil {
		return f.tree.Shorten(err)
	}
	at := strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(d.Path)), "/")
	switch {
	case staged.MayLack(cmp.Or(at, ".")), len(staged.Lacks) > 0 && d.IgnoreMissingComponents:
		return errors.New(staged.Why)
	}
	dir := filepath.Join(staged.Dir, filepath.FromSlash(at))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return errors.New("nothing is copied there")
	}
	o := f.fluxOptions(u, d)
	o.Root, o.Ignored = staged.Dir, nil // what is ignored is not in it
	rendering, err := render.Folder(dir, o)
	if err != nil {
		return errors.New(strings.NewReplacer(staged.Dir+string(filepath.Separator), "", staged.Dir, "the artifact").Replace(err.Error()))
	}
	u.Unseen = ""
	for _, dir := range staged.Dirs(cmp.Or(at, ".")) {
		u.Dirs = append(u.Dirs, f.tree.Relative(dir))
	}
	u.Elsewhere = append(u.Elsewhere, staged.Elsewhere...)
	u.Objects = append(u.Objects, files.Placed(rendering, func(at finding.Place) finding.Place { return f.tree.Place(staged.Place(at)) })...)
	return nil
}

// allBuilt reports whether each artifact of an ArtifactGenerator is taken by Kustomizations here, and all of these were built.
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
