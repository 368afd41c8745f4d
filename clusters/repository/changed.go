package repository

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Change is a file that two trees have differently, or that one of them does not have.
type Change struct {
	// Name is the file's path from the root.
	Name string
	// Base and Head are where the file is, or would be, in either tree; absolute.
	Base, Head string
}

// Changed are the files that differ between two trees, by their names. Symbolic links and submodules are such files, too.
// Trees of two folders of one repository are compared by the paths below these.
func Changed(base, head *Tree) ([]Change, error) {
	from, to := base.Root, head.Root
	if from == to || base.Relative(base.Dir) != head.Relative(head.Dir) {
		from, to = folderOf(base.Dir), folderOf(head.Dir)
	}
	before, err := base.filesBelow(from)
	if err != nil {
		return nil, err
	}
	after, err := head.filesBelow(to)
	if err != nil {
		return nil, err
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	var changed []Change
	for _, name := range slices.Compact(names) {
		b, inBase := before[name]
		h, inHead := after[name]
		if inBase && inHead && sameFile(b, h) {
			continue
		}
		at := filepath.FromSlash(name)
		c := Change{Base: filepath.Join(from, at), Head: filepath.Join(to, at)}
		c.Name = head.Relative(c.Head)
		changed = append(changed, c)
	}
	return changed, nil
}

func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// stored is what a tree has at a path: of a revision its hash and mode, else where it is on disk.
type stored struct{ hash, path string }

// filesBelow are the files of a tree below a folder, by their paths from there.
func (t *Tree) filesBelow(dir string) (map[string]stored, error) {
	found := map[string]stored{}
	if t.hashes != nil {
		for name, hash := range t.hashes {
			if short, err := filepath.Rel(dir, filepath.Join(t.Root, filepath.FromSlash(name))); err == nil && filepath.IsLocal(short) {
				found[filepath.ToSlash(short)] = stored{hash: hash}
			}
		}
		return found, nil
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git":
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		short, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if commit, isSubmodule := t.Submodules[t.Relative(path)]; isSubmodule {
			found[filepath.ToSlash(short)] = stored{hash: hashed(filemode.Submodule, commit)}
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.IsDir() {
			found[filepath.ToSlash(short)] = stored{path: path}
		}
		return nil
	})
	return found, err
}

// hashed is what stands for an entry of a revision. Whether a file can be executed does not matter.
func hashed(mode filemode.FileMode, hash string) string {
	if mode == filemode.Executable || mode == filemode.Deprecated {
		mode = filemode.Regular
	}
	return mode.String() + " " + hash
}

func sameFile(a, b stored) bool {
	if a.hash != "" && b.hash != "" {
		return a.hash == b.hash
	}
	if a.hash == "" && b.hash == "" {
		one, errOne := contentAt(a.path)
		other, errOther := contentAt(b.path)
		return errOne == nil && errOther == nil && bytes.Equal(one, other)
	}
	return hashOf(a) == hashOf(b)
}

// hashOf is the hash that Git has of it, or would have.
func hashOf(s stored) string {
	if s.hash != "" {
		return s.hash
	}
	content, err := contentAt(s.path)
	if err != nil {
		return err.Error()
	}
	mode := filemode.Regular
	if kind, rest, _ := bytes.Cut(content, []byte{0}); string(kind) == "link" {
		mode, content = filemode.Symlink, rest
	} else {
		content = bytes.TrimPrefix(content, []byte("file\x00"))
	}
	return hashed(mode, plumbing.ComputeHash(plumbing.BlobObject, content).String())
}

// contentAt is the content of a regular file, or the target of a symbolic link; what is neither has none.
func contentAt(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return []byte("link\x00" + strings.ReplaceAll(target, "\\", "/")), err
	case !mode.IsRegular():
		return []byte("special\x00"), nil
	}
	content, err := os.ReadFile(path)
	return append([]byte("file\x00"), content...), err
}
