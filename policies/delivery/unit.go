package delivery

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// Tool applies manifests from Git.
type Tool string

const (
	// Flux is kustomize-controller.
	Flux Tool = "Flux"
	// ArgoCD is Argo CD.
	ArgoCD Tool = "Argo CD"
	// Helm is Flux's helm-controller, or whatever else installs a chart.
	Helm Tool = "Helm"
)

// Cluster is what one entry point of a repository amounts to.
type Cluster struct {
	// Name is the entry point, or what the caller calls the cluster.
	Name string
	// Units stand after the unit that applies them; the first is the entry point.
	Units []*Unit
	// Unseen is all that brings objects which are not among those of any unit.
	Unseen []Unseen
	// Findings are about the settings of Flux and Argo CD.
	Findings []finding.Finding
	// InCharts are the CRDs that charts in the files bring, no matter who installs these; only without an entry point.
	InCharts []InChart
	// Built are the CRDs that charts, and kustomizations around other folders, make of them, a unit for each; only without an entry point.
	Built []*Unit
	// Templates are the files of charts that make CRDs; only without an entry point.
	Templates []Template
}

// Unit is what one Kustomization, Application or HelmRelease applies.
type Unit struct {
	// Name is the namespace/name of By, after its kind if that is a HelmRelease, or the entry point's if nothing here says who
	// applies it.
	Name string
	// Tool is empty if nothing here says who applies the unit.
	Tool Tool
	// By is the Kustomization, Application or HelmRelease, nil if Tool is empty. It may be part of the unit itself.
	By *Object
	// Set is the ApplicationSet that By comes from; nil if By is a manifest itself.
	Set *Object
	// Parent is the unit that holds By; nil for the entry point.
	Parent *Unit
	// Sources are By's, one for Flux.
	Sources []Source
	// Dirs are the folders that were built, from the root of the repository.
	Dirs []string
	// Objects are all that was built, in the order of the build.
	Objects []*Object
	// Kept are those of Objects that the tool does not delete when the unit holds them no more: the crds/ of a chart, with Helm.
	Kept []*Object
	// Installed are more that the tool applies when the cluster gets the unit for the first time. With Helm it is the
	// crds/ of a chart that are replaced at an installation, and not at an upgrade.
	Installed []*Object
	// Charts are the charts that were rendered, each with its version, in the order of Sources.
	Charts []string
	// Depending are what other clusters would make of these charts, in the order of Charts.
	Depending []Depending
	// DependsOn are the names of units that have to be ready before, with Flux.
	DependsOn []string
	// Suspended: the tool does not look at the unit for now.
	Suspended bool
	// Pinned is the tag or commit that the unit is taken from, whatever is merged; empty if it follows a branch.
	Pinned string
	// Elsewhere are the addresses of other repositories that some of the objects were built from.
	Elsewhere []string
	// Unseen says why some of what the unit applies is not among its Objects; empty if all of it is.
	Unseen string
	// Err is why the unit could not be built. Failure is the same in one line, without the names of temporary folders, so that
	// what fails alike reads alike.
	Err     error
	Failure string
	// MadeOf stands for all in the repository that decides about a unit which could not be built; empty if that is not known.
	MadeOf string
	// Patches are those of the build that set the opt-in label, if the caller has asked for them.
	Patches []Patch

	// Inputs are what else decides which objects the unit gets, and is not built into them: what a source leaves out, for
	// example. By what a person would call it, each stands for the same as long as it is the same.
	Inputs map[string]string
	// Settings are the same for what leaves CRDs and other objects out, or says when they are applied; empty where it does not. Without such an
	// object, there is none.
	Settings map[string]string
}

// Depending is what clusters with other APIs or of another version would make of a chart. Key stands for the chart and its release. It takes time,
// so it is asked only if that changes. What gives the names of the objects that are not the same in each cluster, and stands for all that they
// are; both are empty if there are none.
type Depending struct {
	Key  string
	What func() (names []string, fingerprint string, err error)
}

// Unseen is something that brings objects to a cluster which are not among those of its units: a HelmRelease, an
// Application of a chart, a Kustomization of another repository.
type Unseen struct {
	// Name is the kind and the namespace/name of By.
	Name string
	// By is the Kustomization, the Application, the HelmRelease or whatever else brings them.
	By *Object
	// Why says why they cannot be seen, without a full stop.
	Why string
	// Fingerprint stands for all in the repository that decides what they are: the same before and after a pull request,
	// it brings the same.
	Fingerprint string
	// Settled is another one, by what is the same whatever only a cluster knows. It takes time, so it is asked only if the first differs. The
	// error says why there is none; nil for what has none.
	Settled func() (string, error)
	// Runs: it is a program, and makes them by itself.
	Runs bool
	// Offline: it would be fetched if that were not forbidden.
	Offline bool
}

// Unit is the unit of a name, nil if there is none.
func (c *Cluster) Unit(name string) *Unit {
	for _, u := range c.Units {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// Applied reports whether the repository says what applies at least some of the objects.
func (c *Cluster) Applied() bool {
	return slices.ContainsFunc(c.Units, func(u *Unit) bool { return u.Tool != "" })
}

// Objects are all that the cluster would get, in the order of the units, each with the unit that applies it.
func (c *Cluster) Objects() iter.Seq2[*Unit, *Object] {
	return func(yield func(*Unit, *Object) bool) {
		for _, unit := range c.Units {
			for _, object := range unit.Objects {
				if !yield(unit, object) {
					return
				}
			}
		}
	}
}

// Named are the objects of a kind and a name, in the order of the units. A namespace that is not given, or that an object
// leaves to its tool, fits every other.
func (c *Cluster) Named(kind, namespace, name string) []*Object {
	var found []*Object
	for _, o := range c.Objects() {
		if o.GetKind() == kind && o.GetName() == name && (namespace == "" || o.GetNamespace() == "" || o.GetNamespace() == namespace) {
			found = append(found, o)
		}
	}
	return found
}

// Source is one of Flux's among the objects; without a namespace it may be in any.
func (c *Cluster) Source(kind string, from Reference) *Object {
	for _, object := range c.Named(kind, from.Namespace, from.Name) {
		if object.Is("source.toolkit.fluxcd.io", kind) {
			return object
		}
	}
	return nil
}

// Incomplete reports whether the unit applies more than its Objects.
func (u *Unit) Incomplete() bool { return u.Unseen != "" || u.Err != nil }

// Build is what was built for the unit: its first folder, or what the caller has named.
func (u *Unit) Build() string {
	if len(u.Dirs) > 0 {
		return u.Dirs[0]
	}
	return u.Name
}

// Holds reports whether the unit applies an object of the same kind and name.
func (u *Unit) Holds(object *Object) bool {
	return slices.ContainsFunc(u.Objects, object.Same)
}

// OwnCluster and OwnServer are what an Application calls the cluster that Argo CD runs in, which needs no Secret.
const (
	OwnCluster = "in-cluster"
	OwnServer  = "https://kubernetes.default.svc"
)

// IsOwnCluster reports whether a destination's server or name is none but that one.
func IsOwnCluster(to string) bool { return to == "" || to == OwnServer || to == OwnCluster }

// Destination is the cluster that the unit is applied to, as an Application names it: empty for the one that the entry point is for.
// What an Application brings to another cluster is applied by a tool that runs there.
func (u *Unit) Destination() string {
	if u.By != nil && u.Tool == ArgoCD {
		spec := SpecOf(u.By)
		to := cmp.Or(u.By.Text(Under(spec, "destination", "server")...), u.By.Text(Under(spec, "destination", "name")...))
		if !IsOwnCluster(to) {
			return to
		}
	}
	if u.Parent == nil {
		return ""
	}
	return u.Parent.Destination()
}

// BuildFailed is the rule of the finding about a unit that cannot be built, so that its tool would fail, too, and what it
// holds is not known.
const BuildFailed = "BuildFailed"

// AppliedTwice is the rule of the finding about a CRD that two units apply. If they differ, each undoes what the other does.
const AppliedTwice = "AppliedTwice"

// WhyNotBuilt is what that finding says.
func (u *Unit) WhyNotBuilt() string { return fmt.Sprintf("%s cannot be built: %s", u.Name, u.Reason()) }

// Reason is why a unit could not be built, in one line. A folder that is a unit itself is not named once more.
func (u *Unit) Reason() string {
	return strings.TrimPrefix(strings.Join(strings.Fields(u.Err.Error()), " "), u.Name+" cannot be built: ")
}
