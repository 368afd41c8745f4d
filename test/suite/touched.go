package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// short are the parts of `make test-full` that take a few minutes at most, so that .ci/run can run them where a change
// touches them: the packages, by the folder of their module.
var short = []struct {
	part     string
	packages map[string]string
}{
	{"page", map[string]string{"test/page": "./..."}},
	{"scripts", map[string]string{".": "./examples/ci"}},
	{"kubevirt", map[string]string{"test/kubevirt": "./..."}},
	{"health", map[string]string{"health/argocd": "./...", "test/lua": "./..."}},
}

// touched prints the parts that the changes since a commit may concern: those one of whose packages, or a package that it
// imports, has a file that changed.
func touched(ctx context.Context, base string, out io.Writer) error {
	changed, err := output(ctx, ".", "git", "diff", "--name-only", base)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, s := range short {
		for module, packages := range s.packages {
			folders, err := output(ctx, module, "go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.Dir}}{{end}}", packages)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(changed, func(file string) bool { return belongs(filepath.Join(root, file), folders) }) {
				fmt.Fprintln(out, s.part)
				break
			}
		}
	}
	return nil
}

// belongs is whether a file lies in one of the packages, or in a folder of one that has no package of its own.
func belongs(file string, folders []string) bool {
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if slices.Contains(folders, dir) {
			return true
		}
		if sources, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(sources) > 0 {
			return false
		}
	}
	return false
}

// output is what a command prints, line by line.
func output(ctx context.Context, dir, name string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.Fields(string(bytes.TrimSpace(out))), nil
}
