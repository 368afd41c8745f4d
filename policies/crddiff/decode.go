package crddiff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// Decode reads a CRD. Fields that it does not know are left out, as a newer Kubernetes may know them. The error names
// the CRD and the field when the API server could make nothing of it. Examples are a value of the wrong type, a version
// without a name or a schema, no storage version or two.
func Decode(object *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, _, err := DecodeStrictly(object)
	return crd, err
}

// DecodeStrictly is Decode that also lists the fields that it has left out, as paths such as spec.versions[0].storag.
// They are those that a server-side apply and strict validation of fields refuse. What is in items and in
// additionalProperties is not among them, since the API server's own types decode that leniently.
func DecodeStrictly(object *unstructured.Unstructured) (crd *apiextensionsv1.CustomResourceDefinition, undeclared []string, err error) {
	who := "CustomResourceDefinition " + cmp.Or(object.GetName(), "without a name")
	if version := object.GroupVersionKind().Version; version != "v1" {
		return nil, nil, fmt.Errorf("%s is written as %s, which no API server since Kubernetes 1.22 reads; write it as apiextensions.k8s.io/v1", who, object.GetAPIVersion())
	}
	if err := shallow(object.Object); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", who, err)
	}
	crd = &apiextensionsv1.CustomResourceDefinition{}
	if undeclared, err = strictlyInto(object.Object, crd); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", who, broken(object.Object, err))
	}
	if err := sound(crd); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", who, err)
	}
	return crd, undeclared, nil
}

func into(content, target any) error {
	_, err := strictlyInto(content, target)
	return err
}

// strictlyInto is into that returns the paths of the fields that the target does not have.
func strictlyInto(content, target any) (undeclared []string, err error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	strict, err := kjson.UnmarshalStrict(raw, target, kjson.DisallowUnknownFields)
	for _, one := range strict {
		if at, is := errors.AsType[kjson.FieldError](one); is {
			undeclared = append(undeclared, at.FieldPath())
		}
	}
	return undeclared, err
}

// sound finds what would keep any API server from taking the CRD and us from comparing it.
func sound(crd *apiextensionsv1.CustomResourceDefinition) error {
	switch {
	case crd.Name == "":
		return errors.New("metadata.name is missing")
	case crd.Spec.Group == "":
		return errors.New("spec.group is missing")
	case crd.Spec.Names.Kind == "":
		return errors.New("spec.names.kind is missing")
	case len(crd.Spec.Versions) == 0:
		return errors.New("spec.versions is empty; a CRD has at least one version")
	}
	var names, stored []string
	for i, v := range crd.Spec.Versions {
		switch {
		case v.Name == "":
			return fmt.Errorf("spec.versions[%d].name is missing", i)
		case slices.Contains(names, v.Name):
			return fmt.Errorf("spec.versions[%d].name: %s is there twice", i, v.Name)
		case v.Schema == nil || v.Schema.OpenAPIV3Schema == nil:
			return fmt.Errorf("spec.versions[%d].schema.openAPIV3Schema is missing (%s)", i, v.Name)
		}
		names = append(names, v.Name)
		if v.Storage {
			stored = append(stored, v.Name)
		}
	}
	switch len(stored) {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("spec.versions: none of %s has storage: true", strings.Join(names, ", "))
	default:
		return fmt.Errorf("spec.versions: %s have storage: true, and only one may", strings.Join(stored, ", "))
	}
}
