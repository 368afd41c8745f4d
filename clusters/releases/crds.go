package releases

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/finding"
)

// folder is what one held.
type folder struct {
	crds []deprecation.Copy
	// notes are what in it could not be read, and unread those files that are no YAML.
	notes, unread []string
}

// read reads the CRDs of a release: those of the folders that were named, or of the first family that has some.
func (r *reader) read(ctx context.Context, release *Release) {
	release.Places = map[string]finding.Place{}
	found := [][]string{r.Folders}
	if len(r.Folders) == 0 {
		found = candidates(release.Files, families)
	}
	for _, folders := range found {
		for _, name := range folders {
			r.take(ctx, release, path.Clean(filepath.ToSlash(name)))
		}
		if len(release.CRDs) > 0 {
			return
		}
	}
}

// take adds the CRDs of a folder, or of a file. Of two of the same name the first counts.
func (r *reader) take(ctx context.Context, release *Release, name string) {
	info, err := fs.Stat(release.Files, name)
	if err != nil {
		return // it was elsewhere, or is not there yet
	}
	held := r.folder(ctx, release, name, info)
	for _, note := range held.notes {
		r.unread("%s: %s", release.Name, note)
	}
	if len(held.crds) > 0 {
		release.Folders = append(release.Folders, name)
	}
	for _, c := range held.crds {
		if first, twice := release.Places[c.CRD.Name]; twice {
			if within(first.File, []string{name}) {
				r.note("%s: %s is twice in %s, and the first is judged: %s", release.Name, c.CRD.Name, name, first.File)
			}
			continue
		}
		release.CRDs, release.Places[c.CRD.Name] = append(release.CRDs, c.CRD), c.Place
	}
}

// folder reads one, if it was not the same in a release before.
func (r *reader) folder(ctx context.Context, release *Release, name string, info fs.FileInfo) folder {
	hash, _ := info.Sys().(string)
	held, known := r.known[name+"\x00"+hash]
	if !known || hash == "" {
		held = readFolder(ctx, release, name, info.IsDir())
		r.known[name+"\x00"+hash] = held
	}
	return held
}

func readFolder(ctx context.Context, release *Release, name string, isFolder bool) folder {
	held := folder{}
	if isFolder && kustomizationIn(release.Files, name) != "" {
		rendering, err := built(ctx, release, name)
		if err == nil {
			held.add(rendering, func(finding.Place) finding.Place {
				return finding.Place{File: path.Join(name, kustomizationIn(release.Files, name))}
			})
			return held
		}
		held.notes = append(held.notes, fmt.Sprintf("%s is not built, and its files are read as they are: %v", name, err))
	}
	_ = fs.WalkDir(release.Files, name, func(file string, entry fs.DirEntry, err error) error { // held has notes of what fails
		if err != nil {
			held.notes = append(held.notes, err.Error())
			return nil
		}
		switch {
		case !isManifest(file):
		case entry.Type().IsRegular():
			held.readFile(release.Files, file)
		case entry.Type()&fs.ModeSymlink != 0:
			held.notes = append(held.notes, file+" is a symbolic link, which is not followed")
		}
		return nil
	})
	return held
}

func isManifest(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file))
}

// mostOfAFile is how many bytes of a file are read: the bundles of the largest operators have two MiB.
const mostOfAFile = 16 << 20

// readFile reads the CRDs of a file, if there are some.
func (held *folder) readFile(files fs.FS, name string) {
	if info, err := fs.Stat(files, name); err == nil && info.Size() > mostOfAFile {
		held.notes, held.unread = append(held.notes, fmt.Sprintf("%s has %d MiB, and is not read", name, info.Size()>>20)), append(held.unread, name)
		return
	}
	content, err := fs.ReadFile(files, name)
	if err == nil && !bytes.Contains(content, []byte("CustomResourceDefinition")) {
		return
	}
	var rendering *render.Rendering
	if err == nil {
		rendering, err = render.Stream(name, bytes.NewReader(content))
	}
	if err != nil {
		held.notes, held.unread = append(held.notes, err.Error()), append(held.unread, name)
		return
	}
	held.add(rendering, func(place finding.Place) finding.Place { return place })
}

func (held *folder) add(rendering *render.Rendering, at func(finding.Place) finding.Place) {
	for _, object := range rendering.Objects {
		if !object.IsCRD() {
			continue
		}
		crd, err := crddiff.Decode(object.Unstructured)
		if err != nil {
			held.notes = append(held.notes, fmt.Sprintf("%s: %v", rendering.Name, err))
			continue
		}
		held.crds = append(held.crds, deprecation.Copy{CRD: crd, Place: at(finding.Place{File: rendering.Name})})
	}
}

func kustomizationIn(files fs.FS, folder string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, err := fs.Stat(files, path.Join(folder, name)); err == nil {
			return name
		}
	}
	return ""
}

// built renders a folder that has a kustomization, and fetches nothing: an old tag may name hosts that somebody else has now. It is
// built on disk where it lies there, and else in a temporary folder, by itself if it names nothing outside of itself.
func built(ctx context.Context, release *Release, name string) (*render.Rendering, error) {
	if release.Root != "" {
		return render.Folder(filepath.Join(release.Root, filepath.FromSlash(name)), render.Options{Root: release.Root, Network: network.Offline()})
	}
	rendering, err := builtFrom(ctx, release.Files, name, name)
	if err == nil || name == "." {
		return rendering, err
	}
	return builtFrom(ctx, release.Files, ".", name)
}

// builtFrom writes a part of the files, and renders a folder of it.
func builtFrom(ctx context.Context, files fs.FS, part, name string) (*render.Rendering, error) {
	root, err := os.MkdirTemp("", "moult-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	if err := write(ctx, files, part, root); err != nil {
		return nil, err
	}
	rendering, err := render.Folder(filepath.Join(root, filepath.FromSlash(name)), render.Options{Root: root, Network: network.Offline()})
	if err == nil {
		rendering.Name = name
	}
	return rendering, err
}

// write copies what a build may read.
func write(ctx context.Context, files fs.FS, part, into string) error {
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(files, part, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !entry.Type().IsRegular() || !isManifest(name) && !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)):
			return nil
		}
		content, err := fs.ReadFile(files, name)
		if err == nil {
			err = root.MkdirAll(path.Dir(name), 0o700)
		}
		if err == nil {
			err = root.WriteFile(name, content, 0o600)
		}
		return err
	})
}
