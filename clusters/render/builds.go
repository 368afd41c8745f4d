package render

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Builds are the folders that were built so far. A folder of which nothing that is read differs, in another tree or for
// another entry point, is not built again. Most of a pull request's base is in its head, too.
//
// The files of the trees must not change meanwhile. Builds can be used by several goroutines.
type Builds struct {
	mu    sync.Mutex
	sums  map[string][sha256.Size]byte // of files, by their absolute paths
	known map[[sha256.Size]byte]*sharedBuild
	files map[[sha256.Size]byte]*sharedFile // by their content
	bases bases
}

// NewBuilds has none.
func NewBuilds() *Builds {
	return &Builds{sums: map[string][sha256.Size]byte{}, known: map[[sha256.Size]byte]*sharedBuild{}, files: map[[sha256.Size]byte]*sharedFile{}}
}

// sharedBuild is one that others may take, once it is done.
type sharedBuild struct {
	sync.Mutex

	rendering *Rendering // nil if it has not been built, or can be for its own folder alone
	err       error      // of a build that fails
	root      string
	// notes are the paths that were read or looked for, and lacks those among them that were not there; from the root.
	notes, lacks []string
}

// folder builds a folder, or takes what was built of the same files.
func (b *Builds) folder(f *folder) (*Rendering, error) {
	root, err := filepath.EvalSymlinks(f.options.Root)
	if b == nil || err != nil || f.options.Root == "" || f.options.Edit != nil {
		return f.renderOnce()
	}
	read := b.inputs(f, root)
	b.mu.Lock()
	one := b.known[read.key]
	if one == nil {
		one = &sharedBuild{}
		b.known[read.key] = one
	}
	b.mu.Unlock()
	one.Lock()
	defer one.Unlock()
	if one.err != nil && one.fits(root) {
		one.note(f, root)
		return nil, &movedError{one.err, strings.NewReplacer(one.root+string(filepath.Separator), root+string(filepath.Separator))}
	}
	if one.rendering == nil || !one.fits(root) {
		built, err := one.build(f, root, read.files)
		if err != nil || one.rendering == nil {
			return built, err
		}
	}
	return one.own(f, root), nil
}

// build builds a folder, and keeps what others may take: what was built of nothing but the files that the key stands for.
func (s *sharedBuild) build(f *folder, root string, files map[string]bool) (*Rendering, error) {
	var mu sync.Mutex
	noted, own := map[string]bool{}, *f
	own.options.Note = func(path string) {
		mu.Lock()
		defer mu.Unlock()
		noted[path] = true
	}
	inflated := false
	if inflate := f.options.Inflate; inflate != nil {
		own.options.Inflate = func(dir, home string, chart types.HelmChart) ([]byte, error) {
			inflated = true
			return inflate(dir, home, chart)
		}
	}
	built, err := own.renderOnce()
	one := sharedBuild{rendering: built, root: root}
	for _, path := range slices.Sorted(maps.Keys(noted)) {
		if f.options.Note != nil {
			f.options.Note(path)
		}
		short, outside := filepath.Rel(root, path)
		switch {
		case outside != nil || !filepath.IsLocal(short):
			continue // it was fetched, or is an error
		case !exists(path):
			one.lacks = append(one.lacks, short)
		case !files[path] && !isFolder(path):
			inflated = true // the key does not stand for it
		}
		one.notes = append(one.notes, short)
	}
	if !inflated {
		s.rendering, s.err, s.root, s.notes, s.lacks = one.rendering, err, one.root, one.notes, one.lacks
	}
	return built, err
}

// movedError is one of a build in another tree, whose paths are those of this one.
type movedError struct {
	error

	paths *strings.Replacer
}

// Error implements error.
func (e *movedError) Error() string { return e.paths.Replace(e.error.Error()) }

// Unwrap is the error itself.
func (e *movedError) Unwrap() error { return e.error }

// note takes note of what was read or looked for, as if the folder were built once more.
func (s *sharedBuild) note(f *folder, root string) {
	if f.options.Note != nil {
		for _, short := range s.notes {
			f.options.Note(filepath.Join(root, short))
		}
	}
}

// fits reports whether nothing is there in another tree that was looked for in vain.
func (s *sharedBuild) fits(root string) bool {
	return !slices.ContainsFunc(s.lacks, func(short string) bool { return exists(filepath.Join(root, short)) })
}

// own is the build for a folder of its own tree: no build changes what others have, and places are in this tree.
func (s *sharedBuild) own(f *folder, root string) *Rendering {
	s.note(f, root)
	moved := func(path string) string {
		if short, err := filepath.Rel(s.root, path); path != "" && err == nil && filepath.IsLocal(short) {
			return filepath.Join(root, short)
		}
		return path
	}
	r := &Rendering{Name: f.dir, Objects: make([]*delivery.Object, len(s.rendering.Objects)), Files: make([]string, len(s.rendering.Files)), lacks: s.rendering.lacks}
	for i, file := range s.rendering.Files {
		r.Files[i] = moved(file)
	}
	for i, object := range s.rendering.Objects {
		r.Objects[i] = &delivery.Object{Unstructured: ownContent(object.Unstructured), At: func(fields ...string) finding.Place {
			at := object.Place(fields...)
			if at.Repo == "" {
				at.File = moved(at.File)
			}
			return at
		}}
	}
	return r
}

// ownContent is an object whose fields can be set, and whose metadata can be changed. What is below spec is shared.
func ownContent(of *unstructured.Unstructured) *unstructured.Unstructured {
	content := maps.Clone(of.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		content["metadata"] = runtime.DeepCopyJSON(metadata)
	}
	return &unstructured.Unstructured{Object: content}
}

// inputs are what a folder is built of.
type inputs struct {
	key   [sha256.Size]byte
	files map[string]bool // absolute
}

// inputs finds all files that a folder may be built of. It may be more than Kustomize reads.
func (b *Builds) inputs(f *folder, root string) inputs {
	in, sum := inputs{files: map[string]bool{}}, sha256.New()
	dir, err := filepath.EvalSymlinks(f.dir)
	short, outside := filepath.Rel(root, dir)
	o := f.options
	content, failed := json.Marshal([]any{short, o.Components, o.IgnoreMissingComponents, o.Patches, o.Namespace, o.NamePrefix, o.NameSuffix, o.Labels, o.Annotations})
	fmt.Fprintln(sum, f.omitted)
	fmt.Fprintln(sum, string(content), err, outside, failed, o.Inflate != nil)
	paths := reachable(dir, root)
	for _, component := range o.Components {
		paths = append(paths, reachable(filepath.Join(dir, component), root)...)
	}
	for _, patch := range o.Patches {
		if patch.Path != "" {
			paths = append(paths, filepath.Join(dir, patch.Path))
		}
	}
	if KustomizationIn(dir) == "" {
		manifests, err := f.manifestsIn(f.plainDisk(), dir)
		fmt.Fprintln(sum, len(manifests), err != nil)
		for _, manifest := range manifests {
			paths = append(paths, filepath.Join(dir, manifest))
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		b.add(&in, sum, f, root, path)
	}
	copy(in.key[:], sum.Sum(nil))
	return in
}

// plainDisk is what manifests are listed on.
func (f *folder) plainDisk() filesys.FileSystem {
	disk := filesys.FileSystem(regular{filesys.MakeFsOnDisk()})
	if f.options.Ignored != nil {
		disk = ignoring{disk, f.options.Ignored}
	}
	return disk
}

// add adds a file, or the kustomization of a folder.
func (b *Builds) add(in *inputs, sum hash.Hash, f *folder, root, path string) {
	short, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(short) {
		return
	}
	if isFolder(path) {
		fmt.Fprintf(sum, "folder %q %q %t\n", short, directFrom(root, path), f.ignores(path, true))
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if file := filepath.Join(path, name); exists(file) {
				b.addFile(in, sum, f, root, file, filepath.Join(short, name))
			}
		}
		return
	}
	b.addFile(in, sum, f, root, path, short)
}

func (b *Builds) addFile(in *inputs, sum hash.Hash, f *folder, root, file, short string) {
	in.files[file] = true
	direct := directFrom(root, file)
	in.files[filepath.Join(root, direct)] = true
	fmt.Fprintf(sum, "file %q %q %t %x\n", short, direct, f.ignores(file, false), b.sumOf(file))
}

// directFrom is a path from the root, without symbolic links.
func directFrom(root, path string) string {
	direct, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	short, err := filepath.Rel(root, direct)
	if err != nil {
		return ""
	}
	return short
}

func (f *folder) ignores(path string, isDir bool) bool {
	return f.options.Ignored != nil && f.options.Ignored(path, isDir)
}

// sumOf stands for the content of a file. What cannot be read is not built.
func (b *Builds) sumOf(file string) [sha256.Size]byte {
	b.mu.Lock()
	known, there := b.sums[file]
	b.mu.Unlock()
	if there {
		return known
	}
	content, err := ReadAsIs(file)
	known = sha256.Sum256(content)
	if err != nil {
		known = sha256.Sum256([]byte("unreadable"))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sums[file] = known
	return known
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
