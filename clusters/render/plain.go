package render

import (
	"encoding/json"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// plain is the value of a node as it stands in an object that was decoded from JSON. That is what Kustomize makes of the node, at
// a fifth of the cost: Kustomize writes it as YAML, reads that again, and writes it as JSON. It gives up on what could
// have another meaning there. That is anchors and aliases, keys that are no texts or stand there twice, tags of one's
// own, folded texts, nothing at all.
func plain(node *yaml.Node) (value any, ok bool) {
	if node.Anchor != "" {
		return nil, false
	}
	switch node.Kind { //nolint:exhaustive // an alias or a document inside is not plain
	case yaml.ScalarNode:
		return plainScalar(node)
	case yaml.MappingNode:
		return plainMapping(node)
	case yaml.SequenceNode:
		if node.Tag != yaml.NodeTagSeq {
			return nil, false
		}
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			if list[i], ok = plain(item); !ok {
				return nil, false
			}
		}
		return list, true
	}
	return nil, false
}

func plainMapping(node *yaml.Node) (any, bool) {
	if node.Tag != yaml.NodeTagMap {
		return nil, false
	}
	fields := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag != yaml.NodeTagString || key.Anchor != "" {
			return nil, false
		}
		value, ok := plain(node.Content[i+1])
		if _, twice := fields[key.Value]; !ok || twice {
			return nil, false
		}
		fields[key.Value] = value
	}
	return fields, true
}

func plainScalar(node *yaml.Node) (any, bool) {
	switch node.Tag {
	case yaml.NodeTagString:
		return node.Value, node.Style&yaml.FoldedStyle == 0 // Kustomize prints some of those with a line more
	case yaml.NodeTagNull:
		return nil, node.Value != "" // in braces, Kustomize makes an empty text of nothing
	case yaml.NodeTagBool, yaml.NodeTagInt, yaml.NodeTagFloat:
	default:
		return nil, false
	}
	if number, err := strconv.ParseInt(node.Value, 10, 64); err == nil && strconv.FormatInt(number, 10) == node.Value && node.Tag == yaml.NodeTagInt {
		return number, true
	}
	// YAML has many ways to write a number, and JSON makes an integer of 1.0.
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, false
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, false
	}
	err = utiljson.Unmarshal(raw, &value)
	return value, err == nil
}
