package doctor

import (
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/finding"
)

// Known is a fact, or why it is not one.
type Known[T any] struct {
	Value T
	// Not says why nothing is known; empty if something is.
	Not string
	// NotAsked: it is not known because no flag asks for it, or because it is about something that is not in the cluster.
	NotAsked bool
}

// ClusterState is what a cluster shows.
type ClusterState struct {
	Now time.Time
	// LabelKey opts CRDs in to the Moult in question, and FieldManager is that Moult's in managedFields.
	LabelKey, FieldManager string
	// Server is the API server's version, as in v1.36.3.
	Server Known[string]
	// CRDs are those to examine: the opted-in ones, or those a person has named.
	CRDs []ExaminedCRD
	// Namespaces are all that exist.
	Namespaces Known[[]string]
	Controller Controller
	// Gates are the VersionRemovals of these CRDs.
	Gates Known[[]v1alpha1.VersionRemoval]
	// Migrations are other migrators' objects; of any resource.
	Migrations []Known[[]Migration]
	// ArgoCD is what Argo CD has been told about health; no keys at all if there is no Argo CD.
	ArgoCD Known[[]lua.Entry]
	// Releases are all stored revisions of Helm's releases.
	Releases Known[[]Release]
	// ReleasesNotSeen says which of them could not be read, and why.
	ReleasesNotSeen []string
}

// ExaminedCRD is one CustomResourceDefinition and what was seen of its objects.
type ExaminedCRD struct {
	*apiextensionsv1.CustomResourceDefinition
	Terminating Known[[]Terminating]
	// Unreadable are those that the API server cannot read from etcd. As long as there are some, it lists none.
	Unreadable Known[[]Unreadable]
	// Aggregated are the served versions for which another API server answers.
	Aggregated Known[[]Aggregated]
	// In reports how many objects lie in each Namespace.
	In Known[map[string]int]
	// Writable: RBAC lets the controller write the status.
	Writable Known[bool]
}

// Terminating is an object that is being deleted.
type Terminating struct {
	Name       string // with the namespace in front
	Since      time.Time
	Finalizers []string
}

// Unreadable is an object that the API server cannot read.
type Unreadable struct {
	// Name has the namespace in front. It is empty if the API server does not name the object.
	Name string
	// Behind is then the object in front of it, in the order of namespaces and names; empty if it is the first.
	Behind string
	// Why is what the API server says.
	Why string
}

// Migration is an object that makes another migrator work.
type Migration struct {
	// API is the migrator's group, and Name the object's.
	API, Name string
	Resource  schema.GroupResource
	Ended     bool
	// Failed is how it has failed; empty if it has not.
	Failed string
	// Changed is when its last condition changed; zero if that is not known.
	Changed time.Time
}

func (c ExaminedCRD) resource() schema.GroupResource {
	return schema.GroupResource{Group: c.Spec.Group, Resource: c.Spec.Names.Plural}
}

func (c ExaminedCRD) at(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: c.Spec.Group, Version: version, Kind: c.Spec.Names.Kind}
}

// older are all versions but the storage version: those that could be removed.
func (c ExaminedCRD) older() (versions []string) {
	for _, v := range c.Spec.Versions {
		if !v.Storage {
			versions = append(versions, v.Name)
		}
	}
	return versions
}

// leaving are the versions that VersionRemovals name.
func (c ClusterState) leaving(crd ExaminedCRD) (versions []string) {
	for _, gate := range c.Gates.Value {
		if gate.Spec.CRDName == crd.Name {
			versions = append(versions, gate.Spec.Versions...)
		}
	}
	return versions
}

// all is what is found about each CRD.
func (c ClusterState) all(find func(ExaminedCRD) []finding.Finding) (findings []finding.Finding) {
	for _, crd := range c.CRDs {
		findings = append(findings, find(crd)...)
	}
	return findings
}

// mostNamed is how many objects, Namespaces or the like a finding names.
const mostNamed = 5

// each is the result of what is found about each CRD by a fact about it, as far as that is known. Evidence is reported
// if nothing is found.
func each[T any](c ClusterState, evidence string, fact func(ExaminedCRD) Known[T], find func(ExaminedCRD, T) []finding.Finding) Result {
	r, seen := Result{Evidence: evidence}, 0
	for _, crd := range c.CRDs {
		known := fact(crd)
		if known.Not != "" {
			r.NotSeen = append(r.NotSeen, known.Not)
			continue
		}
		seen++
		r.Findings = append(r.Findings, find(crd, known.Value)...)
	}
	if seen == 0 && len(r.NotSeen) > 0 {
		return notRun(strings.Join(r.NotSeen, "; "))
	}
	return r
}
