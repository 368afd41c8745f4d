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

	"github.com/bmatcuk/doublestar/v4"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// artifact is what an ArtifactGenerator makes under one name.
type artifact struct {
	generator *delivery.Object
	name      string
	copies    []*delivery.Object
}

// artifactOf finds what makes an ExternalArtifact. The error says why it cannot be told.
func (f *follower) artifactOf(from delivery.Reference) (artifact, error) {
	made := f.artifactsNamed(from)
	switch {
	case len(made) == 0:
		return artifact{}, errors.New("no ArtifactGenerator in this repository makes it")
	case len(made) > 1:
		return artifact{}, errors.New("several ArtifactGenerators make it")
	}
	generator := made[0].generator
	switch annotation := generator.GetAnnotations()["source.extensions.fluxcd.io/reconcile"]; {
	case strings.EqualFold(annotation, "disabled"), strings.EqualFold(annotation, "disable"):
		return artifact{}, errors.New("its ArtifactGenerator is suspended")
	case generator.Text("spec", "pathPattern") != "":
		return artifact{}, errors.New("its ArtifactGenerator makes one for each folder of a pattern")
	case f.templated[generator]:
		return artifact{}, errors.New("its ArtifactGenerator has variables whose values are not in this repository")
	}
	return made[0], nil
}

// artifactsNamed are those that are seen so far.
func (f *follower) artifactsNamed(from delivery.Reference) (made []artifact) {
	for _, object := range f.cluster.Objects() {
		if !object.Is("source.extensions.fluxcd.io", "ArtifactGenerator") || object.GetNamespace() != from.Namespace {
			continue
		}
		for _, one := range object.Entries("spec", "artifacts") {
			if one.Text("name") == from.Name {
				made = append(made, artifact{object, from.Name, one.Entries("copy")})
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
		return to.Kind == "GitRepository" && f.gitRepository(to.Namespace, to.Name) == nil
	})
}

// staged is an artifact, put together once.
func (f *follower) staged(ctx context.Context, a artifact) (*staging, error) {
	for _, known := range f.stagings {
		if known.of.generator == a.generator && known.of.name == a.name {
			return known.staging, known.err
		}
	}
	made, err := f.stage(ctx, a)
	f.stagings = append(f.stagings, stagedArtifact{a, made, err})
	return made, err
}

// stagedArtifact is an artifact that was put together, or why it cannot be.
type stagedArtifact struct {
	of      artifact
	staging *staging
	err     error
}

// stage puts an artifact together as source-watcher does, without what comes from sources that cannot be read.
// https://github.com/fluxcd/source-watcher/blob/main/internal/builder/builder.go
func (f *follower) stage(ctx context.Context, a artifact) (*staging, error) {
	dir, err := f.tree.Temporary("moult-artifact-")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	into := &staging{dir: dir, root: root, from: map[string]string{}, room: mostInArtifact}
	for _, operation := range a.copies {
		if err := f.carryOut(ctx, a.generator, operation, into); err != nil {
			return nil, err
		}
	}
	return into, into.pack()
}

// carryOut does what one operation says.
func (f *follower) carryOut(ctx context.Context, generator, operation *delivery.Object, into *staging) error {
	c, err := copyingOf(operation)
	if err != nil {
		return err
	}
	from, err := f.artifactSource(ctx, generator, c.alias, into)
	var other *otherSourceError
	if errors.As(err, &other) {
		into.lacks, into.why = append(into.lacks, path.Clean(c.to)), cmp.Or(into.why, other.why)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.root.Close() }()
	if operation.Text("strategy") == unpacks {
		return fmt.Errorf("%s is unpacked", operation.Text("from"))
	}
	return c.files(from, into)
}

// unpacks is the strategy for archives.
const unpacks = "Extract"

// copyingOf takes an operation apart.
func copyingOf(operation *delivery.Object) (copying, error) {
	c := copying{exclude: operation.Texts("exclude"), merge: operation.Text("strategy") == "Merge"}
	from, aliased := strings.CutPrefix(operation.Text("from"), "@")
	to, inArtifact := strings.CutPrefix(operation.Text("to"), "@artifact/")
	alias, pattern, found := strings.Cut(from, "/")
	c.alias, c.pattern, c.to = alias, pattern, to
	switch strategy := operation.Text("strategy"); {
	case !aliased || !found || !inArtifact:
		return c, fmt.Errorf("nothing can be copied from %s to %s", operation.Text("from"), operation.Text("to"))
	case to != "" && !filepath.IsLocal(filepath.FromSlash(to)):
		return c, fmt.Errorf("%s leads out of the artifact", operation.Text("to"))
	case !slices.Contains([]string{"", "Overwrite", "Merge", unpacks}, strategy):
		return c, fmt.Errorf("what the strategy %s does is not known", strategy)
	}
	for _, pattern := range c.exclude {
		if !doublestar.ValidatePattern(pattern) {
			return c, fmt.Errorf("%s is no pattern", pattern)
		}
	}
	return c, nil
}

// otherSourceError says why the files of a source cannot be read here.
type otherSourceError struct{ why string }

// Error is why.
func (e *otherSourceError) Error() string { return e.why }

// artifactSource are the files of a generator's source: this repository, or a tag or commit of another that is fetched.
func (f *follower) artifactSource(ctx context.Context, generator *delivery.Object, alias string, into *staging) (sourceFiles, error) {
	named := slices.DeleteFunc(generator.Entries("spec", "sources"), func(source *delivery.Object) bool { return source.Text("alias") != alias })
	if len(named) != 1 {
		return sourceFiles{}, fmt.Errorf("it has %d sources %s", len(named), alias)
	}
	from := delivery.ReferenceOf(named[0], generator.GetNamespace())
	elsewhere, pinned := f.sourceIsHere(from)
	repository := f.gitRepository(from.Namespace, from.Name)
	switch {
	case repository == nil && elsewhere == "" && from.Name != "flux-system": // which flux bootstrap and the Flux Operator make
		return sourceFiles{}, &otherSourceError{fmt.Sprintf("GitRepository %s is not in this repository", from.Name)}
	case repository != nil && from.Kind == "GitRepository":
		for _, field := range []string{"sparseCheckout", "recurseSubmodules", "include"} {
			if jsonOf(repository.Field("spec", field)) != "" {
				return sourceFiles{}, &otherSourceError{fmt.Sprintf("what spec.%s of GitRepository %s does is not worked out for an artifact", field, from.Name)}
			}
		}
	}
	if elsewhere == "" && pinned == "" {
		return filesOf(f.tree, repository, true)
	}
	there, err := f.artifactElsewhere(ctx, from, repository)
	switch {
	case errors.Is(err, charts.ErrNotAsked) && elsewhere == "":
		return sourceFiles{}, &otherSourceError{"it is taken from " + pinned}
	case errors.Is(err, charts.ErrNotAsked):
		return sourceFiles{}, &otherSourceError{elsewhere}
	case err != nil:
		return sourceFiles{}, &otherSourceError{err.Error()}
	}
	into.elsewhere = append(into.elsewhere, repository.Text("spec", "url"))
	return filesOf(there, repository, false)
}

// artifactElsewhere fetches what a GitRepository has of another repository.
func (f *follower) artifactElsewhere(ctx context.Context, from delivery.Reference, repository *delivery.Object) (*files.Tree, error) {
	if f.Repositories == nil || repository == nil || from.Kind != "GitRepository" || flux.PinnedTo(repository) == "" {
		return nil, charts.ErrNotAsked
	}
	tree, err := f.Repositories.Fetch(ctx, repository.Text("spec", "url"), flux.PinnedTo(repository))
	return files.Of(tree), err
}

// filesOf are those of the whole tree that a GitRepository hands on.
func filesOf(t *files.Tree, repository *delivery.Object, ours bool) (sourceFiles, error) {
	root, err := os.OpenRoot(t.Root)
	return sourceFiles{root: root, ignored: ignoredBy(t, repository), ours: ours}, err
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
	case staged.mayLack(cmp.Or(at, ".")), len(staged.lacks) > 0 && d.IgnoreMissingComponents:
		return errors.New(staged.why)
	}
	dir := filepath.Join(staged.dir, filepath.FromSlash(at))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return errors.New("nothing is copied there")
	}
	o := f.fluxOptions(u, d)
	o.Root, o.Ignored = staged.dir, nil // what is ignored is not in it
	rendering, err := render.Folder(dir, o)
	if err != nil {
		return errors.New(strings.NewReplacer(staged.dir+string(filepath.Separator), "", staged.dir, "the artifact").Replace(err.Error()))
	}
	u.Unseen = ""
	for _, dir := range staged.dirs(cmp.Or(at, ".")) {
		u.Dirs = append(u.Dirs, f.tree.Relative(dir))
	}
	u.Elsewhere = append(u.Elsewhere, staged.elsewhere...)
	u.Objects = append(u.Objects, files.Placed(rendering, func(at finding.Place) finding.Place { return f.tree.Place(staged.place(at)) })...)
	return nil
}

// scopeOfCopies is how much of the repository may decide about what a generator makes.
func scopeOfCopies(generator *delivery.Object) files.Scope {
	for _, one := range generator.Entries("spec", "artifacts") {
		for _, operation := range one.Entries("copy") {
			from, to := path.Ext(operation.Text("from")), path.Ext(operation.Text("to"))
			if operation.Text("strategy") == unpacks || !strings.HasSuffix(operation.Text("to"), "/") && to != "" && from != to {
				return files.Everything
			}
		}
	}
	return files.Data
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
