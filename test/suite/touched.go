package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// short are the parts of `make test-full` that take a few minutes at most, so that .ci/run can run them where a change
// touches them: the packages, by the folder of their module.
var short = []struct {
	part     string
	packages map[string][]string
	// reads matches the files of other folders that its tests read.
	reads *regexp.Regexp
}{
	{"long", map[string][]string{".": longPackages()}, nil},
	{"site", map[string][]string{".": {"./test/site"}}, pages},
	{"page", map[string][]string{"test/page": {"./..."}}, regexp.MustCompile(`^(docs/site|policies/preview/output/testdata)/`)},
	{"docs", map[string][]string{".": {"./test/guides"}}, regexp.MustCompile(`^(docs/guides/|clusters/base/|policies/admission/)`)},
	{"newcomer", map[string][]string{".": {"./test/newcomer"}}, regexp.MustCompile(`^(docs/install\.md$|clusters/base/)`)},
	{"scripts", map[string][]string{".": {"./examples/ci"}}, nil},
	{"kubevirt", map[string][]string{"test/kubevirt": {"./..."}}, nil},
	{"health", map[string][]string{"health/argocd": {"./..."}, "test/lua": {"./..."}}, regexp.MustCompile(`^\.golangci\.yml$`)},
}

// pages is what becomes a page of the site.
var pages = regexp.MustCompile(`^(docs/|README\.md$|CONTRIBUTING\.md$|CHANGELOG\.md$)`)

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
			folders, err := output(ctx, module, "go", append([]string{"list", "-deps", "-test", "-f", "{{if not .Standard}}{{.Dir}}{{end}}"}, packages...)...)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(changed, func(file string) bool {
				return s.reads != nil && s.reads.MatchString(file) || belongs(filepath.Join(root, file), folders)
			}) {
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
