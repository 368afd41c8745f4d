package crd

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Is reports whether objects of an apiVersion and a kind are CRDs, of whichever version of the API.
func Is(apiVersion, kind string) bool {
	return schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind() == schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// StorageVersion is the version that new objects are stored at, empty if the CRD names none, which no API server accepts.
func StorageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	name, err := apihelpers.GetCRDStorageVersion(crd)
	if err != nil {
		return ""
	}
	return name
}

// StoredAt is a copy of a CRD that stores at a version.
func StoredAt(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
	}
	return crd
}

// Versions are the names of those that a CRD lists.
func Versions(crd *apiextensionsv1.CustomResourceDefinition) []string {
	return namesOf(crd, func(apiextensionsv1.CustomResourceDefinitionVersion) bool { return true })
}

// ServedBeside are the versions that are served, other than one.
func ServedBeside(crd *apiextensionsv1.CustomResourceDefinition, version string) []string {
	return namesOf(crd, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served && v.Name != version })
}

// Served are the versions that are served.
func Served(crd *apiextensionsv1.CustomResourceDefinition) []string { return ServedBeside(crd, "") }

// Unserved are the versions that are listed and not served.
func Unserved(crd *apiextensionsv1.CustomResourceDefinition) []string {
	return namesOf(crd, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
}

func namesOf(crd *apiextensionsv1.CustomResourceDefinition, wanted func(apiextensionsv1.CustomResourceDefinitionVersion) bool) (names []string) {
	for _, v := range crd.Spec.Versions {
		if wanted(v) {
			names = append(names, v.Name)
		}
	}
	return names
}

// Leaving are the versions that a CRD has before a change and not after it, in their order. Of a CRD that comes or goes as
// a whole, none leaves.
func Leaving(before, after *apiextensionsv1.CustomResourceDefinition) []string {
	if before == nil || after == nil {
		return nil
	}
	var leaving []string
	for _, was := range before.Spec.Versions {
		if !Has(after, was.Name) && !slices.Contains(leaving, was.Name) {
			leaving = append(leaving, was.Name)
		}
	}
	return leaving
}

// StopsServing are the versions that a CRD serves before a change, and lists after it without serving them.
func StopsServing(before, after *apiextensionsv1.CustomResourceDefinition) []string {
	if before == nil || after == nil {
		return nil
	}
	return namesOf(after, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		was := Version(before, v.Name)
		return !v.Served && was != nil && was.Served
	})
}

// Has reports whether a CRD lists a version.
func Has(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return Version(crd, version) != nil
}

// Version is the entry of spec.versions of that name, the first if a manifest has several; nil if there is none.
func Version(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// HasStatus reports whether a version has the status subresource: then no write but those to it changes status.
func HasStatus(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	sub, err := apihelpers.GetSubresourcesForVersion(crd, version)
	return err == nil && sub != nil && sub.Status != nil
}

// HasWebhook reports whether a webhook converts between the versions.
func HasWebhook(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}
