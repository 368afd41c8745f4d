package flux

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// postRendered are the objects of a release after its postRenderers and spec.commonMetadata. The manifests of crds/ are out
// of their reach.
// https://fluxcd.io/flux/components/helm/helmreleases/#post-renderers
func postRendered(by *delivery.Object, objects []*delivery.Object) ([]*delivery.Object, error) {
	for _, renderer := range by.Entries("spec", "postRenderers") {
		content, ok := renderer.Field("kustomize").(map[string]any)
		if !ok {
			continue
		}
		raw, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		var k types.Kustomization
		if err := json.Unmarshal(raw, &k); err != nil {
			return nil, fmt.Errorf("spec.postRenderers: %w", err)
		}
		// The fields that Flux has; a file or an address in a patch is not read.
		k = types.Kustomization{
			Patches: k.Patches, Images: k.Images,
			PatchesStrategicMerge: k.PatchesStrategicMerge, //nolint:staticcheck // Flux has it
			PatchesJson6902:       k.PatchesJson6902,       //nolint:staticcheck // Flux has it
		}
		k.FixKustomization()
		for i := range k.Patches {
			k.Patches[i].Path = ""
		}
		if objects, err = render.Patched(objects, k); err != nil {
			return nil, err
		}
	}
	labelled(objects, by.TextMap("spec", "commonMetadata", "labels"), by.TextMap("spec", "commonMetadata", "annotations"))
	return objects, nil
}

// labelled puts spec.commonMetadata on objects.
func labelled(objects []*delivery.Object, own, annotations map[string]string) {
	for _, o := range objects {
		if len(own) > 0 {
			o.SetLabels(labels.Merge(o.GetLabels(), own))
		}
		if len(annotations) > 0 {
			o.SetAnnotations(labels.Merge(o.GetAnnotations(), annotations))
		}
	}
}
