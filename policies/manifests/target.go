package manifests

import (
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// target is a selector of Kustomize: group, version and kind are patterns for whole words, and a missing one fits all.
func (v *visitor) target(entry, node *yaml.Node, at around) {
	written, shared := field(node, "version")
	if written == nil || written.Kind != yaml.ScalarNode || written.Value == "" {
		return
	}
	patch, _ := field(entry, "patch")
	selected := types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Group: scalar(node, "group"), Kind: scalar(node, "kind")}}}
	selector, err := types.NewSelectorRegex(&selected)
	if err != nil {
		return // Kustomize refuses it
	}
	for _, gk := range v.kinds {
		if !selector.MatchGvk(resid.Gvk{Group: gk.Group, Kind: gk.Kind}) || !v.wants(gk, written.Value) {
			continue
		}
		v.add(match{text: at.text, scalar: written, patch: patch, Reference: Reference{
			GroupKind: gk, Version: written.Value, Role: PatchTarget, Why: at.why,
			Namespace: scalar(node, "namespace"), Name: scalar(node, "name"),
		}}, shared || at.shared || node.Anchor != "", around{text: at.text, role: PatchTarget})
		return
	}
}
