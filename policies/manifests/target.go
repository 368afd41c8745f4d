package manifests

import (
	"regexp"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// target is a selector of Kustomize: group, version and kind are patterns for whole words, and what is left out fits all.
func (v *visitor) target(entry, node *yaml.Node, at around) {
	written, shared := field(node, "version")
	if written == nil || written.Kind != yaml.ScalarNode || written.Value == "" {
		return
	}
	patch, _ := field(entry, "patch")
	for _, gk := range v.kinds {
		if !fits(scalar(node, "group"), gk.Group) || !fits(scalar(node, "kind"), gk.Kind) || !v.wants(gk, written.Value) {
			continue
		}
		v.add(match{text: at.text, scalar: written, patch: patch, Reference: Reference{
			GroupKind: gk, Version: written.Value, Role: PatchTarget, Why: at.why,
			Namespace: scalar(node, "namespace"), Name: scalar(node, "name"),
		}}, shared || at.shared || node.Anchor != "", around{text: at.text, role: PatchTarget})
		return
	}
}

func fits(pattern, word string) bool {
	if pattern == "" || pattern == word {
		return true
	}
	whole, err := regexp.Compile("^(?:" + pattern + ")$")
	return err == nil && whole.MatchString(word)
}
