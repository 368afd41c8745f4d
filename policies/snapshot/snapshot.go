package snapshot

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The format. A change that an older Moult would misread gets another version.
const (
	Group      = "preview.moult.dev"
	APIVersion = Group + "/v1alpha1"
	Kind       = "ClusterSnapshot"
)

// Snapshot is what one cluster showed. Times are to the second.
type Snapshot struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is what the person who took the snapshot calls the cluster.
	Cluster string `json:"cluster"`
	// Digest is that of everything else in here, as Sum counts it. Without it, a CRD that is missing from the middle of
	// a file would look like one that the cluster does not have. Write puts it in.
	Digest string `json:"digest,omitempty"`
	// TakenAt is when reading began: everything in here was the case then or later.
	TakenAt time.Time `json:"takenAt"`
	// ServerVersion is the API server's, MoultVersion the one that took the snapshot.
	ServerVersion string `json:"serverVersion,omitempty"`
	MoultVersion  string `json:"moultVersion,omitempty"`
	// LabelKey opts CRDs in to the Moult that was asked about, and FieldManager is that Moult's in managedFields.
	LabelKey     string `json:"labelKey"`
	FieldManager string `json:"fieldManager"`
	// NamesLeftOut: no object is named in here.
	NamesLeftOut bool `json:"namesLeftOut,omitempty"`

	// Named are the CRDs that were asked for; empty if all were. One that is named and not in CRDs does not exist, or
	// is in NotRead.
	Named []string `json:"named,omitempty"`
	// CRDs are sorted by name.
	CRDs []CRD `json:"crds,omitempty"`
	// Removals are the VersionRemovals of these CRDs, sorted by namespace and name.
	Removals []Removal `json:"removals,omitempty"`
	// Metrics is set when the metrics of an API server were read.
	Metrics *Metrics `json:"metrics,omitempty"`
	// NotRead is what could not be read, or was left out on purpose.
	NotRead []NotRead `json:"notRead,omitempty"`
}

// Metrics says what the counts of requests are worth: those of one API server, perhaps of several.
type Metrics struct {
	// Since is when the API server that answered was started, nil if it did not say.
	Since *time.Time `json:"since,omitempty"`
}

// What can be not read. The set is closed.
type What string

const (
	// CRDs: the list of all CRDs, or the rest of it.
	CRDs What = "crds"
	// OneCRD: the CRD that NotRead names.
	OneCRD What = "crd"
	// ObjectsOfCRD: the metadata of the objects of the CRD that NotRead names.
	ObjectsOfCRD What = "objects"
	// FieldsOfCRD: which fields the objects of the CRD that NotRead names have.
	FieldsOfCRD What = "fields"
	// Removals: the VersionRemovals.
	Removals What = "removals"
	// References: what else names versions of the CRDs.
	References What = "references"
	// APIServerMetrics: who still requests or watches which version.
	APIServerMetrics What = "metrics"
)

// NotRead is one thing that is not known, and why.
type NotRead struct {
	What What `json:"what"`
	// CRD is set with OneCRD, ObjectsOfCRD and FieldsOfCRD.
	CRD string `json:"crd,omitempty"`
	// Why is a sentence without a full stop.
	Why string `json:"why"`
	// Rule would grant what is missing; nil if no permission is.
	Rule *rbacv1.PolicyRule `json:"rule,omitempty"`
}

// notRead finds what says that something is not known; nil if nothing does.
func (s *Snapshot) notRead(what What, crd string) *NotRead {
	return find(s.NotRead, func(n *NotRead) bool { return n.What == what && n.CRD == crd })
}

// CRD finds a CRD by its name; nil if it is not in the snapshot.
func (s *Snapshot) CRD(name string) *CRD {
	return find(s.CRDs, func(c *CRD) bool { return c.Name == name })
}

// find is the first that is wanted, nil if none is.
func find[T any](all []T, wanted func(*T) bool) *T {
	for i := range all {
		if wanted(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Lacks reports whether the snapshot shows that the cluster does not have a CRD.
func (s *Snapshot) Lacks(name string) bool { return s.CRD(name) == nil && s.whyAbsent(name) == "" }
