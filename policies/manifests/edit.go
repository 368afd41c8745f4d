package manifests

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// edit replaces some bytes of a file.
type edit struct {
	start, end int
	with       string
}

// editOf is the edit that makes a scalar end in another version, as in example.com/v1alpha1 or v1alpha1. It fails if the
// scalar is not written down as it reads.
func editOf(t *text, scalar *yaml.Node, from, to string) (edit, bool) {
	start, found := t.offset(scalar.Line, scalar.Column)
	if !found {
		return edit{}, false
	}
	for t.parent != nil {
		t = t.parent
	}
	start += skipTag(t.content[start:])
	written := quoted(scalar)
	if written == "" || !bytes.HasPrefix(t.content[start:], []byte(written)) {
		return edit{}, false
	}
	end := start + len(written)
	if scalar.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		end-- // the quotation mark stays
	}
	return edit{start: end - len(from), end: end, with: to}, true
}

// quoted is how a scalar is written in one line; empty if it is a block.
func quoted(scalar *yaml.Node) string {
	switch {
	case scalar.Style&yaml.DoubleQuotedStyle != 0:
		return `"` + scalar.Value + `"`
	case scalar.Style&yaml.SingleQuotedStyle != 0:
		return "'" + scalar.Value + "'"
	case scalar.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return ""
	}
	return scalar.Value
}

// skipTag is how long the tag is in front of a scalar, as in !!str v1.
func skipTag(content []byte) int {
	if len(content) == 0 || content[0] != '!' {
		return 0
	}
	tag := bytes.IndexAny(content, " \t\r\n")
	if tag < 0 {
		return 0
	}
	for tag < len(content) && (content[tag] == ' ' || content[tag] == '\t') {
		tag++
	}
	return tag
}

// apply carries out edits that do not overlap.
func apply(content []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	var changed []byte
	at := 0
	for _, e := range edits {
		changed = append(changed, content[at:e.start]...)
		changed = append(changed, e.with...)
		at = e.end
	}
	return append(changed, content[at:]...)
}
