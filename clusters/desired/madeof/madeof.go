// Package madeof finds what of a repository decides about folders that are built by kustomizations. Where such a build fails, or lacks
// a part that cannot be had here, Parts stand for it: while they are the same, it is the same.
package madeof

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// Parts are what folders are built of.
type Parts struct {
	// Files are files and folders, absolute, and Texts what counts of kustomizations.
	Files, Texts []string
}

// Write adds them to a digest.
func (p Parts) Write(to *files.Digest) {
	for _, text := range p.Texts {
		to.Write("built", text)
	}
	for _, file := range p.Files {
		to.File(file)
	}
}

// Folders are what some folders are built of together, but for manifests that need not be among it and that Kustomize copies
// nothing from. The objects of some kinds are referred to by others, so these always are.
func Folders(t *files.Tree, dirs, referred []string, needNot func(*delivery.Object) bool) (parts Parts) {
	var all []string
	for _, dir := range dirs {
		all = append(all, render.Local(dir, t.Root)...)
	}
	k := kustomizationsOf(t, all, referred)
	if k == nil {
		return Parts{Files: all}
	}
	plain := map[string]bool{}
	for _, file := range all {
		switch {
		case k.homes[file] != "":
			parts.Files = append(parts.Files, k.homes[file]) // its charts lie there, and nowhere else
		case k.values[file] && !k.others[file] && !k.configured:
			parts.Texts = append(parts.Texts, t.Relative(file)+" "+ValuesIn(t, file))
		case k.values[file], k.others[file]:
			parts.Files = append(parts.Files, file)
		case k.fields[file] == nil:
			manifests := k.manifestsIn(t, file)
			if manifests == nil {
				parts.Files = append(parts.Files, file)
				continue
			}
			if text := k.textOf(manifests, needNot); text != "" {
				parts.Texts = append(parts.Texts, t.Relative(file)+" "+text)
			} else {
				plain[file] = true
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(k.fields)) {
		parts.Texts = append(parts.Texts, t.Relative(file)+" "+k.without(file, plain))
	}
	return parts
}

// ValuesIn are those of a file for a chart, as ValuesOf has them.
func ValuesIn(t *files.Tree, file string) string {
	content, _ := t.Read(t.Relative(file))
	return ValuesOf(string(content))
}

// ValuesOf are those of a text for a chart, without what decides about containers alone; the text itself if it holds none.
func ValuesOf(text string) string {
	values, err := charts.ParseValues([]byte(text))
	if err != nil {
		return text
	}
	deciding.WithoutContainers(values)
	written, _ := json.Marshal(values) // it was read from YAML
	return string(written)
}

// without is a kustomization without manifests, and without what decides about containers alone.
func (k *kustomizations) without(file string, plain map[string]bool) string {
	fields := maps.Clone(k.fields[file])
	resources, _ := fields["resources"].([]any)
	fields["resources"] = slices.DeleteFunc(slices.Clone(resources), func(text any) bool {
		name, _ := text.(string)
		return plain[filepath.Join(filepath.Dir(file), filepath.FromSlash(name))]
	})
	if !k.configured {
		if !isAboutCRDs(fields["images"]) {
			delete(fields, "images")
		}
		delete(fields, "replicas")
		deciding.WithoutContainers(fields["helmCharts"])
	}
	text, _ := json.Marshal(fields) // it was read from YAML
	return string(text)
}

// isAboutCRDs reports whether one of some images brings CRDs, by its names.
func isAboutCRDs(images any) bool {
	text, _ := json.Marshal(images)
	return bytes.Contains(text, []byte("crd"))
}

// manifestsIn are those of a file that nothing else is made of by Kustomize; nil if it is not of such manifests alone.
func (k *kustomizations) manifestsIn(t *files.Tree, file string) []*delivery.Object {
	if direct, err := filepath.EvalSymlinks(file); err != nil || direct != file {
		return nil // it may have another name, too
	}
	content, err := render.ReadRegular(file)
	if err != nil {
		return nil
	}
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil || slices.ContainsFunc(read.Objects, func(object *delivery.Object) bool {
		return strings.ContainsAny(object.GetAPIVersion()+object.GetKind(), "${<")
	}) {
		return nil
	}
	t.Reads.File(file)
	return read.Objects
}

// textOf is what counts of manifests: all of those that others are referred to, what decides about CRDs in others, and none of those that need not
// be there. It is empty if none is.
func (k *kustomizations) textOf(manifests []*delivery.Object, needNot func(*delivery.Object) bool) (text string) {
	for _, object := range manifests {
		switch {
		case slices.Contains(k.referred, object.GetKind()):
			all, _ := json.Marshal(object.Object) // it was read from YAML
			text += string(all)
		case !needNot(object):
			text += deciding.TextOf([]*delivery.Object{object})
		}
	}
	return text
}
