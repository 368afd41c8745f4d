package unpacking

import (
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// nodeTakes is what a node of YAML takes in memory, with the value that is made of it, but for mappings. To look at one that an alias stands
// for takes about the time of that. A parser takes some memory before it has read anything.
const (
	nodeTakes   = 350
	parserTakes = 8 << 10
)

var errNoYAML = errors.New("it is no YAML that can be written as JSON")

// Documents are those of a YAML stream that are not empty, each of which is let go of before the next is read. A line that begins a
// document cannot be part of a text, whose lines are indented. After an error there are no more.
func (b *Budget) Documents(stream string) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for begin, more := 0, true; more && begin < len(stream); {
			end := documentAfter(stream, begin)
			release := b.Mark()
			more = b.part(stream[begin:end], yield)
			begin = end
			release()
		}
	}
}

// part gives the documents of one part of a stream, and reports whether there may be more. It can have several, since the parser
// knows more line breaks, and an end of documents.
func (b *Budget) part(s string, yield func(any, error) bool) (more bool) {
	if err := cmp.Or(plainYAML(s), b.holdYAML(s)); err != nil {
		return yield(nil, err) && false
	}
	for decoder := yaml.NewDecoder(strings.NewReader(s)); ; {
		value, err := b.document(decoder)
		if errors.Is(err, io.EOF) {
			return true
		}
		if value == nil && err == nil {
			continue
		}
		if !yield(value, err) || err != nil {
			return false
		}
	}
}

// documentAfter is where the next document begins.
func documentAfter(stream string, begin int) int {
	at := begin
	for line := range strings.Lines(stream[begin:]) {
		if bare := strings.TrimRight(line, "\r\n \t"); at > begin && (bare == "---" || strings.HasPrefix(bare, "--- ")) {
			return at
		}
		at += len(line)
	}
	return at
}

// document is what the next one says. What an alias stands for is made once, however many there are, and counted each time.
func (b *Budget) document(decoder *yaml.Decoder) (any, error) {
	root := &yaml.Node{}
	if err := parsed(decoder, root); err != nil {
		return nil, err
	}
	size := sizes{}
	whole, err := size.of(root)
	if err != nil {
		return nil, err
	}
	if whole.depth > deepest {
		return nil, ErrTooLarge
	}
	if err := b.Work((whole.values - nodesIn(root)) * nodeTakes); err != nil {
		return nil, err
	}
	return (&reader{budget: b, read: map[*yaml.Node]any{}}).value(root)
}

// holdYAML draws what a document takes in memory when it is parsed, and the time for it.
func (b *Budget) holdYAML(s string) error {
	if isWide(s) {
		if err := b.Hold(2 * int64(len(s))); err != nil {
			return err
		}
	}
	p := parsingOf(s)
	if err := p.bounded(); err != nil {
		return err
	}
	return cmp.Or(b.Hold(p.bytes), b.Work(p.steps()))
}

// expanded is what a node stands for: how many values, and how deep they lie in one another.
type expanded struct {
	values int64
	depth  int
}

// sizes are those of nodes. One that is being looked at is there, and has none.
type sizes map[*yaml.Node]expanded

func (s sizes) of(node *yaml.Node) (is expanded, err error) {
	if node.Kind == yaml.AliasNode {
		return s.of(node.Alias)
	}
	if node.Kind == yaml.ScalarNode {
		return expanded{values: 1}, nil
	}
	if known, there := s[node]; there {
		if known.values == 0 {
			return is, errNoYAML // it contains itself
		}
		return known, nil
	}
	s[node] = expanded{}
	is.values = 1
	for _, inner := range node.Content {
		of, err := s.of(inner)
		if err != nil {
			return is, err
		}
		is.values = min(is.values+of.values, mostOfObject)
		is.depth = max(is.depth, of.depth+1)
	}
	s[node] = is
	return is, nil
}

// nodesIn are those of a document as it is written.
func nodesIn(node *yaml.Node) (n int64) {
	for _, inner := range node.Content {
		n += nodesIn(inner)
	}
	return n + 1
}

// reader makes values of nodes.
type reader struct {
	budget *Budget
	read   map[*yaml.Node]any // of nodes with an anchor
}

func (r *reader) value(node *yaml.Node) (value any, err error) {
	if known, there := r.read[node]; there {
		return known, nil
	}
	switch node.Kind {
	case yaml.DocumentNode:
		return r.value(node.Content[0])
	case yaml.AliasNode:
		return r.value(node.Alias)
	case yaml.SequenceNode:
		value, err = r.list(node)
	case yaml.MappingNode:
		value, err = r.mapping(node)
	case yaml.ScalarNode:
		value, err = scalar(node)
	}
	if node.Anchor != "" {
		r.read[node] = value
	}
	return value, err
}

func (r *reader) list(node *yaml.Node) (any, error) {
	items := make([]any, len(node.Content))
	for i, inner := range node.Content {
		item, err := r.value(inner)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

func (r *reader) mapping(node *yaml.Node) (any, error) {
	fields := make(map[string]any, len(node.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, of := node.Content[i], node.Content[i+1]
		if name.Kind == yaml.AliasNode {
			name = name.Alias
		}
		if name.Kind != yaml.ScalarNode {
			return nil, errNoYAML
		}
		if name.ShortTag() == "!!merge" {
			merged = append(merged, of)
			continue
		}
		value, err := r.value(of)
		if err != nil {
			return nil, err
		}
		fields[name.Value] = value
	}
	for _, from := range merged {
		if err := r.merge(fields, from); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// merge adds the fields of other mappings, as <<: *other asks for. The mapping's own fields and the first others stay.
func (r *reader) merge(fields map[string]any, from *yaml.Node) error {
	value, err := r.value(from)
	if err != nil {
		return err
	}
	others, isList := value.([]any)
	if !isList {
		others = []any{value}
	}
	for _, other := range others {
		more, ok := other.(map[string]any)
		if !ok {
			return errNoYAML
		}
		if err := r.budget.Hold(int64(len(more)) * valueTakes); err != nil {
			return err
		}
		for name, value := range more {
			if _, there := fields[name]; !there {
				fields[name] = value
			}
		}
	}
	return nil
}

// scalar is a value as JSON has it.
func scalar(node *yaml.Node) (value any, err error) {
	switch node.ShortTag() {
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool", "!!int", "!!float":
		err = node.Decode(&value)
		return value, err
	case "!!binary":
		raw, err := base64.StdEncoding.DecodeString(node.Value)
		return string(raw), err
	}
	return node.Value, nil
}
