package desired

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// ignoredByDefault is what source-controller leaves out if nothing says what to: media, archives, and files of pipelines.
// https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
const ignoredByDefault = `*.jpg
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

// ignoredFor is what source-controller leaves out of what a Kustomization is built from: by the .sourceignore files of the
// repository, and then by spec.ignore of its GitRepository.
// https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files
func (f *follower) ignoredFor(kustomization *delivery.Object) func(path string, isDir bool) bool {
	from := kustomization.SourceRef()
	if from.Kind != "GitRepository" && from.Kind != "" {
		return f.ignoredBy(nil)
	}
	return f.ignoredBy(f.gitRepository(from.Namespace, from.Name))
}

// ignoredBy is the same for a GitRepository, nil if its own spec.ignore is not known.
func (f *follower) ignoredBy(source *delivery.Object) func(path string, isDir bool) bool {
	patterns := f.sourceIgnores()
	if source != nil {
		patterns = slices.Concat(patterns, patternsIn([]byte(source.Text("spec", "ignore")), nil))
	}
	if len(patterns) == 0 {
		patterns = patternsIn([]byte(ignoredByDefault), nil)
	}
	matcher := gitignore.NewMatcher(patterns)
	return func(path string, isDir bool) bool {
		short, err := filepath.Rel(f.tree.Root, path)
		if err != nil || !filepath.IsLocal(short) || short == "." {
			return false
		}
		return matcher.Match(strings.Split(short, string(filepath.Separator)), isDir) || isLink(path)
	}
}

// isLink reports whether a path below the root is a symbolic link: source-controller puts files and folders into an artifact, and
// nothing else (Storage.Archive of fluxcd/pkg/artifact).
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// sourceIgnoreFiles are all files of that name.
func (f *follower) sourceIgnoreFiles() (files []string) {
	_ = filepath.WalkDir(f.tree.Root, func(path string, entry fs.DirEntry, err error) error {
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
func (f *follower) sourceIgnores() []gitignore.Pattern {
	if f.sourceIgnore != nil {
		return *f.sourceIgnore
	}
	files := f.sourceIgnoreFiles()
	depth := func(path string) int { return strings.Count(path, string(filepath.Separator)) }
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	patterns := []gitignore.Pattern{}
	for _, file := range files {
		content, err := render.ReadRegular(file)
		if err != nil {
			continue // source-controller does not read it either
		}
		var folder []string
		if short, err := filepath.Rel(f.tree.Root, filepath.Dir(file)); err == nil && short != "." {
			folder = strings.Split(short, string(filepath.Separator))
		}
		patterns = append(patterns, patternsIn(content, folder)...)
	}
	f.sourceIgnore = &patterns
	return patterns
}

// patternsIn are those of a file in a folder.
func patternsIn(content []byte, folder []string) (patterns []gitignore.Pattern) {
	for pattern := range strings.Lines(patternsOf(content)) {
		patterns = append(patterns, gitignore.ParsePattern(strings.TrimRight(pattern, "\n"), folder))
	}
	return patterns
}
