package main

import (
	"slices"

	crdchange "github.com/moult-dev/moult/policies/change"
	manifest "github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
)

// leavingVersions are those that some cluster loses by Git, by the kind of the objects, with what manifests are to become.
func leavingVersions(clusters []preview.Delivered) (manifest.Plan, map[manifest.GroupKind][]string) {
	plan, leaving := manifest.Plan{}, map[manifest.GroupKind][]string{}
	for _, d := range clusters {
		for _, c := range crdchange.Sets(d.Base.CRDs, d.Head.CRDs, "") {
			if c.Head == nil || len(c.Removed()) == 0 {
				continue
			}
			for _, crd := range d.Head.CRDs {
				if crd.Name != c.Name {
					continue
				}
				target, err := manifest.TargetOf(crd, c.Removed()...)
				if err != nil {
					continue // a CRD without a storage version; the API server refuses it
				}
				kind := target.Kind()
				plan[kind] = target
				leaving[kind] = slices.Concat(leaving[kind], c.Removed())
			}
		}
	}
	return plan, leaving
}
