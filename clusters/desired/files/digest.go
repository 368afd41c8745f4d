package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Digest stands for texts and files.
type Digest struct {
	tree *Tree
	sum  hash.Hash
	seen map[string]bool
}

// NewDigest is one of nothing.
func (t *Tree) NewDigest() *Digest {
	return &Digest{tree: t, sum: sha256.New(), seen: map[string]bool{}}
}

// Sum stands for files and folders with all below.
func (t *Tree) Sum(paths ...string) string {
	d := t.NewDigest()
	for _, path := range paths {
		d.File(path)
	}
	return d.Sum()
}

// Sum is a text for all so far.
func (d *Digest) Sum() string { return hex.EncodeToString(d.sum.Sum(nil)) }

// Write adds a text in such a way that no other two make the same.
func (d *Digest) Write(what, content string) {
	fmt.Fprintf(d.sum, "%s %d %s\n", what, len(content), content)
}

// File adds a file or a folder with all below, and what a chart there takes from beside it. A link counts for what it leads
// to inside of the repository.
func (d *Digest) File(path string) {
	d.tree.Reads.File(path)
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		d.Write("none", d.tree.Relative(path))
		return
	}
	if short, err := filepath.Rel(d.tree.Root, resolved); err != nil || !filepath.IsLocal(short) || d.seen[resolved] {
		return
	}
	d.seen[resolved] = true
	info, err := os.Stat(resolved)
	if err != nil || info.IsDir() {
		entries, _ := os.ReadDir(resolved) // sorted
		for _, entry := range entries {
			if entry.Name() != ".git" {
				d.File(filepath.Join(path, entry.Name()))
			}
		}
		return
	}
	content, err := render.ReadAsIs(resolved)
	if err != nil {
		content = fmt.Append(nil, err)
	}
	d.Write(d.tree.Relative(path), string(content))
	if name := filepath.Base(path); name == ChartFile || name == "requirements.yaml" { // the latter with Helm 2's charts
		for _, dependency := range DependenciesIn(content) {
			d.File(filepath.Join(filepath.Dir(resolved), filepath.FromSlash(dependency)))
		}
	}
}

// DependenciesIn are the folders that a chart names as file://….
func DependenciesIn(chart []byte) (folders []string) {
	for _, address := range repositoriesOf(chart) {
		if folder, found := strings.CutPrefix(address, inFolder); found {
			folders = append(folders, folder)
		}
	}
	return folders
}

// DependsOnOthers reports whether a chart takes in charts that are not in this repository.
func DependsOnOthers(chart []byte) bool {
	return slices.ContainsFunc(repositoriesOf(chart), func(address string) bool { return address != "" && !strings.HasPrefix(address, inFolder) })
}

// inFolder begins the address of a chart beside another one.
const inFolder = "file://"

// repositoriesOf are where a chart's dependencies come from, as far as it can be read.
func repositoriesOf(chart []byte) (addresses []string) {
	var read struct {
		Dependencies []struct {
			Repository string `json:"repository"`
		} `json:"dependencies"`
	}
	if unpacking.Unmarshal(chart, &read) != nil {
		return nil
	}
	for _, dependency := range read.Dependencies {
		addresses = append(addresses, dependency.Repository)
	}
	return addresses
}
