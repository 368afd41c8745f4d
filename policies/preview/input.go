package preview

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/snapshot"
)

// Input is everything a Report is made of.
type Input struct {
	// Base and Head are what is compared, as the caller called them.
	Base, Head string
	// LabelKey opts CRDs in.
	LabelKey string
	// Now serves to report how old snapshots are, and MaxAge is how old they may be without a warning; 0 for any age.
	Now      time.Time
	MaxAge   time.Duration
	Clusters []Delivered
	// Manifests are the places in the repository's files that name a version that leaves.
	Manifests []manifests.Reference
	// MayBeApplied reports whether somebody may apply a file that nothing in the repository leads to, by its name; nil
	// if that is impossible, because the entry points are named.
	MayBeApplied func(file string) bool
	// Changed are the files that change, by their names.
	Changed []string
	// Unread are the files that change and that nothing which may be applied is made of, by their names.
	Unread []string
	// Findings are those of the caller.
	Findings []finding.Finding
	// Acknowledgements are those that count: the base's, unless the caller trusts the head.
	Acknowledgements Acknowledgements
}

// Delivered is what one cluster gets from the repository, and what is known about it.
type Delivered struct {
	// Name is the entry point, or what the caller calls the cluster.
	Name       string
	Base, Head Side
	// NoCluster: these are the CRDs of a repository's files, and nothing says to which cluster they are applied.
	NoCluster bool
	// Held: these are CRDs that objects of a cluster hold for somebody else, so a snapshot of the cluster says nothing about them.
	Held bool
	// KnownBefore are the names of all CRDs of the base, wherever they lie; only with NoCluster.
	KnownBefore []string
	// Findings are about what Flux and Argo CD apply of the head.
	Findings []finding.Finding
	// Snapshot is nil if nothing is known about the cluster, and Source says where it comes from.
	Snapshot *snapshot.Snapshot
	Source   string
	// Snapshots is how many clusters of the entry point something is known of, this one among them.
	Snapshots int
}

// Side is one state of the repository, as a cluster gets it.
type Side struct {
	// CRDs have names of their own.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// Undeclared are the fields of each CRD's manifest that no CRD has, by the CRD's name (change.DecodeStrictly).
	Undeclared map[string][]string
	// Cluster is all that the cluster gets, and what applies it.
	Cluster delivery.Cluster

	unreadable map[string]bool // CRDs by their names
}

// crd finds a CRD by its name; nil if there is none.
func (s Side) crd(name string) *apiextensionsv1.CustomResourceDefinition {
	i := slices.IndexFunc(s.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name == name })
	if i < 0 {
		return nil
	}
	return s.CRDs[i]
}
