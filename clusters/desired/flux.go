package desired

import (
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/optin"
)

// flux fills a unit with what kustomize-controller would apply.
func (f *follower) flux(u *Unit) {
	by, d := u.By.Unstructured, u.Deliveries[0]
	u.Prune, u.Suspended = truth(by, "spec", "prune"), truth(by, "spec", "suspend")
	for _, dependency := range entries(by, "spec", "dependsOn") {
		u.DependsOn = append(u.DependsOn, dependencyName(dependency.Object, u.By.GetNamespace()))
	}
	if at(by, "spec", "kubeConfig") != nil {
		u.Unseen = "it is applied to another cluster (spec.kubeConfig)"
		f.hideBuild(u, d)
		return
	}
	if u.Unseen, u.Pinned = f.fluxSource(by); u.Unseen != "" {
		u.hidden.addBelowRoot(f.tree, d.Path)
		// An artifact may well be made of this repository, by whoever publishes it.
		if kind := text(by, "spec", "sourceRef", "kind"); kind == "ExternalArtifact" {
			u.hidden.widen(data) // made in the cluster, most likely of this repository
		} else if kind != "GitRepository" && len(u.hidden.files) > 0 {
			u.hidden.widen(wires)
		}
		return
	}
	f.build(u, d.Path, func(dir string) (*render.Rendering, error) { return render.Folder(dir, f.fluxOptions(u, d)) })
	if u.Err == nil {
		u.Err = f.substitute(u)
	}
	if u.Err != nil {
		u.Objects = nil
	}
}

// fluxOptions are those of a Kustomization.
func (f *follower) fluxOptions(u *Unit, d optin.Delivery) render.Options {
	by, o := u.By.Unstructured, f.options(d)
	o.Namespace = text(by, "spec", "targetNamespace")
	o.NamePrefix, o.NameSuffix = text(by, "spec", "namePrefix"), text(by, "spec", "nameSuffix")
	o.Annotations = texts(by, "spec", "commonMetadata", "annotations")
	return o
}

// dependencyName is namespace/name of an entry of dependsOn.
func dependencyName(entry map[string]any, namespace string) string {
	name, _ := entry["name"].(string)
	if own, _ := entry["namespace"].(string); own != "" {
		namespace = own
	}
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
