package archive

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// format is that of Manifest, and withMissing that of one with Missing, which an older program would take for damaged.
const format, withMissing = 1, 2

// Manifest is what a backup says of itself, in its last file.
type Manifest struct {
	Format int `json:"format"`
	// Time is when the backup was begun: what was written later need not be in it.
	Time time.Time `json:"time"`
	// Cluster is the UID of the namespace kube-system; empty if that may not be read.
	Cluster types.UID   `json:"cluster,omitempty"`
	CRDs    []CRDReport `json:"crds"`
	// Files is how many lie before the manifest, but for those with SHA-256.
	Files int64 `json:"files"`
}

// CRDReport is what a backup has of one CRD.
type CRDReport struct {
	Name           string    `json:"name"`
	UID            types.UID `json:"uid"`
	Generation     int64     `json:"generation"`
	StorageVersion string    `json:"storageVersion"`
	StoredVersions []string  `json:"storedVersions"`
	// Objects is how many there are, each at all Versions but for those that are Missing.
	Objects  int64    `json:"objects"`
	Versions []string `json:"versions"`
	// NotRead are versions that objects may be stored at and that were not read.
	NotRead []string `json:"notRead,omitempty"`
	// Missing are objects that could not be read at some of Versions.
	Missing []Missing `json:"missing,omitempty"`
	// ResourceVersion is that of the list; empty if it could not be read at a single one.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Missing is an object that could not be read at some versions; one without any is not in the file.
type Missing struct {
	// Object is namespace/name, or the name.
	Object string   `json:"object"`
	At     []string `json:"at"`
	Why    string   `json:"why"`
}

// MissingAt are the objects that are not in the file at a version.
func (of CRDReport) MissingAt(version string) (missing []Missing) {
	for _, m := range of.Missing {
		if slices.Contains(m.At, version) {
			missing = append(missing, m)
		}
	}
	return missing
}

// crdKind is what CRDs are in a file; the API server leaves it out in some answers.
var crdKind = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}

// crdResource is the folder of CRDs.
const crdResource = "customresourcedefinitions." + apiextensionsv1.GroupName
