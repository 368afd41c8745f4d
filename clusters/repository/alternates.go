package repository

import (
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// withAlternates reads objects that a clone shares with another one (git clone --shared, --reference), wherever that lies.
// go-git looks for them below the clone's own folder.
// https://git-scm.com/docs/gitrepository-layout#Documentation/gitrepository-layout.txt-objectsinfoalternates
func withAlternates(repository *git.Repository) (*git.Repository, error) {
	stored, ok := repository.Storer.(*filesystem.Storage)
	if !ok {
		return repository, nil
	}
	if _, err := stored.Filesystem().Stat(filepath.Join("objects", "info", "alternates")); err != nil {
		return repository, nil //nolint:nilerr // there are none
	}
	anywhere := filesystem.NewStorageWithOptions(stored.Filesystem(), cache.NewObjectLRUDefault(), filesystem.Options{
		AlternatesFS: osfs.New(string(os.PathSeparator), osfs.WithBoundOS()),
	})
	return git.Open(anywhere, nil)
}
