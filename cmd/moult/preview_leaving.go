package main

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	manifest "github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
)

// leavingVersions are those that some cluster loses by Git, by the kind of the objects, with what manifests are to become.
// The schemas are not compared for it, which takes longer than all the rest and is done by the preview itself.
func leavingVersions(clusters []preview.Delivered) (manifest.Plan, map[manifest.GroupKind][]string) {
	plan, leaving := manifest.Plan{}, map[manifest.GroupKind][]string{}
	for _, d := range clusters {
		before := map[string]*apiextensionsv1.CustomResourceDefinition{}
		for _, crd := range d.Base.CRDs {
			before[crd.Name] = crd
		}
		for _, crd := range d.Head.CRDs {
			gone := versionsGone(before[crd.Name], crd)
			if len(gone) == 0 {
				continue
			}
			target, err := manifest.TargetOf(crd, gone...)
			if err != nil {
				continue // a CRD without a storage version; the API server refuses it
			}
			kind := target.Kind()
			plan[kind] = target
			leaving[kind] = slices.Concat(leaving[kind], gone)
		}
	}
	return plan, leaving
}

// versionsGone are the versions of a CRD that it does not have any more.
func versionsGone(base, head *apiextensionsv1.CustomResourceDefinition) []string {
	if base == nil {
		return nil
	}
	var gone []string
	for _, was := range base.Spec.Versions {
		if !slices.ContainsFunc(head.Spec.Versions, func(is apiextensionsv1.CustomResourceDefinitionVersion) bool { return is.Name == was.Name }) {
			gone = append(gone, was.Name)
		}
	}
	return gone
}
