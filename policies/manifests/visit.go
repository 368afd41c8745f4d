package manifests

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// match is a Reference, and what is needed to change it.
type match struct {
	Reference
	text *text
	// scalar holds the version.
	scalar *yaml.Node
	// object is what is written at the version, nil if it only refers to something.
	object *yaml.Node
	// patch is the text beside a patch's target.
	patch *yaml.Node
}

// visitor walks through a document. What it looks for is in wants.
type visitor struct {
	file  string
	wants func(GroupKind, string) bool
	// kinds are all that wants may say yes to, for targets that name no kind.
	kinds []GroupKind
	found []match
}

// around is where in a document the visitor is.
type around struct {
	text *text
	// role is what an object would be that is found here.
	role Role
	// group and kind are those of the outermost object, and path leads here from it.
	group, kind, path string
	// shared: what is here is an anchor, and may be used elsewhere.
	shared bool
	// why a person has to change whatever is found here.
	why string
}

// document is what stands between two ---.
func (v *visitor) document(root *yaml.Node, at around) {
	if root.Kind == yaml.DocumentNode {
		if len(root.Content) != 1 {
			return
		}
		root = root.Content[0]
	}
	if sops, _ := field(root, "sops"); sops != nil && scalar(sops, "mac") != "" {
		at.why = "the file is encrypted by SOPS, whose checksum would no longer be right; change it with `sops edit`"
	}
	v.visit(root, at)
}

func (v *visitor) visit(node *yaml.Node, at around) {
	at.shared = at.shared || node.Anchor != ""
	switch node.Kind { //nolint:exhaustive // an alias is visited where its anchor is
	case yaml.MappingNode:
		v.mapping(node, at)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			v.visit(item, at)
		}
	case yaml.ScalarNode:
		v.words(node, at)
	}
}

func (v *visitor) mapping(node *yaml.Node, at around) {
	group, version := groupVersion(scalar(node, "apiVersion"))
	kind := scalar(node, "kind")
	list := isList(node, kind)
	switch gk := (GroupKind{group, kind}); {
	case v.wants(gk, version):
		v.object(node, gk, version, at)
	case list && v.wants(GroupKind{group, strings.TrimSuffix(kind, "List")}, version):
		v.object(node, GroupKind{group, strings.TrimSuffix(kind, "List")}, version, at)
	}
	if at.path == "" && kind != "" && !list {
		at.group, at.kind = group, kind
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		if list && key == "items" {
			for _, item := range items(value) {
				v.visit(item, at)
			}
			continue
		}
		v.child(node, key, value, at)
	}
}

// isList reports whether something is a List of objects, or a WidgetList.
func isList(node *yaml.Node, kind string) bool {
	list, _ := field(node, "items")
	return strings.HasSuffix(kind, "List") && list != nil && list.Kind == yaml.SequenceNode
}

// child visits what a mapping has under a key.
func (v *visitor) child(parent *yaml.Node, key string, value *yaml.Node, at around) {
	at.path = strings.TrimPrefix(at.path+"."+key, ".")
	at.role = Inside
	if at.shared = at.shared || value.Anchor != ""; key == "" {
		return
	}
	switch {
	case isHealthCheck(at, key):
		at.role = HealthCheck
	case key == "patch" && value.Kind == yaml.ScalarNode && (hasField(parent, "target") || strings.HasSuffix(at.path, "patches.patch")):
		at.role = Patch
	case key == "patchesStrategicMerge":
		at.role = Patch
	case isSelector(key, at.path) && value.Kind == yaml.MappingNode:
		v.target(parent, value, at)
		return
	}
	v.visit(value, at)
}

func hasField(node *yaml.Node, name string) bool {
	value, _ := field(node, name)
	return value != nil
}

// isHealthCheck knows spec.healthChecks and spec.healthCheckExprs of Flux.
func isHealthCheck(at around, key string) bool {
	return strings.HasSuffix(at.group, ".toolkit.fluxcd.io") && slices.Contains([]string{"healthChecks", "healthCheckExprs"}, key)
}

// isSelector knows where Kustomize selects objects by group, version and kind, in its own files and in those of Flux and
// Argo CD.
func isSelector(key, path string) bool {
	for _, end := range []string{
		"patches.target", "patchesJson6902.target", "replacements.source", "replacements.targets.select", "replacements.targets.reject",
	} {
		if key == end[strings.LastIndex(end, ".")+1:] && (path == end || strings.HasSuffix(path, "."+end)) {
			return true
		}
	}
	return false
}

// object is found at a version.
func (v *visitor) object(node *yaml.Node, gk GroupKind, version string, at around) {
	written, shared := field(node, "apiVersion")
	s := match{text: at.text, scalar: written, object: node, Reference: Reference{
		GroupKind: gk, Version: version, Role: at.role, Why: at.why,
		Namespace: scalar(node, "metadata", "namespace"), Name: scalar(node, "metadata", "name"),
	}}
	if s.Name == "" && at.role != Object {
		s.Namespace, s.Name = scalar(node, "namespace"), scalar(node, "name")
	}
	if at.role == HealthCheck {
		s.object = nil
	}
	v.add(s, shared || at.shared, at)
}

// words are text in a field; a text may be a manifest.
func (v *visitor) words(node *yaml.Node, at around) {
	if !strings.Contains(node.Value, "apiVersion") {
		return
	}
	inner := at
	inner.text = at.text.block(node.Value, node.Line)
	if node.Style&yaml.LiteralStyle == 0 {
		inner.text = newText(nil) // nothing is found in it again
		inner.text.parent, inner.text.above = at.text, node.Line-1
		inner.why = "it is inside of a text that is not a literal block (|); change it there by hand"
	}
	inner.group, inner.kind, inner.path = "", "", ""
	if at.role == Inside && inner.why == "" {
		inner.why = inside(at)
	}
	before := len(v.found)
	for _, p := range parse([]byte(node.Value)) {
		for _, root := range p.roots {
			if len(root.Content) == 1 && root.Content[0].Kind != yaml.ScalarNode { // a word is a document, too, and the same one
				v.document(root, inner)
			}
		}
	}
	if node.Style&yaml.LiteralStyle == 0 {
		for i := before; i < len(v.found); i++ {
			v.found[i].Line = at.text.fileLine(node.Line)
		}
	}
}

func inside(at around) string {
	return "it is inside of " + withArticle(at.kind) + " (" + at.path + "), which may give it a meaning of its own"
}

func withArticle(kind string) string {
	switch {
	case kind == "":
		return "another document"
	case strings.ContainsRune("AEIOU", rune(kind[0])):
		return "an " + kind
	}
	return "a " + kind
}

// add places a match, and says why it is a person's if it is.
func (v *visitor) add(s match, shared bool, at around) {
	s.File, s.Line = v.file, at.text.fileLine(s.scalar.Line)
	switch {
	case s.Why != "":
	case at.role == Inside:
		s.Why = inside(at)
	case shared:
		s.Why = "the version is shared with other places by a YAML anchor; change it by hand, for all of them"
	}
	v.found = append(v.found, s)
}
