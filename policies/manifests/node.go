package manifests

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// mostAliases bounds how far aliases and merge keys are followed.
const mostAliases = 8

// field is the value of a mapping's key. It follows aliases and merge keys (<<); shared then reports that what was
// found stands elsewhere, and may be used elsewhere, too.
func field(node *yaml.Node, name string) (value *yaml.Node, shared bool) {
	return fieldWithin(node, name, mostAliases)
}

func fieldWithin(node *yaml.Node, name string, most int) (value *yaml.Node, shared bool) {
	node, through := resolve(node)
	if node == nil || node.Kind != yaml.MappingNode || most == 0 {
		return nil, false
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch key := node.Content[i]; {
		case key.Kind == yaml.ScalarNode && key.Value == name:
			value, alias := resolve(node.Content[i+1])
			return value, through || alias || value != nil && value.Anchor != ""
		case key.Tag == "!!merge":
			merged = append(merged, node.Content[i+1])
		}
	}
	for _, m := range merged {
		each := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			each = m.Content
		}
		for _, from := range each {
			if value, _ := fieldWithin(from, name, most-1); value != nil {
				return value, true
			}
		}
	}
	return nil, false
}

func resolve(node *yaml.Node) (resolved *yaml.Node, alias bool) {
	for most := mostAliases; node != nil && node.Kind == yaml.AliasNode; most-- {
		if most == 0 {
			return nil, true
		}
		node, alias = node.Alias, true
	}
	return node, alias
}

// scalar is a field's text, empty if it has none.
func scalar(node *yaml.Node, names ...string) string {
	for _, name := range names {
		if node, _ = field(node, name); node == nil {
			return ""
		}
	}
	if node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}

// items are a field's entries if it is a sequence.
func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

// groupVersion takes an apiVersion apart. The core group has no custom resources.
func groupVersion(apiVersion string) (group, version string) {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found || strings.Contains(version, "/") {
		return "", ""
	}
	return group, version
}

// isTemplated reports whether {{ was read as a mapping whose key is a mapping, which only templates have.
func isTemplated(node *yaml.Node) bool {
	if node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Kind == yaml.MappingNode && key.Style&yaml.FlowStyle != 0 && node.Style&yaml.FlowStyle != 0 {
				return true
			}
		}
	}
	return slices.ContainsFunc(node.Content, isTemplated)
}
