package manifests

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/moult-dev/moult/policies/crdschema"
)

// Plan is what manifests are to become, by their group and kind.
type Plan map[GroupKind]*Target

// Target is the CRD of a kind, and which of its versions manifests are to leave.
type Target struct {
	// CRD is the name of the CustomResourceDefinition, To its storage version.
	CRD, To string

	kind     GroupKind
	webhook  bool
	leave    []string
	versions map[string]*version
}

// version is one entry of spec.versions, with its schema; nil if it has none or keeps what it does not know.
type version struct {
	schema    *structural.Structural
	defaults  *crdschema.Defaults
	validator validation.SchemaValidator
	hasStatus bool
}

// TargetOf makes a Target of a CRD. Manifests are to leave the versions in from, those that the CRD marks as deprecated
// or does not serve, and any that it does not list. The storage version is never one of them.
func TargetOf(crd *apiextensionsv1.CustomResourceDefinition, from ...string) (*Target, error) {
	t := &Target{CRD: crd.Name, kind: GroupKind{crd.Spec.Group, crd.Spec.Names.Kind}, versions: map[string]*version{}, leave: from}
	t.webhook = crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		known, err := versionOf(v, crd.Spec.PreserveUnknownFields)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s at %s cannot be used: %w", crd.Name, v.Name, err)
		}
		t.versions[v.Name] = known
		switch {
		case v.Storage:
			t.To = v.Name
		case v.Deprecated, !v.Served:
			t.leave = append(t.leave, v.Name)
		}
	}
	if t.To == "" {
		return nil, fmt.Errorf("%s has no storage version", crd.Name)
	}
	return t, nil
}

func versionOf(v *apiextensionsv1.CustomResourceDefinitionVersion, keepsAll bool) (*version, error) {
	known := &version{hasStatus: v.Subresources != nil && v.Subresources.Status != nil}
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil || keepsAll {
		return known, nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil)
	if err != nil {
		return nil, err
	}
	if known.schema, err = structural.NewStructural(internal); err != nil {
		return nil, err
	}
	if known.defaults, err = crdschema.DefaultsOf(known.schema, v.Name); err != nil {
		return nil, err
	}
	known.validator, _, err = validation.NewSchemaValidator(internal)
	return known, err
}

// resource is what kubectl calls the resource at the storage version.
func (t *Target) resource() string {
	plural, group, _ := strings.Cut(t.CRD, ".")
	return plural + "." + t.To + "." + group
}

// Kind is what manifests of it are called.
func (t *Target) Kind() GroupKind { return t.kind }

// leaves reports whether manifests are to leave a version.
func (t *Target) leaves(version string) bool {
	return version != t.To && (slices.Contains(t.leave, version) || t.versions[version] == nil)
}

// Kept are the places that stay at a version which is not the storage version, because it is served and not deprecated. A
// Target that is made with the version in from converts them.
func (p Plan) Kept(files []File) []Reference {
	versions := map[string]bool{}
	for _, t := range p {
		for version := range t.versions {
			if t.keeps(version) {
				versions[version] = true
			}
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		for version := range versions {
			if bytes.Contains(f.Content, []byte(version)) {
				return false
			}
		}
		return true // it is spared the parser
	})
	kept := []Reference{}
	for _, matches := range p.find(candidates, files, p.keeps) {
		for _, m := range matches {
			kept = append(kept, m.Reference)
		}
	}
	return kept
}

// keeps reports whether manifests of a kind stay at a version that is not the storage version.
func (p Plan) keeps(gk GroupKind, version string) bool {
	t := p[gk]
	return t != nil && t.keeps(version)
}

// keeps reports whether manifests stay at a version although it is not the storage version: it is served and not
// deprecated, and --from does not name it.
func (t *Target) keeps(version string) bool {
	return version != t.To && t.versions[version] != nil && !t.leaves(version)
}
