package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/finding"
)

// Options are what a delivery tool adds to a folder from outside. The zero value adds nothing.
type Options struct {
	// Components are folders relative to the one that is built, or URLs.
	Components []string
	// IgnoreMissingComponents leaves out local components that do not exist, as Flux and Argo CD do when asked to.
	IgnoreMissingComponents bool
	// Patches come after those of the folder's own kustomization.
	Patches []types.Patch
	// Namespace, NamePrefix and NameSuffix take the place of those in the folder's own kustomization.
	Namespace, NamePrefix, NameSuffix string
	// Labels and Annotations are put on every object after the build, as spec.commonMetadata does it.
	Labels, Annotations map[string]string
	// Root, if set, is the folder that no file is read outside of: the repository's.
	Root string
	// Inflate, if set, renders a chart that a kustomization of a folder names, whose own charts are in home, a path from there.
	// Nil is as Kustomize without --enable-helm, and without plug-ins: what ksops decrypts is then not seen.
	Inflate func(dir, home string, chart types.HelmChart) ([]byte, error)
	// Partly builds all but the remote bases, charts and generated objects that cannot be had here, if there are any.
	Partly bool
	// Network says whom Kustomize may ask for remote bases; nil for anybody.
	Network *network.Policy
	// Builds, if set, are those of which this one may be taken. Root has to be set, too.
	Builds *Builds
	// Ignored, if set, names the files that are as if they were not there. It gets absolute paths.
	Ignored func(path string, isDir bool) bool
	// LeaveOut, if set, names files of a folder without a kustomization that are no manifests and are not built. It gets
	// absolute paths, and may be asked more than once for each file.
	LeaveOut func(file string, content []byte) bool
	// Note, if set, is called for every file that is read or looked for, by its absolute path.
	Note func(path string)
	// Edit, if set, changes a kustomization file before Kustomize reads it; the file itself is left alone. It is called
	// for every kustomization and component of the build that has a file, by the file's absolute path, and may be called
	// more than once for each. An error ends the build.
	Edit func(file string, content []byte) ([]byte, error)
}

// Folder builds a folder. It fails when Kustomize does, and the error then names the folder.
//
// A folder without a kustomization is built from all manifests in it and below; folders below that do have one are
// built by it.
func Folder(dir string, o Options) (*Rendering, error) {
	f := &folder{dir: dir, options: o}
	rendering, err := o.Builds.folder(f)
	if err != nil && o.Partly {
		rendering, err = f.partly(err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be built: %w", dir, err)
	}
	return rendering, nil
}

type folder struct {
	dir     string
	options Options
	omitted omitted
}

// errSchemas is what a build fails with that Kustomize has to do with the schemas of the CRDs.
var errSchemas = errors.New("the schemas of CRDs are part of this build")

// renderOnce builds the folder, whatever was built before.
func (f *folder) renderOnce() (*Rendering, error) {
	rendering, err := f.render(newSchemas())
	if errors.Is(err, errSchemas) {
		rendering, err = f.render(nil)
	}
	return rendering, err
}

// render keeps the schemas of CRDs from Kustomize, if they are not nil.
func (f *folder) render(s *schemas) (*Rendering, error) {
	read, built, err := f.build(false, s)
	switch {
	case s != nil && len(s.taken) > 0 && (err != nil || s.seen):
		return nil, errSchemas
	case err != nil:
		return nil, err
	}
	places := &places{folder: f, ids: built.AllIds(), whole: s == nil}
	objects, err := objectsOf(built, s, places.of)
	switch {
	case errors.Is(err, errSchemas):
		return nil, err
	case read.sealed && (read.copies() || slices.ContainsFunc(objects, leaks)):
		return nil, errSealed
	case err != nil:
		return nil, err
	}
	return &Rendering{Name: f.dir, Objects: objects, Files: read.files(), lacks: read.lacks}, nil
}

// build returns what was read, and the objects: with origins, each with an annotation that has its own.
func (f *folder) build(origins bool, s *schemas) (read *overlay, built resmap.ResMap, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = gaveUp(caught)
		}
	}()
	disk, err := confine(regular{filesys.MakeFsOnDisk()}, f.options.Root)
	if err != nil {
		return nil, nil, err
	}
	if f.options.Ignored != nil {
		disk = ignoring{disk, f.options.Ignored}
	}
	all, disk := disk, noted(disk, f.options.Note)
	root, file, err := disk.CleanedAbs(f.dir)
	if err != nil {
		return nil, nil, err
	}
	if file != "" {
		return nil, nil, errors.New("it is a file; name its folder")
	}
	remotes := newRemotes(f.options.Network, f.options.Builds)
	overlay := &overlay{FileSystem: disk, edit: f.options.Edit, remotes: remotes, inflater: f.options.Inflate, inflated: map[string][]byte{}, read: map[string]bool{}, schemas: s, omitted: f.omitted}
	overlay.rootFile, overlay.root, err = f.kustomization(disk, root.String(), origins)
	if err != nil {
		return nil, nil, err
	}
	if err := f.holdsNone(disk, root.String(), hasNoKind); err != nil {
		return nil, nil, err
	}
	if s != nil {
		s.readAhead(all, root.String())
	}
	built, err = build(overlay, root.String(), remotes)
	if err != nil && overlay.sealed && OnlyHere(err) == "" {
		return nil, nil, errSealed // a patch may be for what is decrypted
	}
	if err != nil {
		return nil, nil, cmp.Or(f.holdsNone(disk, root.String(), hasAnything), err)
	}
	return overlay, built, mark(built, f.options)
}

// mark is done after everything else, so no patch sees it.
func mark(built resmap.ResMap, o Options) error {
	for _, r := range built.Resources() {
		if len(o.Labels) > 0 {
			labels := r.GetLabels()
			maps.Copy(labels, o.Labels)
			if err := r.SetLabels(labels); err != nil {
				return err
			}
		}
		if len(o.Annotations) > 0 {
			annotations := r.GetAnnotations()
			maps.Copy(annotations, o.Annotations)
			if err := r.SetAnnotations(annotations); err != nil {
				return err
			}
		}
	}
	return nil
}

// places finds out where the objects of a folder come from, when somebody asks. A build that annotates origins is not
// the build that Flux runs, since patches see the annotations: so it is a second one. Until then nothing is kept of what was
// parsed, which takes ten times the memory of the objects.
type places struct {
	folder *folder
	ids    []resid.ResId // of the objects
	whole  bool          // Kustomize had the schemas of CRDs

	once    sync.Once
	origins []*resource.Origin
	schemas *schemas // of the second build, so that nothing is parsed again for each place
}

func (p *places) of(i int, fields []string) finding.Place {
	p.once.Do(p.find)
	if i >= len(p.origins) || p.origins[i] == nil {
		return finding.Place{}
	}
	origin := p.origins[i]
	switch {
	case origin.Repo != "":
		return finding.Place{File: origin.Path, Repo: origin.Repo, Ref: origin.Ref}
	case origin.ConfiguredIn != "":
		return finding.Place{File: filepath.Join(p.folder.dir, origin.ConfiguredIn)}
	}
	if isInflated(origin.Path) {
		return finding.Place{File: KustomizationIn(filepath.Join(p.folder.dir, filepath.Dir(origin.Path)))}
	}
	return placeIn(filepath.Join(p.folder.dir, origin.Path), p.ids[i].Kind, p.ids[i].Name, fields)
}

// find leaves no origins behind when the second build differs.
func (p *places) find() {
	if !p.whole {
		p.schemas = newSchemas()
	}
	_, annotated, err := p.folder.build(true, p.schemas)
	if err != nil || !slices.Equal(annotated.AllIds(), p.ids) {
		return
	}
	origins := make([]*resource.Origin, annotated.Size())
	for i, r := range annotated.Resources() {
		if origins[i], err = r.GetOrigin(); err != nil {
			return
		}
	}
	p.origins = origins
}
