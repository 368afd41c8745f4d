package appset

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// folders are those of the repository that match a pattern and none that excludes.
func (g *generating) folders(generator *delivery.Object) (all []parameters, err error) {
	patterns := generator.Entries("git", "directories")
	for _, folder := range g.repository.Folders() {
		taken, excluded := false, false
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern.Text("path"), folder); err == nil && ok {
				taken, excluded = taken || !pattern.True("exclude"), excluded || pattern.True("exclude")
			}
		}
		if !taken || excluded {
			continue
		}
		given := parameters{}
		g.addPath(given, generator.Text("git", "pathParamPrefix"), folder, "")
		if err := g.addValues(given, generator.TextMap("git", "values")); err != nil {
			return nil, err
		}
		all = append(all, given)
	}
	return all, nil
}

// addPath adds the parameters of a folder, and of a file in it.
func (g *generating) addPath(given parameters, prefix, folder, file string) {
	segments := strings.Split(folder, "/")
	if g.isGo {
		at := map[string]any{"path": folder, "basename": path.Base(folder), "basenameNormalized": normalized(path.Base(folder)), "segments": segments}
		if file != "" {
			at["filename"], at["filenameNormalized"] = file, normalized(file)
		}
		if prefix != "" {
			given[prefix] = map[string]any{"path": at}
		} else {
			given["path"] = at
		}
		return
	}
	name := strings.TrimPrefix(prefix+".path", ".")
	given[name], given[name+".basename"], given[name+".basenameNormalized"] = folder, path.Base(folder), normalized(path.Base(folder))
	if file != "" {
		given[name+".filename"], given[name+".filenameNormalized"] = file, normalized(file)
	}
	for i, segment := range segments {
		given[name+"["+strconv.Itoa(i)+"]"] = segment
	}
}

// addValues adds the values of a generator, which may be templates.
func (g *generating) addValues(given parameters, values map[string]string) error {
	filled := map[string]any{}
	for key, value := range values {
		text, err := g.text(value, given)
		if err != nil {
			return err
		}
		filled[key] = text
	}
	for key, text := range filled {
		if !g.isGo {
			given["values."+key] = text
		}
	}
	if g.isGo && len(filled) > 0 {
		given["values"] = filled
	}
	return nil
}

// files are those of the repository that match a pattern; each holds one set of parameters, or a list of some.
func (g *generating) files(generator *delivery.Object) (all []parameters, err error) {
	match, err := matching(generator.Entries("git", "files"))
	if err != nil {
		return nil, err
	}
	contents, err := g.repository.Files(match)
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Sorted(maps.Keys(contents)) {
		objects, err := objectsIn(contents[file])
		if err != nil {
			return nil, fmt.Errorf("its generator reads %s: %w", file, err)
		}
		for _, object := range objects {
			given := maps.Clone(g.treeOf(object))
			if given == nil {
				given = parameters{}
			}
			g.addPath(given, generator.Text("git", "pathParamPrefix"), path.Dir(file), path.Base(file))
			if err := g.addValues(given, generator.TextMap("git", "values")); err != nil {
				return nil, err
			}
			all = append(all, given)
		}
	}
	return all, nil
}

func objectsIn(content []byte) ([]map[string]any, error) {
	if err := unpacking.Bounded(content); err != nil {
		return nil, err
	}
	object := map[string]any{}
	if yaml.Unmarshal(content, &object) == nil {
		return []map[string]any{object}, nil
	}
	var list []map[string]any
	err := yaml.Unmarshal(content, &list)
	return list, err
}
