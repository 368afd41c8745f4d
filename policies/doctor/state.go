package doctor

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
)

// Known is a fact, or why it is not one.
type Known[T any] struct {
	Value T
	// Not says why nothing is known; empty if something is.
	Not string
}

// Patient is what a cluster shows.
type Patient struct {
	Now time.Time
	// LabelKey opts CRDs in to the Moult in question, and FieldManager is that Moult's in managedFields.
	LabelKey, FieldManager string
	// Server is the API server's version, as in v1.36.3.
	Server Known[string]
	// CRDs are those to examine: the opted-in ones, or those a person has named.
	CRDs []CRD
	// Namespaces are all that exist.
	Namespaces Known[[]string]
	Controller Controller
	// Gates are the VersionRemovals of these CRDs.
	Gates Known[[]v1alpha1.VersionRemoval]
	// Migrations are other migrators' objects; of any resource.
	Migrations []Known[[]Migration]
	// ArgoCD is what Argo CD has been told about health; no keys at all if there is no Argo CD.
	ArgoCD Known[[]ArgoCDKey]
	// Releases are all stored revisions of Helm's releases.
	Releases Known[[]Release]
	// ReleasesNotSeen says which of them could not be read, and why.
	ReleasesNotSeen []string
}

// CRD is one CustomResourceDefinition and what was seen of its objects.
type CRD struct {
	*apiextensionsv1.CustomResourceDefinition
	Dying Known[[]Dying]
	// Aggregated are the served versions for which another API server answers.
	Aggregated Known[[]Aggregated]
	// In tells how many objects lie in each Namespace.
	In Known[map[string]int]
	// Writable: RBAC lets the controller write the status.
	Writable Known[bool]
}

// Dying is an object that is being deleted.
type Dying struct {
	Name       string // with the namespace in front
	Since      time.Time
	Finalizers []string
}

// Migration is an object by which another migrator is told to work.
type Migration struct {
	// API is the migrator's group, and Name the object's.
	API, Name string
	Resource  schema.GroupResource
	Ended     bool
}

// ArgoCDKey is a key of the ConfigMap argocd-cm.
type ArgoCDKey struct {
	Key string
	// Good: it is as it should be, or not needed.
	Good bool
	// State, Meaning and Mend are words for people.
	State, Meaning, Mend string
}

// storageVersion is the version new objects are stored at.
func (c CRD) storageVersion() string { return crds.StorageVersion(c.CustomResourceDefinition) }

func (c CRD) resource() schema.GroupResource {
	return schema.GroupResource{Group: c.Spec.Group, Resource: c.Spec.Names.Plural}
}

func (c CRD) at(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: c.Spec.Group, Version: version, Kind: c.Spec.Names.Kind}
}

func (c CRD) lists(version string) bool { return crds.Has(c.CustomResourceDefinition, version) }

// older are all versions but the storage version: those that could be removed.
func (c CRD) older() (versions []string) {
	for _, v := range c.Spec.Versions {
		if !v.Storage {
			versions = append(versions, v.Name)
		}
	}
	return versions
}

// leaving are the versions that VersionRemovals name.
func (p Patient) leaving(crd CRD) (versions []string) {
	for _, gate := range p.Gates.Value {
		if gate.Spec.CRDName == crd.Name {
			versions = append(versions, gate.Spec.Versions...)
		}
	}
	return versions
}

// all makes one result of what is found about each CRD.
func (p Patient) all(find func(CRD) []finding.Finding) (findings []finding.Finding) {
	for _, crd := range p.CRDs {
		findings = append(findings, find(crd)...)
	}
	return findings
}
