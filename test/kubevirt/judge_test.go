package kubevirt

import (
	stdjson "encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kubevirt.io/api/instancetype/v1alpha1"
	"kubevirt.io/api/instancetype/v1alpha2"
	"kubevirt.io/api/instancetype/v1beta1"
	"sigs.k8s.io/json"
)

const group = "instancetype.kubevirt.io"

// resolved is what KubeVirt gets from a stashed copy: an object of v1beta1. It is what DecodeControllerRevision of KubeVirt
// 1.6 does (pkg/instancetype/compatibility), with the types and the conversions of kubevirt.io/api.
func resolved(raw []byte) (any, error) {
	if object := bare(raw); object != nil {
		return object, nil
	}
	meta := metav1.TypeMeta{}
	if err := stdjson.Unmarshal(raw, &meta); err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(meta.APIVersion)
	if err != nil || gv.Group != group {
		return nil, fmt.Errorf("apiVersion %q", meta.APIVersion)
	}
	object, err := decoded(gv.Version, meta.Kind, raw)
	if err != nil {
		return nil, err
	}
	switch o := object.(type) {
	case *v1beta1.VirtualMachineInstancetype:
		o.TypeMeta = metav1.TypeMeta{}
	case *v1beta1.VirtualMachineClusterInstancetype:
		o.TypeMeta = metav1.TypeMeta{}
	case *v1beta1.VirtualMachinePreference:
		o.TypeMeta = metav1.TypeMeta{}
	case *v1beta1.VirtualMachineClusterPreference:
		o.TypeMeta = metav1.TypeMeta{}
	}
	return object, nil
}

func decoded(version, kind string, raw []byte) (any, error) {
	switch version + " " + kind {
	case "v1alpha1 VirtualMachineInstancetype":
		return converted(raw, v1alpha1.Convert_v1alpha1_VirtualMachineInstancetype_To_v1beta1_VirtualMachineInstancetype)
	case "v1alpha1 VirtualMachineClusterInstancetype":
		return converted(raw, v1alpha1.Convert_v1alpha1_VirtualMachineClusterInstancetype_To_v1beta1_VirtualMachineClusterInstancetype)
	case "v1alpha1 VirtualMachinePreference":
		return converted(raw, v1alpha1.Convert_v1alpha1_VirtualMachinePreference_To_v1beta1_VirtualMachinePreference)
	case "v1alpha1 VirtualMachineClusterPreference":
		return converted(raw, v1alpha1.Convert_v1alpha1_VirtualMachineClusterPreference_To_v1beta1_VirtualMachineClusterPreference)
	case "v1alpha2 VirtualMachineInstancetype":
		return converted(raw, v1alpha2.Convert_v1alpha2_VirtualMachineInstancetype_To_v1beta1_VirtualMachineInstancetype)
	case "v1alpha2 VirtualMachineClusterInstancetype":
		return converted(raw, v1alpha2.Convert_v1alpha2_VirtualMachineClusterInstancetype_To_v1beta1_VirtualMachineClusterInstancetype)
	case "v1alpha2 VirtualMachinePreference":
		return converted(raw, v1alpha2.Convert_v1alpha2_VirtualMachinePreference_To_v1beta1_VirtualMachinePreference)
	case "v1alpha2 VirtualMachineClusterPreference":
		return converted(raw, v1alpha2.Convert_v1alpha2_VirtualMachineClusterPreference_To_v1beta1_VirtualMachineClusterPreference)
	case "v1beta1 VirtualMachineInstancetype":
		return typed[v1beta1.VirtualMachineInstancetype](raw)
	case "v1beta1 VirtualMachineClusterInstancetype":
		return typed[v1beta1.VirtualMachineClusterInstancetype](raw)
	case "v1beta1 VirtualMachinePreference":
		return typed[v1beta1.VirtualMachinePreference](raw)
	case "v1beta1 VirtualMachineClusterPreference":
		return typed[v1beta1.VirtualMachineClusterPreference](raw)
	}
	return nil, fmt.Errorf("%s is not known at %s", kind, version)
}

func typed[T any](raw []byte) (*T, error) {
	object := new(T)
	return object, json.UnmarshalCaseSensitivePreserveInts(raw, object)
}

func converted[Old, New, Scope any](raw []byte, convert func(*Old, *New, Scope) error) (*New, error) {
	old, err := typed[Old](raw)
	if err != nil {
		return nil, err
	}
	object, none := new(New), *new(Scope)
	if err := convert(old, object, none); err != nil {
		return nil, err
	}
	return typed2(object)
}

// typed2 sends an object through JSON, as it goes on its way to the API server and back.
func typed2[T any](object *T) (*T, error) {
	raw, err := stdjson.Marshal(object)
	if err != nil {
		return nil, err
	}
	return typed[T](raw)
}

// bare is a copy that has no kind; nil if it is none.
func bare(raw []byte) any {
	if spec := strictly[v1alpha1.VirtualMachinePreferenceSpec](raw); spec != nil {
		old := &v1alpha1.VirtualMachinePreference{ObjectMeta: metav1.ObjectMeta{Name: "old-version-of-preference-object"}, Spec: *spec}
		object := &v1beta1.VirtualMachinePreference{}
		if err := v1alpha1.Convert_v1alpha1_VirtualMachinePreference_To_v1beta1_VirtualMachinePreference(old, object, nil); err != nil {
			panic(err)
		}
		return object
	}
	if spec := strictly[v1alpha1.VirtualMachineInstancetypeSpec](raw); spec != nil {
		old := &v1alpha1.VirtualMachineInstancetype{ObjectMeta: metav1.ObjectMeta{Name: "old-version-of-instancetype-object"}, Spec: *spec}
		object := &v1beta1.VirtualMachineInstancetype{}
		if err := v1alpha1.Convert_v1alpha1_VirtualMachineInstancetype_To_v1beta1_VirtualMachineInstancetype(old, object, nil); err != nil {
			panic(err)
		}
		return object
	}
	return nil
}

func strictly[Spec any](raw []byte) *Spec {
	around := struct {
		APIVersion string `json:"apiVersion"`
		Spec       []byte `json:"spec"`
	}{}
	spec := new(Spec)
	for _, step := range []func() ([]error, error){
		func() ([]error, error) { return json.UnmarshalStrict(raw, &around) },
		func() ([]error, error) { return json.UnmarshalStrict(around.Spec, spec) },
	} {
		if strict, err := step(); len(strict) > 0 || err != nil {
			return nil
		}
	}
	return spec
}
