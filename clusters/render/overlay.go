package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/unpacking"
)

// overlay is the disk with another kustomization file at the root. It remembers what was read.
type overlay struct {
	filesys.FileSystem

	rootFile string // the file that is replaced
	root     []byte // its content, nil to leave it as it is
	edit     func(file string, content []byte) ([]byte, error)
	remotes  *remotes
	inflater func(dir, home string, chart types.HelmChart) ([]byte, error)
	inflated map[string][]byte // manifests of charts and of ksops, by the paths that stand for them
	read     map[string]bool
	schemas  *schemas // those that Kustomize does not get, nil if it gets all
	omitted  omitted
	lacks    []string // what was left out
	sealed   bool     // some of what is built is encrypted
	builtBy  []builtBy
}

// ReadFile is how Kustomize reads everything but remote files.
func (o *overlay) ReadFile(name string) ([]byte, error) {
	content, made := o.inflated[name]
	var err error
	if !made {
		content, err = o.FileSystem.ReadFile(name)
	}
	if pointer, is := errors.AsType[*PointerError](err); is { // Kustomize's own errors do not keep it
		o.remotes.refused = pointer
	}
	replaced := name == o.rootFile && o.root != nil
	if err == nil && !made {
		o.read[name] = true
	}
	if replaced {
		content, err = o.root, nil
	}
	if err == nil && o.edit != nil && isKustomization(name) {
		content, err = o.edit(name, content)
	}
	if err == nil && isKustomization(name) {
		content, err = o.decrypted(name, content)
	}
	if err == nil && isKustomization(name) {
		content, err = o.leaveOut(content)
	}
	if err == nil && isKustomization(name) {
		err = o.remotes.check(content)
	}
	if err == nil && isKustomization(name) && o.inflater != nil {
		content, err = o.inflate(name, content)
	}
	switch {
	case err != nil:
	case isKustomization(name):
		if o.schemas != nil {
			o.schemas.seen = o.schemas.seen || o.looksInside(name, content)
		}
		content = o.together(name, content)
	case o.schemas != nil:
		content = o.schemas.takeOut(content)
	}
	return content, err
}

func (o *overlay) files() []string { return slices.Sorted(maps.Keys(o.read)) }

func isKustomization(file string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file))
}

// KustomizationIn is the path of a folder's kustomization file, empty if it has none.
func KustomizationIn(dir string) string {
	disk := filesys.MakeFsOnDisk()
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := filepath.Join(dir, name); disk.Exists(file) && !disk.IsDir(file) {
			return file
		}
	}
	return ""
}

// IsComponent distinguishes a Component from a Kustomization, by its file.
func IsComponent(file string) bool {
	var kind struct{ Kind string }
	content, err := ReadRegular(file)
	return err == nil && unpacking.Unmarshal(content, &kind) == nil && kind.Kind == "Component"
}

// kustomization is the file to build a root by, and what it has to hold; nil if it is right as it lies there.
func (f *folder) kustomization(disk filesys.FileSystem, root string, origins bool) (string, []byte, error) {
	k := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}}
	file := KustomizationIn(root)
	o := f.options
	if file != "" && !origins && len(o.Components)+len(o.Patches)+len(o.Namespace+o.NamePrefix+o.NameSuffix) == 0 {
		return file, nil, nil
	}
	if file != "" {
		content, err := disk.ReadFile(file)
		if err != nil {
			return "", nil, err
		}
		if err := unpacking.Unmarshal(content, &k); err != nil {
			return "", nil, fmt.Errorf("%s: %w", file, err)
		}
	} else {
		manifests, err := f.manifestsIn(disk, root)
		if err != nil {
			return "", nil, err
		}
		file, k.Resources = filepath.Join(root, konfig.DefaultKustomizationFileName()), manifests
	}
	k.Namespace, k.NamePrefix, k.NameSuffix = cmp.Or(o.Namespace, k.Namespace), cmp.Or(o.NamePrefix, k.NamePrefix), cmp.Or(o.NameSuffix, k.NameSuffix)
	k.Patches = append(k.Patches, o.Patches...)
	for _, component := range o.Components {
		if !o.IgnoreMissingComponents || isRemote(component) || disk.Exists(filepath.Join(root, component)) {
			k.Components = append(k.Components, component)
		}
	}
	if origins && !slices.Contains(k.BuildMetadata, types.OriginAnnotations) {
		k.BuildMetadata = append(k.BuildMetadata, types.OriginAnnotations)
	}
	if len(k.Resources) == 0 && len(k.BuildMetadata) == 0 && k.Namespace == "" {
		k.Namespace = "placeholder" // Kustomize refuses a file that says nothing
	}
	content, err := yaml.Marshal(k)
	return file, content, err
}

// isRemote distinguishes a URL from a folder, roughly as Kustomize does.
func isRemote(reference string) bool {
	for _, prefix := range []string{"git::", "gh:", "ssh://", "https://", "http://", "file://", "git@", "github.com:", "github.com/"} {
		if strings.HasPrefix(strings.ToLower(reference), prefix) {
			return true
		}
	}
	return false
}

// manifestsIn lists what Flux would: all YAML files, and the folders that have a kustomization.
func (f *folder) manifestsIn(disk filesys.FileSystem, root string) ([]string, error) {
	var found []string
	err := disk.Walk(root, func(path string, info fs.FileInfo, err error) error {
		if err != nil || path == root {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case info.IsDir() && info.Name() == ".git":
			return filepath.SkipDir
		case info.IsDir() && KustomizationIn(path) != "":
			found = append(found, relative)
			return filepath.SkipDir
		case info.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml":
			return nil
		}
		if f.options.LeaveOut != nil {
			if content, err := disk.ReadFile(path); err == nil && f.options.LeaveOut(path, content) {
				return nil // what cannot be read, the build will tell
			}
		}
		found = append(found, relative)
		return nil
	})
	return found, err
}

// holdsNone finds the first file in a plain folder that holds no manifests, among those whose content is suspect. Reading all
// of them takes as long as a build, so it is done to explain one that has failed. Those that have no kind fail it for sure, and
// are looked for before. A build of a large repository, which most often has such a file at its root, takes seconds.
func (f *folder) holdsNone(disk filesys.FileSystem, root string, suspect func(content []byte) bool) error {
	if KustomizationIn(root) != "" {
		return nil
	}
	manifests, err := f.manifestsIn(disk, root)
	if err != nil {
		return err
	}
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	for _, relative := range manifests {
		file := filepath.Join(root, relative)
		if disk.IsDir(file) {
			continue
		}
		content, err := disk.ReadFile(file)
		if err != nil {
			return err
		}
		if !suspect(content) {
			continue
		}
		if _, err := factory.SliceFromBytes(content); err != nil {
			return fmt.Errorf("%s holds no manifests: %w", relative, err)
		}
	}
	return nil
}

func hasNoKind(content []byte) bool { return !bytes.Contains(content, []byte("kind")) }

func hasAnything([]byte) bool { return true }
