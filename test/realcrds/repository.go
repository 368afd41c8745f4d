package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// commit makes a Git repository of two releases: the earlier one is the default branch, and the later one a branch of it,
// which is checked out in its folder.
func (u unpacked) commit(ctx context.Context) error {
	for _, step := range []struct {
		files string
		args  []string
	}{
		{u.head.dir, []string{"init", "--quiet", "--initial-branch=main"}},
		{u.base.dir, []string{"add", "--all", "--force"}}, // a .gitignore may name files that the module has
		{u.base.dir, []string{"commit", "--quiet", "--message=base"}},
		{u.base.dir, []string{"switch", "--quiet", "--create=release"}},
		{u.head.dir, []string{"add", "--all", "--force"}},
		{u.head.dir, []string{"commit", "--quiet", "--message=head"}},
	} {
		if err := git(ctx, filepath.Join(u.head.dir, ".git"), step.files, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// git runs with the files of a folder, and without anybody's configuration.
func git(ctx context.Context, repository, files string, args ...string) error {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = files
	command.Env = append(os.Environ(), "GIT_DIR="+repository, "GIT_WORK_TREE="+files, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, output)
	}
	return nil
}
