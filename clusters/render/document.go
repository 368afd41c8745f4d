package render

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// document is one object as it stands in a file.
type document struct {
	node     *yaml.Node
	template string
}

// source is the comment with which Helm says which template it has rendered.
var source = regexp.MustCompile(`(?m)^# Source: (\S+)$`)

// parse returns the objects of a file of YAML or JSON, those inside of Lists one by one. What has neither a kind nor an
// apiVersion is left out.
func parse(content []byte) ([]document, error) {
	var documents []document
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var parsed yaml.Node
		switch err := decoder.Decode(&parsed); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		if len(parsed.Content) == 1 && parsed.Content[0].Kind == yaml.MappingNode {
			documents = append(documents, unwrap(document{node: parsed.Content[0], template: templateOf(&parsed)})...)
		}
	}
}

func templateOf(parsed *yaml.Node) string {
	mapping := parsed.Content[0]
	comments := []string{parsed.HeadComment, mapping.HeadComment}
	if len(mapping.Content) > 0 {
		comments = append(comments, mapping.Content[0].HeadComment)
	}
	if found := source.FindStringSubmatch(strings.Join(comments, "\n")); found != nil {
		return found[1]
	}
	return ""
}

// unwrap takes Lists apart.
func unwrap(d document) []document {
	if d.kind() == "" || d.text("apiVersion") == "" {
		return nil
	}
	items := field(d.node, "items")
	if !strings.HasSuffix(d.kind(), "List") || items == nil || items.Kind != yaml.SequenceNode {
		return []document{d}
	}
	var inside []document
	for _, item := range items.Content {
		if item.Kind == yaml.MappingNode {
			inside = append(inside, unwrap(document{node: item, template: d.template})...)
		}
	}
	return inside
}

func (d document) kind() string { return d.text("kind") }
func (d document) name() string { return d.text("metadata", "name") }

func (d document) text(fields ...string) string {
	node := d.node
	for _, name := range fields {
		if node = field(node, name); node == nil {
			return ""
		}
	}
	return node.Value
}

// place is the line of the field, or of the innermost one around it that there is.
func (d document) place(file string, fields []string) Place {
	node, line := d.node, d.node.Line
	for _, name := range fields {
		key, value := entry(node, name)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return Place{File: file, Line: line, Template: d.template}
}

func field(node *yaml.Node, name string) *yaml.Node {
	_, value := entry(node, name)
	return value
}

// entry is the entry of a mapping, or of a list whose name is the index.
func entry(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind { //nolint:exhaustive // the others have no entries
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	}
	return nil, nil
}
