package desired

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// addInput remembers something that decides about a unit; what is empty is as if it were not there.
func addInput(u *delivery.Unit, name, content string) {
	if content == "" {
		return
	}
	if u.Inputs == nil {
		u.Inputs = map[string]string{}
	}
	u.Inputs[name] = content
}

// findInputs finds what decides about units and is not built into them. It comes late, as a source or a Secret may stand in
// any unit. What no tool is known to apply may be Flux's.
func (f *follower) findInputs() {
	for _, u := range f.cluster.Units {
		if u.Tool == delivery.ArgoCD || u.Tool == delivery.Helm && len(u.Dirs) == 0 {
			continue
		}
		if u.By != nil {
			kind := u.By.Text("spec", "sourceRef", "kind")
			switch kind {
			case "", "GitRepository":
				f.inputsOfSource(u)
				f.inputsOfVariables(u)
			case "ExternalArtifact": // made of this repository, most likely, without what it leaves out
			default:
				continue
			}
		}
		if u.Tool == delivery.Flux && u.Unseen == "" {
			continue // it was built without what these leave out
		}
		for name, content := range f.tree.IgnoringFiles() {
			addInput(u, name, content)
		}
	}
}

// leavingOut are the fields of a GitRepository that decide which files arrive, and so what is pruned for want of them.
// https://fluxcd.io/flux/components/source/gitrepositories/#ignore
var leavingOut = []string{"ignore", "sparseCheckout", "recurseSubmodules"}

// inputsOfSource adds what a Kustomization's GitRepository leaves out, and the repositories that it includes.
func (f *follower) inputsOfSource(u *delivery.Unit) {
	from := u.By.SourceRef()
	sources := f.cluster.Named("GitRepository", from.Namespace, from.Name)
	for _, source := range sources {
		for _, field := range leavingOut {
			if field == "ignore" && u.Unseen == "" {
				continue // as with a .sourceignore
			}
			addInput(u, fmt.Sprintf("spec.%s of GitRepository %s", field, source.GetName()), jsonOf(source.Field("spec", field)))
		}
	}
	seen := map[*delivery.Object]bool{}
	for len(sources) > 0 {
		source := sources[0]
		sources = sources[1:]
		if seen[source] {
			continue
		}
		seen[source] = true
		for _, included := range f.included(source) {
			addInput(u, "GitRepository "+included.GetName()+", which is included,", jsonOf(deciding(included)))
			sources = append(sources, included)
		}
	}
}

// included are the repositories that a GitRepository puts into its own.
// https://fluxcd.io/flux/components/source/gitrepositories/#include
func (f *follower) included(source *delivery.Object) []*delivery.Object {
	var found []*delivery.Object
	if source.Is("source.toolkit.fluxcd.io", "GitRepository") {
		for _, include := range source.Entries("spec", "include") {
			found = append(found, f.cluster.Named("GitRepository", source.GetNamespace(), include.Text("repository", "name"))...)
		}
	}
	return found
}

// inputsOfVariables adds where the values of variables come from that could not be put in, if these stand in something that
// matters. What could be put in is seen in the objects.
func (f *follower) inputsOfVariables(u *delivery.Unit) {
	if !slices.ContainsFunc(u.Objects, func(o *delivery.Object) bool { return f.templated[o] && kinds.Matters(o) }) {
		return
	}
	addInput(u, "spec.postBuild of Kustomization "+u.Name, jsonOf(u.By.Field("spec", "postBuild")))
	for _, from := range u.By.Entries("spec", "postBuild", "substituteFrom") {
		kind, name := from.Text("kind"), from.Text("name")
		for _, object := range f.cluster.Named(kind, u.By.GetNamespace(), name) {
			addInput(u, kind+" "+name, jsonOf(deciding(object)))
		}
	}
}

// notAsItLies says why Argo CD builds something else than what is in a folder, empty if it does not.
func (f *follower) notAsItLies(u *delivery.Unit, source *delivery.Object, path string) string {
	dir := f.tree.Folder(path)
	if dir == "" {
		return ""
	}
	if files := overrides(u, dir); len(files) > 0 {
		return "its source is overridden by " + f.tree.Relative(files[0])
	}
	if render.KustomizationIn(dir) != "" {
		return ""
	}
	if options, _ := source.Field("directory", "jsonnet").(map[string]any); len(options) > 0 || holdsJsonnet(dir, source.True("directory", "recurse")) {
		return "it is rendered by jsonnet"
	}
	return ""
}

// overrides are the files beside what an Application applies that change its source.
// https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git
func overrides(u *delivery.Unit, dir string) []string {
	var found []string
	// Outside of Argo CD's own namespace, an Application is called by its namespace, too.
	for _, name := range []string{"", "-" + u.By.GetName(), "-" + u.By.GetNamespace() + "_" + u.By.GetName()} {
		name = ".argocd-source" + name + ".yaml"
		if files.Has(dir, name) {
			found = append(found, filepath.Join(dir, name))
		}
	}
	return found
}

func holdsJsonnet(dir string, recurse bool) bool {
	found := false
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not there
		case entry.IsDir() && path != dir && !recurse:
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".jsonnet":
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// generatorsRead is where git generators look, empty if an ApplicationSet has none that says.
func generatorsRead(set *delivery.Object) string {
	var read []string
	for _, generator := range set.Entries("spec", "generators") {
		if url, revision := generator.Text("git", "repoURL"), generator.Text("git", "revision"); url+revision != "" {
			read = append(read, normalURL(url)+" "+revision)
		}
	}
	return strings.Join(read, "\n")
}

// scopeOf is how much of the repository may decide about the Applications of an ApplicationSet whose generators cannot be
// run. With those that read files, or values for charts, it is each file that holds data; with a plug-in, everything.
func scopeOf(set *delivery.Object) files.Scope {
	switch spec := set.Field("spec"); {
	case holdsKey(set.Field("spec", "template"), "plugin"):
		return files.Everything
	case holdsKey(spec, "files"), holdsKey(spec, "valueFiles"), holdsKey(spec, "fileParameters"), holdsKey(spec, "templatePatch"):
		return files.Data
	}
	return files.Wires
}

// holdsKey reports whether there is a field of that name anywhere in a value.
func holdsKey(value any, name string) bool {
	for at := range crdschema.Each(value) {
		if len(at) > 0 && at[len(at)-1] == name {
			return true
		}
	}
	return false
}

// jsonOf is empty for what is not there, and for what is as if it were not.
func jsonOf(value any) string {
	if value == nil || value == false || value == "" {
		return ""
	}
	content, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(content)
}
