package releases

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/unpacking"
)

// charts are those of a release that install CRDs of it, and the image of a tag.
func (r *reader) charts(ctx context.Context, release Release) (all []deprecation.Chart) {
	found := map[string][]deprecation.Copy{}
	var names []string
	take := func(c deprecation.Copy) {
		if chart := chartAround(release.Files, c.Place.File); chart != "" {
			if found[chart] == nil {
				names = append(names, chart)
			}
			found[chart] = append(found[chart], c)
		}
	}
	for _, crd := range release.CRDs {
		take(deprecation.Copy{CRD: crd, Place: release.Places[crd.Name]})
	}
	for _, c := range release.Copies {
		take(c)
	}
	for _, name := range names {
		place, version := imageOf(release.Files, name)
		if image := r.at(ctx, version); image != nil {
			all = append(all, deprecation.Chart{Place: place, CRDs: found[name], Image: *image})
		}
	}
	return all
}

// chartAround is the folder of the chart that a file is in; empty if it is in none.
func chartAround(files fs.FS, file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, err := fs.Stat(files, path.Join(dir, "Chart.yaml")); err == nil {
			return dir
		}
	}
	return ""
}

// imageOf is the version of the image that a chart installs, and where the chart has it: in its values, or else as its
// appVersion.
func imageOf(files fs.FS, chart string) (place finding.Place, version string) {
	var values struct {
		Image struct {
			Tag string `json:"tag"`
		} `json:"image"`
	}
	place.File = path.Join(chart, "values.yaml")
	if unpacking.Unmarshal(contentOf(files, place.File), &values) == nil && values.Image.Tag != "" {
		return place, values.Image.Tag
	}
	var about struct {
		AppVersion string `json:"appVersion"`
	}
	place.File = path.Join(chart, "Chart.yaml")
	if unpacking.Unmarshal(contentOf(files, place.File), &about) != nil {
		return place, ""
	}
	return place, about.AppVersion
}

// at is the release of a tag with a version's number; nil if there is none, or none that has CRDs.
func (r *reader) at(ctx context.Context, version string) *deprecation.Release {
	tags, err := r.history.Tags()
	if err != nil || version == "" {
		return nil
	}
	for _, tag := range tags {
		if strings.TrimPrefix(tag.Name, "v") != strings.TrimPrefix(version, "v") {
			continue
		}
		if i := slices.IndexFunc(r.source.Releases, func(read Release) bool { return read.Name == tag.Name }); i >= 0 {
			return &r.source.Releases[i].Release
		}
		files, err := r.history.Files(tag)
		if err != nil {
			return nil
		}
		release := Release{Release: deprecation.Release{Name: tag.Name, When: tag.When}, Files: files}
		(&reader{Options: r.Options, source: &Source{}, known: r.known}).read(ctx, &release)
		return &release.Release
	}
	return nil
}
