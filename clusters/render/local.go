package render

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Local are the files and folders of a repository that a folder may be built of, by absolute paths. They are its kustomization, and
// what is there of all that a kustomization names, and so on; of a folder without one, all that is below. It is more than
// Kustomize reads rather than less. Nothing outside of root is among them.
func Local(dir, root string) []string {
	var files []string
	for _, path := range reachable(dir, root) {
		file := KustomizationIn(path)
		if file == "" {
			files = append(files, path)
			continue
		}
		files = append(files, file)
		if mayTakeCharts(file) {
			files = append(files, path) // its charts may be in any folder
		}
	}
	return files
}

// inflating is the kind of what configures a generator that takes in charts.
const inflating = "HelmChartInflationGenerator"

// function is the annotation that names a program to be run as a generator or a transformer, which may read any file. It has an older name.
var function = regexp.MustCompile(`config\.(kubernetes|k8s)\.io/function`)

// mayTakeCharts reports whether a kustomization takes in charts or runs a program, or a file that configures its generators does.
func mayTakeCharts(file string) bool {
	content, err := ReadRegular(file)
	var read map[string]any
	if err != nil || unpacking.Bounded(content) != nil || yaml.Unmarshal(content, &read) != nil {
		return true
	}
	takes := func(name string) bool {
		if slices.Contains(textsOf([]byte(name)), inflating) || function.MatchString(name) { // it may be written in place of a file
			return true
		}
		at := filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
		content, err := ReadRegular(at)
		return err != nil && isFolder(at) || err == nil && (slices.Contains(textsOf(content), inflating) || function.Match(content))
	}
	return read[helmCharts] != nil || read[helmChartInflation] != nil || slices.ContainsFunc(configurations(read), takes)
}

// helmCharts and helmChartInflation are the fields of a kustomization that take in charts. What they hold is values, for the most part.
const helmCharts, helmChartInflation = "helmCharts", "helmChartInflationGenerator"

// OwnBases are the folders, from the root, that a folder takes as remote bases from the repository at an address, and their revisions.
func OwnBases(dir, root, address string) map[string]string {
	own := map[string]string{}
	for _, path := range reachable(dir, root) {
		content, err := ReadRegular(KustomizationIn(path))
		var read map[string]any
		if err != nil || unpacking.Bounded(content) != nil || yaml.Unmarshal(content, &read) != nil {
			continue
		}
		delete(read, helmCharts)
		delete(read, helmChartInflation)
		for _, name := range texts(read) {
			base, isRemote := remoteBaseOf(name)
			if inside, found := strings.CutPrefix(network.Normal(base.address), network.Normal(address)); found && isRemote && address != "" {
				own[strings.Trim(strings.TrimPrefix(inside, ".git"), "/")] = base.ref
			}
		}
	}
	return own
}

// reachable are the files and folders that a folder names, and those that these name.
func reachable(dir, root string) []string {
	found := map[string]bool{dir: true}
	start := append(kustomizationsBelow(dir), dir)
	for _, below := range start {
		found[below] = true
	}
	for next := start; len(next) > 0; {
		these := namedBy(next[0], root)
		next = next[1:]
		for _, path := range these {
			if !found[path] {
				found[path] = true
				next = append(next, path)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// kustomizationsBelow are the folders with kustomizations that are built with a folder that has none.
func kustomizationsBelow(dir string) (found []string) {
	if KustomizationIn(dir) != "" {
		return nil
	}
	itself := dir + string(filepath.Separator) + "." // WalkDir does not follow a link
	_ = filepath.WalkDir(itself, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir() || path == itself:
			return nil //nolint:nilerr // what cannot be read, the build will tell
		case entry.Name() == ".git":
			return filepath.SkipDir
		case KustomizationIn(path) != "":
			found = append(found, path)
		}
		return nil
	})
	return found
}

// namedBy are the paths in root that stand anywhere in the kustomization of a folder; none for what has none. Kustomize reads them as seen
// from the folder itself, wherever a link to it lies.
func namedBy(dir, root string) []string {
	file := KustomizationIn(dir)
	if file == "" {
		return nil
	}
	content, err := ReadRegular(file)
	if err != nil {
		return nil
	}
	var read any
	if unpacking.Bounded(content) != nil || yaml.Unmarshal(content, &read) != nil {
		return nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil || !below(root, dir) {
		return nil
	}
	var paths []string
	words := texts(read)
	for _, name := range configurations(read) {
		words = append(words, textsOf([]byte(name))...) // it may be written in place of a file
		words = append(words, textsIn(filepath.Join(dir, filepath.FromSlash(name)), root)...)
	}
	for _, text := range words {
		_, behind, _ := strings.Cut(text, "=") // a generator's file may have a key before it
		for _, name := range []string{text, behind} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if short, err := filepath.Rel(root, path); name == "" || err != nil || !filepath.IsLocal(short) {
				continue
			}
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// configurations are the files of a kustomization that configure its generators and transformers. They may name other files,
// as seen from the kustomization.
func configurations(kustomization any) (names []string) {
	fields, _ := kustomization.(map[string]any)
	for _, field := range []string{"generators", "transformers", "validators"} {
		names = append(names, texts(fields[field])...)
	}
	return names
}

// textsIn are all strings in a file of YAML below a root; none if it cannot be read.
func textsIn(file, root string) []string {
	direct, err := filepath.EvalSymlinks(file)
	if err != nil || !below(root, direct) {
		return nil
	}
	content, err := ReadRegular(direct)
	if err != nil {
		return nil
	}
	return textsOf(content)
}

// textsOf are all strings in a text of YAML.
func textsOf(content []byte) (all []string) {
	for document := range bytes.SplitSeq(content, []byte("\n---")) {
		var read any
		if unpacking.Bounded(document) == nil && yaml.Unmarshal(document, &read) == nil {
			all = append(all, texts(read)...)
		}
	}
	return all
}

// texts are all strings of a value but the keys.
func texts(value any) (found []string) {
	for _, v := range crdschema.Each(value) {
		if text, is := v.(string); is {
			found = append(found, text)
		}
	}
	return found
}
