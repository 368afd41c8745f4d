package repository

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// reading is a repository whose objects are read, in it and in what it shares objects with (git clone --shared, --reference),
// wherever these lie. go-git looks for them below the clone's own folder, and reads the other's index anew for each object. What was
// read is remembered until forget.
// https://git-scm.com/docs/gitrepository-layout#Documentation/gitrepository-layout.txt-objectsinfoalternates
func reading(repository *git.Repository) (*git.Repository, error) {
	stored, ok := repository.Storer.(*filesystem.Storage)
	if !ok {
		return repository, nil
	}
	folders, err := alternatesOf(filepath.Join(commonFolder(stored.Filesystem().Root()), "objects"), nil)
	if err != nil {
		return repository, err
	}
	read := cache.NewObjectLRUDefault()
	shared := &sharing{Storage: filesystem.NewStorage(stored.Filesystem(), read), read: read}
	for _, folder := range folders {
		shared.others = append(shared.others, filesystem.NewObjectStorage(dotgit.New(osfs.New(filepath.Dir(folder))), read))
	}
	return git.Open(shared, nil)
}

// forget lets go of what was read: up to 96 MiB.
func forget(repository *git.Repository) {
	if shared, ok := repository.Storer.(*sharing); ok {
		shared.read.Clear()
	}
}

// commonFolder is that of the main worktree, if this is the folder of another one.
func commonFolder(dir string) string {
	content, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return dir
	}
	common := strings.TrimSpace(string(content))
	if !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	return common
}

// alternatesOf are the folders of objects that one of them names, and those that these name.
func alternatesOf(objects string, known []string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	for path := range strings.Lines(string(content)) {
		path = strings.TrimRight(path, "\n")
		if path == "" || strings.HasPrefix(path, "#") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(objects, path)
		}
		if slices.Contains(known, path) {
			continue
		}
		if known, err = alternatesOf(path, append(known, path)); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// sharing is the storage of a clone that may have objects in common with others. These are asked first: they have most, and do
// not ask further themselves.
type sharing struct {
	*filesystem.Storage

	others []*filesystem.ObjectStorage
	read   cache.Object
}

// EncodedObject implements storer.EncodedObjectStorer.
func (s *sharing) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	for _, other := range s.others {
		if other.HasEncodedObject(hash) == nil {
			return other.EncodedObject(kind, hash)
		}
	}
	return s.Storage.EncodedObject(kind, hash)
}

// HasEncodedObject implements storer.EncodedObjectStorer.
func (s *sharing) HasEncodedObject(hash plumbing.Hash) error {
	for _, other := range s.others {
		if other.HasEncodedObject(hash) == nil {
			return nil
		}
	}
	return s.Storage.HasEncodedObject(hash)
}

// EncodedObjectSize implements storer.EncodedObjectStorer.
func (s *sharing) EncodedObjectSize(hash plumbing.Hash) (int64, error) {
	for _, other := range s.others {
		if other.HasEncodedObject(hash) == nil {
			return other.EncodedObjectSize(hash)
		}
	}
	return s.Storage.EncodedObjectSize(hash)
}

// HashesWithPrefix is how go-git finds a shortened hash.
func (s *sharing) HashesWithPrefix(prefix []byte) ([]plumbing.Hash, error) {
	hashes, err := s.Storage.HashesWithPrefix(prefix)
	for _, other := range s.others {
		more, failed := other.HashesWithPrefix(prefix)
		hashes, err = append(hashes, more...), errors.Join(err, failed)
	}
	slices.SortFunc(hashes, func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(hashes), err
}

// storageOf is where a clone keeps what is its own; nil if that is no folder.
func storageOf(repository *git.Repository) *filesystem.Storage {
	switch stored := repository.Storer.(type) {
	case *filesystem.Storage:
		return stored
	case *sharing:
		return stored.Storage
	}
	return nil
}
