package wiring

import (
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/tree"
	"github.com/moult-dev/moult/policies/optin"
)

// Source is something that brings objects to the cluster which are not among those of any unit.
type Source struct {
	// Name is the kind and the namespace/name of By.
	Name string
	// By is the Kustomization, the Application, the HelmRelease or whatever else brings them.
	By *Object
	// Why says why they cannot be seen, without a full stop.
	Why string
	// Fingerprint stands for all in the repository that decides what they are: the same before and after a pull request,
	// it brings the same.
	Fingerprint string
}

// installers are the kinds, beside those that are followed, whose controllers install what is not in the manifest and may
// hold CRDs. A HelmRelease that skips a chart's crds/ (spec.install.crds, spec.upgrade.crds) is no exception, as many
// charts have CRDs among their templates.
var installers = map[schema.GroupKind]bool{
	{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:        true,
	{Group: "fluxcd.controlplane.io", Kind: "FluxInstance"}:       true, // the Flux Operator's
	{Group: "fluxcd.controlplane.io", Kind: "ResourceSet"}:        true,
	{Group: "helm.cattle.io", Kind: "HelmChart"}:                  true, // of K3s and RKE2
	{Group: "helm.cattle.io", Kind: "HelmChartConfig"}:            true,
	{Group: "operators.coreos.com", Kind: "Subscription"}:         true, // of the Operator Lifecycle Manager
	{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}: true,
	{Group: "pkg.crossplane.io", Kind: "Provider"}:                true,
	{Group: "pkg.crossplane.io", Kind: "Configuration"}:           true,
}

func installs(object *Object) bool { return installers[object.GroupVersionKind().GroupKind()] }

// findUnseen lists all that brings what cannot be seen. It comes last, as a source may stand in any unit.
func (f *follower) findUnseen() {
	for _, u := range f.cluster.Units {
		if u.Unseen != "" && u.By != nil {
			f.unseen(Source{Name: u.By.GetKind() + " " + u.Name, By: u.By, Why: u.Unseen}, u.Parent, u.hidden)
		}
		for _, object := range u.Objects {
			switch {
			case installs(object):
				f.unseen(Source{Name: nameOf(object, u), By: object, Why: whatIsInstalled(object)}, u, f.chartOf(object))
			case f.tree == nil && delivers(object):
				f.unseen(Source{Name: nameOf(object, u), By: object, Why: "nothing is followed from " + f.cluster.Name}, u, hidden{})
			}
		}
	}
}

func (f *follower) unseen(s Source, holder *Unit, h hidden) {
	s.Fingerprint = f.fingerprint(s, holder, h)
	f.cluster.Unseen = append(f.cluster.Unseen, s)
}

func nameOf(object *Object, u *Unit) string {
	return object.GetKind() + " " + unitName(pointer{by: object, parent: u})
}

// whatIsInstalled is the chart of a HelmRelease, as far as its manifest tells.
func whatIsInstalled(object *Object) string {
	chart := text(object.Unstructured, "spec", "chart", "spec", "chart")
	if chart == "" {
		if name := text(object.Unstructured, "spec", "chartRef", "name"); name != "" {
			return "it installs the chart of " + text(object.Unstructured, "spec", "chartRef", "kind") + " " + name
		}
		return "what it installs is not among these manifests"
	}
	says := "it installs the chart " + strings.TrimSpace(chart+" "+text(object.Unstructured, "spec", "chart", "spec", "version"))
	if name := text(object.Unstructured, "spec", "chart", "spec", "sourceRef", "name"); name != "" {
		says += " of " + text(object.Unstructured, "spec", "chart", "spec", "sourceRef", "kind") + " " + name
	}
	return says
}

// hidden is what of this repository decides about objects that are not seen.
type hidden struct {
	// files are files and folders, absolute; built are objects that were built, and are not the cluster's own.
	files, built []string
	// anywhere: it may be any folder, so all that matters in the repository decides.
	anywhere bool
}

func (h *hidden) add(path string) {
	if path != "" {
		h.files = append(h.files, path)
	}
}

// addBelowRoot adds a folder that is said to be in another repository, if this one has it, too: the other may be a mirror of
// this one.
func (h *hidden) addBelowRoot(t *tree.Tree, path string) {
	if dir := folder(t, path); dir != t.Root && dir != t.Dir {
		h.add(dir)
	}
}

// chartOf is the chart of a HelmRelease, or of Flux's HelmChart, that lies in this repository, and the values beside it.
func (f *follower) chartOf(object *Object) hidden {
	fields := []string{"spec"}
	if object.is("helm.toolkit.fluxcd.io", "HelmRelease") {
		fields = []string{"spec", "chart", "spec"}
	}
	var h hidden
	spec := func(more ...string) string {
		return text(object.Unstructured, append(fields[:len(fields):len(fields)], more...)...)
	}
	if f.tree == nil || spec("chart") == "" || spec("sourceRef", "kind") == "HelmRepository" {
		return h
	}
	h.add(folder(f.tree, spec("chart")))
	values, _ := at(object.Unstructured, append(fields[:len(fields):len(fields)], "valuesFiles")...).([]any)
	for _, file := range values {
		if file, ok := file.(string); ok {
			h.add(f.inRoot(file))
		}
	}
	return h
}

// hideChart remembers the chart of an Application and the files of values that it takes: from the chart's folder, or with
// $name/ from another source, which may be this repository.
func (f *follower) hideChart(u *Unit, source *unstructured.Unstructured, dir string) {
	u.hidden.add(dir)
	values, _ := at(source, "helm", "valueFiles").([]any)
	for _, file := range values {
		file, _ := file.(string)
		if elsewhere, found := strings.CutPrefix(file, "$"); found {
			_, inside, _ := strings.Cut(elsewhere, "/")
			u.hidden.add(f.inRoot(inside))
		} else if dir != "" {
			u.hidden.add(filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
}

// inRoot is a path of the repository, empty if it leads out.
func (f *follower) inRoot(path string) string {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return ""
	}
	return filepath.Join(f.tree.Root, filepath.FromSlash(path))
}

// hideBuild builds what goes to another cluster, to tell whether what matters in it changes.
func (f *follower) hideBuild(u *Unit, d optin.Delivery) {
	dir := folder(f.tree, d.Path)
	if dir == "" {
		return
	}
	rendering, err := render.Folder(dir, f.fluxOptions(u, d))
	if err != nil {
		u.hidden.add(dir)
		u.hidden.anywhere = true
		return
	}
	for _, object := range objectsOf(rendering, f.tree) {
		if raw, err := object.MarshalJSON(); err == nil && (object.matters() || installs(object)) {
			u.hidden.built = append(u.hidden.built, string(raw))
		}
		u.hidden.anywhere = u.hidden.anywhere || delivers(object)
	}
}
