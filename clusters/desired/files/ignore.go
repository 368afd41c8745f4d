package files

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/moult-dev/moult/clusters/render"
)

// IgnoredByDefault is what source-controller leaves out if nothing says what to: media, archives, and files of pipelines.
// https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
const IgnoredByDefault = `*.jpg
*.jpeg
*.gif
*.png
*.wmv
*.flv
*.tar.gz
*.zip
.github/
.circleci/
.travis.yml
.gitlab-ci.yml
appveyor.yml
.drone.yml
cloudbuild.yaml
codeship-services.yml
codeship-steps.yml
**/.goreleaser.yml
**/.sops.yaml
**/.flux.yaml
`

// Ignored is what source-controller leaves out of the repository: by its .sourceignore files, and then by spec.ignore of the
// GitRepository, which is empty if it is not known.
// https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files
func (t *Tree) Ignored(spec string) func(path string, isDir bool) bool {
	patterns := slices.Concat(t.sourceIgnores(), PatternsIn([]byte(spec), nil))
	if len(patterns) == 0 {
		patterns = PatternsIn([]byte(IgnoredByDefault), nil)
	}
	matcher := gitignore.NewMatcher(patterns)
	return func(path string, isDir bool) bool {
		short, err := filepath.Rel(t.Root, path)
		if err != nil || !filepath.IsLocal(short) || short == "." {
			return false
		}
		return matcher.Match(strings.Split(short, string(filepath.Separator)), isDir) || IsLink(path)
	}
}

// sourceIgnoreFiles are all files of that name.
func (t *Tree) sourceIgnoreFiles() (files []string) {
	_ = filepath.WalkDir(t.Root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && entry.Name() == ".sourceignore" {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// sourceIgnores are the patterns of all .sourceignore files; those of a folder come after those of the folders around it.
func (t *Tree) sourceIgnores() []gitignore.Pattern {
	if t.sourceIgnore != nil {
		return t.sourceIgnore
	}
	files := t.sourceIgnoreFiles()
	depth := func(path string) int { return strings.Count(path, string(filepath.Separator)) }
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	patterns := []gitignore.Pattern{}
	for _, file := range files {
		content, err := render.ReadRegular(file)
		if err != nil {
			continue // source-controller does not read it either
		}
		var folder []string
		if short, err := filepath.Rel(t.Root, filepath.Dir(file)); err == nil && short != "." {
			folder = strings.Split(short, string(filepath.Separator))
		}
		patterns = append(patterns, PatternsIn(content, folder)...)
	}
	t.sourceIgnore = patterns
	return patterns
}

// PatternsIn are those of a file in a folder.
func PatternsIn(content []byte, folder []string) (patterns []gitignore.Pattern) {
	for pattern := range strings.Lines(patternsOf(content)) {
		patterns = append(patterns, gitignore.ParsePattern(strings.TrimRight(pattern, "\n"), folder))
	}
	return patterns
}

// IgnoringFiles are the files that tell Flux's source-controller what to leave out of a repository; it reads those of all
// folders, where git is concerned.
func (t *Tree) IgnoringFiles() map[string]string {
	if t == nil {
		return nil
	}
	if t.ignoring != nil {
		return t.ignoring
	}
	t.ignoring = map[string]string{}
	for _, path := range t.sourceIgnoreFiles() {
		content, err := render.ReadRegular(path)
		if patterns := patternsOf(content); patterns != "" || err != nil {
			t.ignoring[t.Relative(path)] = fmt.Sprintf("%s %v", patterns, err != nil)
		}
	}
	return t.ignoring
}

// patternsOf are the lines of an ignoring file that leave something out: not the empty ones, and not the comments.
// https://git-scm.com/docs/gitignore#_pattern_format
func patternsOf(content []byte) string {
	var patterns strings.Builder
	for line := range strings.Lines(string(content)) {
		if text := strings.TrimRight(line, "\r\n"); strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "#") {
			patterns.WriteString(text + "\n")
		}
	}
	return patterns.String()
}
