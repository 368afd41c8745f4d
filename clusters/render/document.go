package render

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/unpacking"
)

// document is one object as it stands in a file.
type document struct {
	node     *yaml.Node
	template string
}

// helmSource is the comment with which Helm says which template it has rendered.
var helmSource = regexp.MustCompile(`(?m)^# Source: (\S+)$`)

// parse returns all that a file of YAML or JSON holds, and the objects in it, those inside of Lists one by one. What has no
// kind and no apiVersion is not an object.
func parse(content []byte) (roots []*yaml.Node, documents []document, err error) {
	if err := unpacking.Bounded(content); err != nil {
		return nil, nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		root := &yaml.Node{}
		switch err := decoder.Decode(root); {
		case errors.Is(err, io.EOF):
			return roots, documents, nil
		case err != nil:
			return nil, nil, err
		}
		roots = append(roots, root)
		if len(root.Content) == 1 && root.Content[0].Kind == yaml.MappingNode {
			documents = append(documents, unwrap(document{node: root.Content[0], template: templateOf(root)})...)
		}
	}
}

func templateOf(parsed *yaml.Node) string {
	mapping := parsed.Content[0]
	comments := []string{parsed.HeadComment, mapping.HeadComment}
	if len(mapping.Content) > 0 {
		comments = append(comments, mapping.Content[0].HeadComment)
	}
	if found := helmSource.FindStringSubmatch(strings.Join(comments, "\n")); found != nil {
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
func (d document) place(file string, fields []string) finding.Place {
	node, line := d.node, d.node.Line
	for _, name := range fields {
		key, value := entry(node, name)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return finding.Place{File: file, Line: line, Template: d.template}
}

// object is the document as the API server would get it.
func (d document) object() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if value, ok := plain(d.node); ok {
		object.Object, _ = value.(map[string]any)
		if object.GetKind() != "" && object.GetAPIVersion() != "" {
			return object, nil
		}
	}
	raw, err := yaml.NewRNode(d.node).MarshalJSON()
	if err != nil {
		return nil, err
	}
	return object, object.UnmarshalJSON(raw)
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

// source is a file that has been parsed. It is not changed any more, so that all who read the same content can share it.
type source struct {
	// roots are the nodes of all documents of YAML.
	roots []*yaml.Node
	// documents are the objects in them.
	documents []document

	mu     sync.Mutex
	plains map[*yaml.Node]any
}

// plainOf is the value of a node, the same one for all who ask, so no caller changes it. There are schemas of which a hundred clusters get
// a copy.
func (s *source) plainOf(node *yaml.Node) (value any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok = s.plains[node]; ok {
		return value, true
	}
	if value, ok = plain(node); !ok {
		return nil, false
	}
	if s.plains == nil {
		s.plains = map[*yaml.Node]any{}
	}
	s.plains[node] = value
	return value, true
}

// parsed are the sources that somebody still holds, by their content. Most of what a pull request's base consists of is
// in its head, too, and what one cluster gets the next one gets as well.
var parsed = struct {
	sync.Mutex

	known map[[sha256.Size]byte]weak.Pointer[source]
}{known: map[[sha256.Size]byte]weak.Pointer[source]{}}

// sourceOf parses a file, unless somebody holds the same one.
func sourceOf(content []byte) (*source, error) {
	sum := sha256.Sum256(content)
	parsed.Lock()
	found := parsed.known[sum].Value()
	parsed.Unlock()
	if found != nil {
		return found, nil
	}
	roots, documents, err := parse(content)
	if err != nil {
		return nil, err
	}
	found = &source{roots: roots, documents: documents}
	parsed.Lock()
	defer parsed.Unlock()
	parsed.known[sum] = weak.Make(found)
	runtime.AddCleanup(found, forget, sum)
	return found, nil
}

// forget does not take away what has been parsed anew in the meantime.
func forget(sum [sha256.Size]byte) {
	parsed.Lock()
	defer parsed.Unlock()
	if parsed.known[sum].Value() == nil {
		delete(parsed.known, sum)
	}
}
