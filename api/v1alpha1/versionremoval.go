package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VersionRemoval says that versions of a CustomResourceDefinition are to go. It becomes Ready when every object is
// proved to be stored at the storage version and no managedFields named the versions when Moult looked last. The
// message of Ready has the time of that look. Whether other objects of the cluster name the versions is looked at where
// Moult is allowed to, and holds the removal back if spec.require asks for that. Manifests in Git, backups and running
// clients are not looked at. It lives in Git beside the CRD, in an earlier sync wave (Argo CD), or in a Kustomization
// that the CRD's Kustomization depends on (Flux). So the commit that removes the versions waits. It only asks: Moult
// writes nothing because of it that the CRD's opt-in label does not allow.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=versionremovals,singular=versionremoval,shortName=vr,categories=moult,scope=Namespaced
// +kubebuilder:metadata:labels="moult.dev/migrate=true"
// +kubebuilder:printcolumn:name="CRD",type=string,JSONPath=`.spec.crdName`
// +kubebuilder:printcolumn:name="Versions",type=string,JSONPath=`.spec.versions`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type VersionRemoval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec VersionRemovalSpec `json:"spec"`

	// The default makes kstatus (Flux) wait for the first status: an object
	// without any counts as current.
	//
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status VersionRemovalStatus `json:"status,omitempty"`
}

// VersionRemovalSpec is what is to go, and what else has to be the case first.
type VersionRemovalSpec struct {
	// CRDName is the name of the CustomResourceDefinition, for example
	// widgets.example.com. It cannot be changed: make another VersionRemoval.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="crdName cannot be changed; make another VersionRemoval"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$')",message="crdName is the plural and the group, for example widgets.example.com"
	// +required
	CRDName string `json:"crdName"`

	// Versions are the versions that are to go, for example v1alpha1. For the
	// next removal make another VersionRemoval, in the commit that removes the
	// versions: with ApplyOutOfSyncOnly=true, Argo CD does not wait for what it
	// sees no change in.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",message="each version may be named once only"
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +listType=atomic
	// +required
	Versions []string `json:"versions"`

	// Require names what must be the case beside safe storage. What is not
	// named here is a warning only. Unserved is recommended: as long as a version
	// is served, a client may write at it after the last look.
	//
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	// +optional
	Require []Requirement `json:"require,omitempty"`

	// QuietPeriod is how long no field manager may have written at one of the versions, as far as managedFields show. 0
	// asks for nothing. It holds the removal back only if require names Quiet.
	//
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="quietPeriod cannot be negative"
	// +optional
	QuietPeriod metav1.Duration `json:"quietPeriod,omitempty"`
}

// Requirement is something that can hold a removal back beside what is stored.
//
// +kubebuilder:validation:Enum=Unserved;Quiet;NoReferences;NoStashes;Backup
type Requirement string

const (
	// Unserved: none of the versions is served any more, and no API server can
	// still take a write at one.
	Unserved Requirement = "Unserved"
	// Quiet: no field manager has written at one of the versions for spec.quietPeriod, as seen when that time was over.
	Quiet Requirement = "Quiet"
	// NoReferences: no other object of the cluster names one of the versions, at the
	// places of docs/survivors.md, where that has an effect worse than cosmetic.
	NoReferences Requirement = "NoReferences"
	// NoStashes: no object of the CRD is kept whole at one of the versions inside of
	// another object, at the places of docs/survivors.md.
	NoStashes Requirement = "NoStashes"
	// Backup: `moult backup --annotate` has taken a backup of the CRD as it is now: of
	// the same UID, generation and storage version, so after the last flip.
	Backup Requirement = "Backup"
)

// VersionRemovalStatus is what Moult sees and who has to act. Its conditions
// follow kstatus: Ready, Reconciling (being worked on, or waiting for something
// that can clear by itself) and Stalled (a commit is needed).
type VersionRemovalStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// StoredVersions are the CRD's, as last seen.
	//
	// +listType=atomic
	// +optional
	StoredVersions []string `json:"storedVersions,omitempty"`

	// Proof is the CRD that was proved safe, while Ready says SafeToRemove.
	//
	// +optional
	Proof *ProofStatus `json:"proof,omitempty"`

	// StoredAt is at which versions objects may be stored. If the CRD goes, this is
	// all that is known of objects that may be left in etcd.
	//
	// +optional
	StoredAt *StoredAtStatus `json:"storedAt,omitempty"`

	// Progress counts the objects of the walk under way, or of the last one.
	//
	// +optional
	Progress *ProgressStatus `json:"progress,omitempty"`

	// Blockers are what holds the removal back, at most 20.
	//
	// +listType=atomic
	// +optional
	Blockers []Blocker `json:"blockers,omitempty"`

	// Warnings are what may surprise after the removal but does not hold it
	// back, at most 20.
	//
	// +listType=atomic
	// +optional
	Warnings []Blocker `json:"warnings,omitempty"`

	// LastWriteAt is the latest write at one of the versions that was seen in
	// managedFields. The entries themselves have been moved since.
	//
	// +optional
	LastWriteAt *metav1.Time `json:"lastWriteAt,omitempty"`

	// LastHandledReconcileAt is the value of the annotation
	// reconcile.fluxcd.io/requestedAt that was answered last: by a look that
	// began after it and has ended, or because nothing can be looked at.
	//
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
}

// GetConditions and SetConditions let fluxcd/pkg/runtime work with the
// conditions.
func (v *VersionRemoval) GetConditions() []metav1.Condition { return v.Status.Conditions }

// SetConditions replaces the conditions.
func (v *VersionRemoval) SetConditions(c []metav1.Condition) { v.Status.Conditions = c }

// ProofStatus is what a proof is about.
type ProofStatus struct {
	UID            string `json:"uid"`
	Generation     int64  `json:"generation"`
	StorageVersion string `json:"storageVersion"`
	// SurveyedAt is when the look through all managedFields began that the gate
	// names. What was written later it may have missed.
	//
	// +optional
	SurveyedAt *metav1.Time `json:"surveyedAt,omitempty"`
	// ReferencesAt is when the look through the cluster began that found nothing
	// else that names the versions, if spec.require asks for one.
	//
	// +optional
	ReferencesAt *metav1.Time `json:"referencesAt,omitempty"`
}

// AnyVersion in status.storedAt.versions is any version.
const AnyVersion = "*"

// StoredAtStatus is what was seen of the objects of a CRD. Without a generation, it
// has gone; without a UID, too, there has been none.
type StoredAtStatus struct {
	// +kubebuilder:validation:MaxLength=128
	// +optional
	UID string `json:"uid,omitempty"`
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Versions are those at which objects may be stored: the storage version alone
	// once each object is proved, and "*" if it is not known which.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Versions []string `json:"versions,omitempty"`
	// Complete is set if a proof has shown that there are no others, and each change
	// was seen since.
	//
	// +optional
	Complete bool `json:"complete,omitempty"`
}

// ProgressStatus counts objects.
type ProgressStatus struct {
	Total  int64 `json:"total"`
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// Summary is the same for people, for example "400/1000".
	Summary string `json:"summary"`
}

// Blocker is one thing that holds the removal back.
type Blocker struct {
	// Kind is a reason of the Ready condition, or the name of the place that names
	// a version, for example owner-references.
	Kind string `json:"kind"`
	// Message says what is the case.
	Message string `json:"message"`
	// Action says who has to do what; empty if nothing has to be done.
	//
	// +optional
	Action string `json:"action,omitempty"`
}

// VersionRemovalList is a list of VersionRemovals.
//
// +kubebuilder:object:root=true
type VersionRemovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VersionRemoval `json:"items"`
}
