package repositories

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// delivery is what the real tools make of a repository: Kustomize, Helm, and what Flux and Argo CD take from where. None of Moult's
// code has a part in it.
type delivery struct {
	// crds are what clusters get, and parts what folders make that are only part of others: the objects by their root and name.
	crds, parts map[string]map[string]any
	// others decide what comes from elsewhere: objects of Flux and Argo CD, and charts that other repositories have.
	others map[string]any
	// failed are the roots that cannot be built.
	failed map[string]string
}

type object = map[string]any

// deliveredFrom asks the tools.
func deliveredFrom(dir string, s state) (delivery, error) {
	if err := s.write(dir); err != nil {
		return delivery{}, err
	}
	d := &deliverer{dir: dir, state: s, holders: map[string]bool{}, delivery: delivery{map[string]map[string]any{}, map[string]map[string]any{}, map[string]any{}, map[string]string{}}}
	d.findParts()
	d.everything()
	if wired := d.wired(); len(wired) > 0 {
		maps.DeleteFunc(d.crds, func(root string, _ map[string]any) bool { return !d.holders[root] })
		d.parts, d.failed = map[string]map[string]any{}, map[string]string{}
		for _, one := range wired {
			d.follow(one)
		}
	}
	return d.delivery, nil
}

type deliverer struct {
	delivery

	dir   string
	state state
	// part are the folders and files that kustomizations name, objects all that was made, and holders the roots with objects that make
	// Flux or Argo CD apply something.
	part, holders map[string]bool
	objects       []object
}

// everything makes all that can be made: a repository where nothing says what is applied.
func (d *deliverer) everything() {
	for _, file := range d.state.paths() {
		folder, name := path.Dir(file), path.Base(file)
		switch {
		case isForReading(file):
		case name == "kustomization.yaml" && !strings.Contains(d.state[file], "kind: Component"):
			d.keep(folder, d.part[folder])(d.kustomized(folder))
		case name == "Chart.yaml":
			d.keep(folder, strings.Contains(folder, "charts/"))(d.charted(folder, nil))
		case (path.Ext(name) == ".yaml" || path.Ext(name) == ".yml") && !d.part[file] && !d.inChart(folder) && !d.isKustomized(folder):
			d.keep(folder, false)(objectsIn([]byte(d.state[file])), nil)
		}
	}
}

// isForReading is whether no tool applies a file.
func isForReading(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(name string) bool {
		return strings.HasPrefix(name, ".") && name != "." || slices.Contains([]string{"doc", "docs", "example", "examples", "sample", "samples", "test", "tests", "testdata", "e2e", "vendor", "node_modules"}, name)
	})
}

// isKustomized reports whether a kustomization says what is taken of a folder.
func (d *deliverer) isKustomized(folder string) bool {
	content := d.state[path.Join(folder, "kustomization.yaml")]
	return content != "" && !strings.Contains(content, "kind: Component")
}

func (d *deliverer) inChart(folder string) bool {
	for ; ; folder = path.Dir(folder) {
		if d.state[path.Join(folder, "Chart.yaml")] != "" {
			return true
		}
		if folder == "." || folder == "/" {
			return false
		}
	}
}

// findParts finds what kustomizations name.
func (d *deliverer) findParts() {
	d.part = map[string]bool{}
	for _, file := range d.state.paths() {
		var k types.Kustomization
		if path.Base(file) != "kustomization.yaml" || yaml.Unmarshal([]byte(d.state[file]), &k) != nil {
			continue
		}
		d.part[file] = true
		k.FixKustomization()
		names := slices.Concat(k.Resources, k.Components, k.Crds, k.Configurations, k.Transformers, k.Generators)
		for _, patch := range k.Patches {
			names = append(names, patch.Path)
		}
		for _, generator := range k.ConfigMapGenerator {
			for _, from := range generator.FileSources {
				names = append(names, from[strings.Index(from, "=")+1:])
			}
		}
		for _, name := range names {
			if name != "" {
				d.part[path.Join(path.Dir(file), name)] = true
			}
		}
	}
}

// keep takes what a root makes.
func (d *deliverer) keep(root string, isPart bool) func([]object, error) {
	return func(all []object, err error) {
		if err != nil {
			d.failed[root] = strings.ReplaceAll(err.Error(), d.dir, "")
			return
		}
		d.objects = append(d.objects, all...)
		to := d.crds
		if isPart {
			to = d.parts
		}
		for _, one := range all {
			metadata, _ := one["metadata"].(object)
			if one["kind"] == "CustomResourceDefinition" {
				if to[root] == nil {
					to[root] = map[string]any{}
				}
				to[root][fmt.Sprint(metadata["name"])] = one
			}
			if apiVersion, _ := one["apiVersion"].(string); strings.Contains(apiVersion, "fluxcd.") || strings.HasPrefix(apiVersion, "argoproj.io/") {
				d.others[fmt.Sprint(root, one["kind"], metadata["namespace"], metadata["name"])] = one["spec"]
				d.holders[root] = true
			}
		}
	}
}

// wired are the objects of Flux and Argo CD that take something from this repository.
func (d *deliverer) wired() (found []object) {
	for _, one := range d.objects {
		switch kind := one["kind"]; {
		case kind == "Kustomization" && strings.Contains(fmt.Sprint(one["apiVersion"]), "fluxcd.io/"), kind == "Application", kind == "HelmRelease":
			found = append(found, one)
		}
	}
	return found
}

// follow builds what an object of Flux or Argo CD takes from this repository.
func (d *deliverer) follow(one object) {
	spec, _ := one["spec"].(object)
	switch one["kind"] {
	case "Kustomization":
		folder, _ := spec["path"].(string)
		folder = path.Clean(folder)
		d.keep(folder, false)(d.asFlux(folder, spec))
		return
	case "HelmRelease":
		chart, _ := spec["chart"].(object)
		of, _ := chart["spec"].(object)
		if folder := path.Clean(fmt.Sprint(of["chart"])); d.state[path.Join(folder, "Chart.yaml")] != "" {
			d.keep(folder, false)(d.charted(folder, object{"valuesObject": spec["values"]}))
		}
		return
	}
	sources, _ := spec["sources"].([]any)
	for _, source := range append(sources, spec["source"]) {
		from, _ := source.(object)
		folder, _ := from["path"].(string)
		if folder = path.Clean(folder); from["chart"] == nil && d.has(folder) {
			d.keep(folder, false)(d.asArgoCD(folder, from))
		}
	}
}
