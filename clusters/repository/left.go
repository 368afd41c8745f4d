package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

// defaultBranches are where the default branch is looked for. What origin says it is comes first.
var defaultBranches = []plumbing.ReferenceName{
	"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master",
}

// WhereLeft finds where the checked-out branch has left the default branch of the repository around the working directory.
// It returns what Open takes for the working directory at that commit, and the name of the default branch. The error says
// what to name instead.
func WhereLeft() (spec, branch string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		return "", "", err
	}
	repository, err := repositoryAround(here)
	if err != nil {
		return "", "", err
	}
	head, err := repository.Head()
	if err != nil {
		return "", "", fmt.Errorf("nothing is checked out in the Git repository around %s: %w", here, err)
	}
	ours, err := repository.CommitObject(head.Hash())
	if err != nil {
		return "", "", err
	}
	for _, name := range defaultBranches {
		reference, err := repository.Reference(name, true)
		if err != nil {
			continue
		}
		branch = reference.Name().Short()
		theirs, err := repository.CommitObject(reference.Hash())
		if err != nil {
			return "", "", missingObject(repository, branch, err)
		}
		common, err := ours.MergeBase(theirs)
		if err != nil {
			return "", "", missingObject(repository, branch, err)
		}
		if len(common) == 0 {
			return "", "", unrelated(isShallow(repository), branch)
		}
		return Prefix + common[0].Hash.String() + ":./", branch, nil
	}
	return "", "", errors.New("this clone has no branch main or master, and does not say what origin's default branch is; fetch it, for example `git fetch origin main`")
}

// unrelated: a shallow clone has cut off what the branches have in common.
func unrelated(shallow bool, branch string) error {
	says := "what is checked out and " + branch + " have no commit in common"
	if shallow {
		says += "; the clone is shallow: fetch the rest with `git fetch --unshallow`, in GitHub Actions with fetch-depth: 0, in GitLab with GIT_DEPTH: 0"
	}
	return errors.New(says)
}
