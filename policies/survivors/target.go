package survivors

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/words"
)

// Target is a CRD and its versions that are to be removed, or were removed.
type Target struct {
	// CRD is the name.
	CRD string `json:"crd"`
	// Group, Plural and Kinds are those of its objects and of lists of them.
	Group  string   `json:"group"`
	Plural string   `json:"plural"`
	Kinds  []string `json:"kinds"`
	// Leaving are the versions in question, and Staying all others that the CRD lists.
	Leaving []string `json:"leaving"`
	Staying []string `json:"staying"`
	// Served are those that stay and are served.
	Served []string `json:"-"`
	// From says who says that they leave.
	From From `json:"from"`

	// listed and served are all versions that the CRD lists and serves: what leaves for one who asks stays for another.
	listed, served []string
}

// From is who says that versions leave. The set is closed.
type From string

const (
	// Asked: a person has named them.
	Asked From = "asked"
	// Removals: VersionRemovals name them.
	Removals From = "versionRemovals"
	// NotStored: none are named, so they are all but the storage version: those that could be removed.
	NotStored From = "notStored"
)

// TargetOf reports which versions of a CRD are to leave: those that are asked for, else those that VersionRemovals name, else all but
// the storage version. VersionRemovals that name only what the CRD no longer lists are of an earlier removal. A version that is asked for need not be in the CRD: it may have left already.
func TargetOf(crd *apiextensionsv1.CustomResourceDefinition, asked []string, removals []v1alpha1.VersionRemoval) Target {
	names := crd.Spec.Names
	t := Target{CRD: crd.Name, Group: crd.Spec.Group, Plural: names.Plural, Kinds: []string{names.Kind, names.ListKind}}
	t.Leaving, t.From = leavingOf(crd, asked, removals)
	for _, v := range crd.Spec.Versions {
		if t.listed = append(t.listed, v.Name); v.Served {
			t.served = append(t.served, v.Name)
		}
	}
	return t.staysAt(t.listed, t.served)
}

// Own is the same CRD for one who asks for these versions alone: all others that it lists stay.
func (t Target) Own(leaving []string) Target {
	t.Leaving = words.Distinct(leaving)
	return t.staysAt(t.listed, t.served)
}

// staysAt keeps, of the versions that a CRD lists and serves, those that do not leave.
func (t Target) staysAt(listed, served []string) Target {
	t.Staying, t.Served = leaveOut(t.Leaves, listed), leaveOut(t.Leaves, served)
	return t
}

func leavingOf(crd *apiextensionsv1.CustomResourceDefinition, asked []string, removals []v1alpha1.VersionRemoval) ([]string, From) {
	if len(asked) > 0 {
		return words.Distinct(asked), Asked
	}
	var leaving []string
	for i := range removals {
		if removals[i].Spec.CRDName == crd.Name {
			leaving = append(leaving, removals[i].Spec.Versions...)
		}
	}
	listed := crds.Versions(crd)
	more := slices.DeleteFunc(slices.Clone(listed), func(v string) bool { return v == crds.StorageVersion(crd) })
	inUse := slices.ContainsFunc(leaving, func(v string) bool { return slices.Contains(listed, v) })
	if inUse || len(more) == 0 && len(leaving) > 0 {
		return words.Distinct(leaving), Removals
	}
	return append([]string{}, words.Distinct(slices.Concat(leaving, more))...), NotStored // what VersionRemovals name has left already
}

// With is the same CRD with more versions that leave.
func (t Target) With(leaving []string) Target {
	t.Leaving = words.Distinct(slices.Concat(t.Leaving, leaving))
	return t.staysAt(t.Staying, t.Served)
}

// isKind reports whether objects of a kind belong to the CRD. A kind that is not known may. Clients that map kinds to resources,
// the garbage collector among them, take a kind in lower case for the same (k8s.io/client-go/restmapper, NewDiscoveryRESTMapper).
func (t *Target) isKind(kind string) bool {
	return kind == "" || slices.ContainsFunc(t.Kinds, func(own string) bool { return strings.EqualFold(own, kind) })
}

// isResource reports whether one of some resources, as rules write them, belongs to the CRD.
func (t *Target) isResource(resources []string) bool {
	return len(resources) == 0 || slices.ContainsFunc(resources, func(resource string) bool {
		plural, _, _ := strings.Cut(resource, "/")
		return plural == t.Plural || plural == "*"
	})
}

// Leaves reports whether a version is to be removed.
func (t *Target) Leaves(version string) bool { return slices.Contains(t.Leaving, version) }
