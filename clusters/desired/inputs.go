package desired

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/kinds"
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
		f.findSettings(u)
		if u.Set != nil && f.Clusters != nil && appset.HoldsKey(u.Set.Field("spec", "generators"), "clusters") {
			addInput(u, "the Secrets of clusters in this repository, beside those of --cluster-secrets,", f.clusterSecrets())
		}
		if u.Tool != delivery.ArgoCD { // of what it passes over, it is known before
			findAside(u)
		}
		if u.Tool == delivery.Helm {
			f.inputsOfChart(u)
		}
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

// clusterSecrets are the Secrets about clusters, and what makes some.
func (f *follower) clusterSecrets() (text string) {
	for _, object := range f.cluster.Objects() {
		if appset.IsCluster(object) || appset.MakesCluster(object) {
			text += jsonOf(object.Object)
		}
	}
	return text
}

// inputsOfSource adds what a Kustomization's GitRepository leaves out, and the repositories that it includes.
func (f *follower) inputsOfSource(u *delivery.Unit) {
	from := u.By.SourceRef()
	sources := f.cluster.Named("GitRepository", from.Namespace, from.Name)
	for _, source := range sources {
		for _, field := range flux.LeavingOut {
			if field == "ignore" && u.Unseen == "" && u != f.cluster.Units[0] {
				continue // as with a .sourceignore; of the entry point, this is not known before it is built
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
		for _, included := range f.known.Included(source) {
			addInput(u, "GitRepository "+included.GetName()+", which is included,", jsonOf(deciding.Of(included)))
			sources = append(sources, included)
		}
	}
}

// ofAClone are the fields of a GitRepository that decide which chart is in it.
var ofAClone = append([]string{"url", "ref", "include"}, flux.LeavingOut...)

// inputsOfChart adds what a HelmRelease takes its chart from. What was fetched for it is seen, unless that is not looked at for now.
func (f *follower) inputsOfChart(u *delivery.Unit) {
	for named := []delivery.Reference{delivery.ChartOf(u.By).Source}; len(named) > 0; named = named[1:] {
		if named[0].Kind == "GitRepository" {
			addInput(u, "the source of the chart of "+u.Name, named[0].Kind+" "+named[0].String())
		}
		for _, source := range f.cluster.Named(named[0].Kind, named[0].Namespace, named[0].Name) {
			fields := []string{"suspend"}
			switch named[0].Kind {
			case "GitRepository":
				fields = append(fields, ofAClone...)
			case "HelmChart":
				named = append(named, source.SourceRef())
			}
			for _, field := range fields {
				addInput(u, fmt.Sprintf("spec.%s of %s %s", field, source.GetKind(), source.GetName()), jsonOf(source.Field("spec", field)))
			}
		}
	}
}

// inputsOfVariables adds where the values of variables come from that could not be put in, if these stand in something that
// matters. What could be put in is seen in the objects.
func (f *follower) inputsOfVariables(u *delivery.Unit) {
	if !slices.ContainsFunc(u.Objects, func(o *delivery.Object) bool { return f.known.Templated[o] && kinds.Matters(o) }) {
		return
	}
	addInput(u, "spec.postBuild of Kustomization "+u.Name, jsonOf(u.By.Field("spec", "postBuild")))
	for _, from := range u.By.Entries("spec", "postBuild", "substituteFrom") {
		kind, name := from.Text("kind"), from.Text("name")
		named := f.cluster.Named(kind, u.By.GetNamespace(), name)
		for _, object := range named {
			addInput(u, kind+" "+name, jsonOf(deciding.Of(object)))
		}
		if len(named) == 0 && f.tree != nil {
			made := f.newFingerprint()
			made.named(kind, u.By.GetNamespace(), name)
			if sum := made.Sum(); sum != f.newFingerprint().Sum() {
				addInput(u, kind+" "+name, sum)
			}
		}
	}
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
