package desired

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// failed remembers what a unit that cannot be built is made of, if that is the folder of a kustomization alone. Manifests that
// decide about no CRD are left out, as in a unit that can be built.
func (f *follower) failed(u *delivery.Unit, dir string) {
	if len(u.Sources) != 1 || len(u.Sources[0].Components) > 0 || render.KustomizationIn(dir) == "" {
		return
	}
	h := f.hiddenOf(u)
	h.failed = true
	all := render.Local(dir, f.tree.Root)
	k, plain := f.kustomizationsOf(all), map[string]bool{}
	for _, file := range all {
		switch {
		case k == nil, k.others[file], k.fields[file] == nil && !k.decidesNothing(f, file):
			h.add(file)
		case k.fields[file] == nil:
			plain[file] = true
		}
	}
	if k == nil {
		return
	}
	for _, file := range slices.Sorted(maps.Keys(k.fields)) {
		fields := k.fields[file]
		resources, _ := fields["resources"].([]any)
		fields["resources"] = slices.DeleteFunc(resources, func(text any) bool {
			name, _ := text.(string)
			return plain[filepath.Join(filepath.Dir(file), filepath.FromSlash(name))]
		})
		text, _ := json.Marshal(fields)
		h.built = append(h.built, f.tree.Relative(file)+" "+string(text))
	}
}

// kustomizations are those that a folder is built of.
type kustomizations struct {
	// fields are what each of them holds, by its file.
	fields map[string]map[string]any
	// others are the files that they name as something else than a resource.
	others map[string]bool
	// kinds are those whose objects decide about others: by what they hold, or by their names.
	kinds []string
}

// copying are the fields of a kustomization by which any manifest may decide about another.
var copying = []string{"replacements", "vars", "generators", "transformers", "validators"}

// kustomizationsOf are those among some files; nil if any manifest may decide about another, or if one of them cannot be read.
func (f *follower) kustomizationsOf(all []string) *kustomizations {
	k := &kustomizations{map[string]map[string]any{}, map[string]bool{}, append([]string{"Service"}, kinds.Decisive...)}
	for _, file := range all {
		if render.KustomizationIn(filepath.Dir(file)) != file {
			continue
		}
		content, err := render.ReadRegular(file)
		fields := map[string]any{}
		if err != nil || unpacking.Unmarshal(content, &fields) != nil || fields == nil || bytes.Contains(content, []byte("allowKindChange")) {
			return nil
		}
		k.fields[file] = fields
		for field, value := range fields {
			if slices.Contains(copying, field) || field == "configurations" && !k.configure(f, filepath.Dir(file), value) {
				return nil
			}
			if field != "resources" {
				k.name(filepath.Dir(file), value)
			}
		}
	}
	return k
}

// name notes the files that a field of a kustomization names.
func (k *kustomizations) name(dir string, value any) {
	for _, v := range crdschema.Each(value) {
		text, _ := v.(string)
		_, behind, _ := strings.Cut(text, "=") // a generator's file may have a key before it
		for _, name := range []string{text, behind} {
			k.others[filepath.Join(dir, filepath.FromSlash(name))] = true
		}
	}
}

// configure adds the kinds whose names configurations write into other objects, and reports whether it could read them.
func (k *kustomizations) configure(f *follower, dir string, configurations any) bool {
	names, _ := configurations.([]any)
	for _, name := range names {
		text, _ := name.(string)
		content, found := f.tree.Read(f.tree.Relative(filepath.Join(dir, filepath.FromSlash(text))))
		var read struct {
			NameReference []struct {
				Kind string `json:"kind"`
			} `json:"nameReference"`
		}
		if !found || unpacking.Unmarshal(content, &read) != nil {
			return false
		}
		for _, of := range read.NameReference {
			if of.Kind == "" {
				return false // which may be any
			}
			k.kinds = append(k.kinds, of.Kind)
		}
	}
	return true
}

// decidesNothing reports whether a file holds manifests alone, and none that decides about a CRD.
func (k *kustomizations) decidesNothing(f *follower, file string) bool {
	if direct, err := filepath.EvalSymlinks(file); err != nil || direct != file {
		return false // it may have another name, too
	}
	content, err := render.ReadRegular(file)
	if err != nil {
		return false
	}
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil || len(read.Objects) == 0 {
		return false
	}
	f.tree.Reads.File(file)
	return !slices.ContainsFunc(read.Objects, func(object *delivery.Object) bool {
		crds, unread := object.Inside()
		return kinds.Matters(object) || kinds.Installs(object) || slices.Contains(k.kinds, object.GetKind()) || len(crds)+len(unread) > 0 ||
			commandsIn(object) != "" || strings.ContainsAny(object.GetAPIVersion()+object.GetKind(), "${<")
	})
}
