package repository

import (
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// readSubmodules remembers the submodules of a folder that Git keeps, from its index: that is what would be committed, and
// holds whether or not their content was fetched. Where the index cannot be read, the list of submodules itself stands for
// them, so that they are at least not taken for none.
func (t *Tree) readSubmodules() {
	if _, err := os.Stat(filepath.Join(t.Root, ".git")); err != nil {
		return
	}
	err := t.indexedSubmodules()
	if err == nil {
		return
	}
	list, missing := os.ReadFile(filepath.Join(t.Root, ".gitmodules"))
	if missing != nil {
		return
	}
	t.addSubmodule(".gitmodules", string(list))
	t.Notes = append(t.Notes, "it is not known which commits its submodules are of: "+err.Error())
}

func (t *Tree) indexedSubmodules() error {
	repository, err := git.PlainOpenWithOptions(t.Root, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return err
	}
	index, err := repository.Storer.Index()
	if err != nil {
		return err
	}
	for _, entry := range index.Entries {
		if entry.Mode == filemode.Submodule {
			t.addSubmodule(entry.Name, entry.Hash.String())
		}
	}
	return nil
}

func (t *Tree) addSubmodule(path, commit string) {
	if t.Submodules == nil {
		t.Submodules = map[string]string{}
	}
	t.Submodules[path] = commit
}
