package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/words"
)

// Options say which releases are read, and what of them.
type Options struct {
	// Repository is a folder of it.
	Repository string
	// Folders are those that hold CRDs, from the root of the repository; without any, they are looked for.
	Folders []string
	// Tags is a pattern for their names, as in path.Match; empty for all that begin with their number.
	Tags string
	// From is the first tag that is read; empty for none.
	From string
	// Last is how many releases are read at most, beside the work tree; 0 for all.
	Last int
	// Patches reads every patch release, and PreReleases what comes before a release.
	Patches, PreReleases bool
	// Unreleased reads the work tree, if its CRDs are not those of the last tag, and Next is what it is called.
	Unreleased bool
	Next       string
	// Now is when the work tree would be released.
	Now time.Time
	// Named are releases that no tag names, in their order, as NAME=PATH. No repository is read then.
	Named []string
	// CRDs reads those that lie at the PATH of a named release.
	CRDs func(ctx context.Context, place string) ([]*apiextensionsv1.CustomResourceDefinition, error)
	// LabelKey is the opt-in label's.
	LabelKey string
	// Progress is reported of each release that is read.
	Progress func(said string)
}

// Source is what was read.
type Source struct {
	Releases []Release
	// Earlier: there are older releases, which were not read.
	Earlier bool
	// Unchanged: the work tree has the CRDs of the last release.
	Unchanged bool
	// Root is the folder of the repository; empty if none was read.
	Root string
	// Notes are what could not be read or was left out, each in a sentence without a full stop. Unread are those of them about what may
	// hold CRDs and was not looked at.
	Notes, Unread []string
}

// Release is one, with the files that it has beside CRDs.
type Release struct {
	deprecation.Release

	// Files are all of the release, as they lie in the repository; nil for one that was named as a path.
	Files fs.FS
	// Root is the folder of the work tree, empty for a tag.
	Root string
	// Folders are those in Files that the CRDs were read from.
	Folders []string
}

// History are the releases as policies/deprecation judges them.
func (s *Source) History() []deprecation.Release {
	return words.Of(s.Releases, func(r Release) deprecation.Release { return r.Release })
}

// Read reads them, the oldest first.
func Read(ctx context.Context, o Options) (*Source, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &reader{Options: o, source: &Source{}, known: map[string]folder{}}
	if len(o.Named) > 0 {
		return r.source, r.readNamed(ctx)
	}
	if err := r.readTags(ctx); err != nil {
		return nil, err
	}
	if o.Unreleased {
		if err := r.readWorkTree(ctx); err != nil {
			return nil, err
		}
	}
	r.present(ctx)
	return r.source, nil
}

// reader is one run of Read.
type reader struct {
	Options

	source  *Source
	history *repository.History
	// known are folders that have been read, by their path and hash.
	known map[string]folder
}

func (r *reader) note(format string, about ...any) {
	r.source.Notes = append(r.source.Notes, fmt.Sprintf(format, about...))
}

// unread is a note about what may hold CRDs.
func (r *reader) unread(format string, about ...any) {
	r.note(format, about...)
	r.source.Unread = append(r.source.Unread, fmt.Sprintf(format, about...))
}

func (r *reader) readNamed(ctx context.Context) error {
	for _, named := range r.Named {
		name, place, ok := strings.Cut(named, "=")
		if !ok || name == "" || place == "" {
			return fmt.Errorf("--release %s is not NAME=PATH, for example v1.2.0=releases/v1.2.0/crds", named)
		}
		r.Progress(name)
		crds, err := r.CRDs(ctx, place)
		if err != nil {
			return fmt.Errorf("--release %s: %w", named, err)
		}
		r.source.Releases = append(r.source.Releases, Release{Release: deprecation.Release{Name: name, CRDs: crds}})
	}
	return nil
}

func (r *reader) readTags(ctx context.Context) (err error) {
	if r.history, err = repository.OpenHistory(cmp.Or(r.Repository, ".")); err != nil {
		return err
	}
	r.source.Root = r.history.Root
	if says, shallow := r.history.Shallow(); shallow {
		r.unread("%s", says)
	}
	chosen, err := r.choose()
	if err != nil {
		return err
	}
	for i, tag := range chosen {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.Progress(fmt.Sprintf("%s (%d of %d)", tag.Name, i+1, len(chosen)))
		files, err := r.history.Files(tag)
		if err != nil {
			r.unread("%s was left out: %v", tag.Name, err)
			continue
		}
		release := Release{Release: deprecation.Release{Name: tag.Name, When: tag.When}, Files: files}
		r.read(ctx, &release)
		if len(release.CRDs) == 0 {
			r.note("%s was left out: no CustomResourceDefinition is %s", tag.Name, r.where())
			continue
		}
		r.source.Releases = append(r.source.Releases, release)
	}
	return nil
}

// where is what was looked through, in words.
func (r *reader) where() string {
	if len(r.Folders) > 0 {
		return "in " + strings.Join(r.Folders, ", ")
	}
	return "where operators keep them; name the folders with --crds"
}

// readWorkTree reads what lies on disk, which is a release of its own if it differs. Nothing leads out of it; it stays open for as long
// as the source is of use.
func (r *reader) readWorkTree(ctx context.Context) error {
	r.Progress("the work tree")
	root, err := os.OpenRoot(r.history.Root)
	if err != nil {
		return err
	}
	release := Release{Release: deprecation.Release{Name: cmp.Or(r.Next, "next"), When: r.Now, Unreleased: true}, Files: root.FS(), Root: r.history.Root}
	r.read(ctx, &release)
	switch n := len(r.source.Releases); {
	case len(release.CRDs) == 0 && n == 0:
		return errors.New("there is no CustomResourceDefinition in any tag or in the work tree; name the folders that hold some with --crds")
	case len(release.CRDs) == 0:
		r.note("the work tree was left out: no CustomResourceDefinition is %s", r.where())
	case n > 0 && len(crddiff.Sets(r.source.Releases[n-1].CRDs, release.CRDs, r.LabelKey)) == 0:
		// What it has beside them is still the work tree's, where it can be fixed.
		r.source.Unchanged = true
		last := &r.source.Releases[n-1]
		last.Files, last.Root, last.Folders, last.Places = release.Files, release.Root, release.Folders, release.Places
	default:
		r.source.Releases = append(r.source.Releases, release)
	}
	return nil
}

// Lines writes progress as lines.
func Lines(out io.Writer) func(string) {
	return func(said string) { fmt.Fprintf(out, "reading %s\n", said) }
}
