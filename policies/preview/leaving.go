package preview

import (
	"slices"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/manifests"
)

// Leaving are those that some cluster loses by Git, or stops serving, by the kind of the objects, with what manifests are to become.
// The schemas are not compared for it, which takes longer than all the rest and is done by the preview itself.
func Leaving(clusters []Delivered) (manifests.Plan, map[manifests.GroupKind][]string) {
	plan, leaving := manifests.Plan{}, map[manifests.GroupKind][]string{}
	for _, d := range clusters {
		for _, crd := range d.Head.CRDs {
			was := d.Base.crd(crd.Name)
			gone := slices.Concat(crds.Leaving(was, crd), crds.StopsServing(was, crd))
			if len(gone) == 0 {
				continue
			}
			target, err := manifests.TargetOf(crd, gone...)
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

// LeftBehind are the places in the files of a repository that name one of the versions that leave.
func LeftBehind(files []manifests.File, plan manifests.Plan, leaving map[manifests.GroupKind][]string) []manifests.Reference {
	var found []manifests.Reference
	for _, result := range manifests.Rewrite(files, plan) {
		for _, reference := range result.References {
			if slices.Contains(leaving[reference.GroupKind], reference.Version) {
				found = append(found, reference)
			}
		}
	}
	return found
}
