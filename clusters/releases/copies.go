package releases

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/words"
)

// present reads of the newest release what it has beside the CRDs that all are judged by.
func (r *reader) present(ctx context.Context) {
	n := len(r.source.Releases)
	if n == 0 || r.source.Releases[n-1].Files == nil {
		return
	}
	newest := &r.source.Releases[n-1]
	r.copies(ctx, newest)
	newest.Samples = samples(ctx, *newest)
	newest.Charts = r.charts(ctx, *newest)
}

// copies finds the CRDs of a release at its other places.
func (r *reader) copies(ctx context.Context, release *Release) {
	seen, unread, alone := map[string]bool{}, []string{}, []string{}
	for _, name := range slices.Concat(candidates(release.Files, slices.Concat(families, further))...) {
		info, err := fs.Stat(release.Files, name)
		if err != nil || within(name, release.Folders) && !slices.Contains(release.Folders, name) || ofAnother(name) {
			continue
		}
		held := r.folder(ctx, release, name, info)
		for _, file := range held.unread {
			if !within(file, release.Folders) && !seen[file] {
				seen[file], unread = true, append(unread, file)
			}
		}
		for _, c := range held.crds {
			// What is in the same folder as the one that counts is another variant and no copy.
			of, known := release.Places[c.CRD.Name]
			at := c.CRD.Name + " " + c.Place.File
			if !known && !ofAnother(c.Place.File) {
				alone = append(alone, c.CRD.Name+" in "+c.Place.File)
				continue
			}
			variant := within(c.Place.File, release.Folders) && (within(of.File, []string{name}) || !slices.Contains(release.Folders, name))
			if !seen[at] && c.Place != of && !variant && !ofAnother(c.Place.File) {
				seen[at], release.Copies = true, append(release.Copies, c)
			}
		}
	}
	if alone = words.Distinct(alone); len(alone) > 0 {
		r.unread("%s: only the CRDs of %s are judged, and not %s; name the folders with --crds", release.Name, strings.Join(release.Folders, ", "), words.Few(alone, 3))
	}
	if len(unread) > 0 {
		r.unread("%s: %s with CRDs, such as templates of a chart, cannot be read as they are and %s not compared: %s", release.Name,
			words.Count(len(unread), "file"), words.Agree(len(unread), "is", "are"), words.Few(unread, 3))
	}
}

// within reports whether a path is one of some, or inside of it.
func within(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(around string) bool {
		return around == "." || name == around || strings.HasPrefix(name, around+"/")
	})
}

// ofAnother reports whether a path says that it is of an older release, as in bundle/1.2.0.
func ofAnother(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(part string) bool { return deprecation.NumberOf(part) != nil })
}
