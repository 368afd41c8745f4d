package unpacking

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Files and stored texts are written by others, too. Whatever reads them as YAML asks here first, since parsers follow aliases: a
// file of 4 KiB can stand for gigabytes. There is no budget to draw from: what is no alias takes about as much as the file.

// mostStoodFor is how many bytes the aliases of a document may stand for.
const mostStoodFor = 16 << 20

// valueIs is what a value counts beside its text, in bytes.
const valueIs = 8

// plainYAML is ErrTooLarge of a text with a %TAG directive, which hardly anybody writes. Its prefix is written out for each node that
// has the tag, and each directive is compared with all before it. In UTF-16, it may stand anywhere.
func plainYAML(s string) error {
	wide := isWide(s)
	if wide {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	for before, after, found := strings.Cut(s, "%TAG"); found; before, after, found = strings.Cut(after, "%TAG") {
		line := strings.TrimSuffix(before, "\ufeff")
		if last, _ := utf8.DecodeLastRuneInString(line); wide || line == "" || isBreak(last) {
			return fmt.Errorf("%w: it has a %%TAG directive", ErrTooLarge)
		}
	}
	return nil
}

// Bounded is ErrTooLarge of a stream of YAML whose aliases stand for more than 16 MiB, or whose tags may. So it is if a parser would take
// seconds for its comments and levels. What is no YAML is left to who reads it.
func Bounded(stream []byte) error {
	text := string(stream)
	p := parsingOf(text)
	if err := cmp.Or(plainYAML(text), p.bounded()); err != nil {
		return err
	}
	if !bytes.ContainsRune(stream, '*') || !bytes.ContainsRune(stream, '&') {
		return nil
	}
	for decoder := goyaml.NewDecoder(bytes.NewReader(stream)); ; {
		root := &goyaml.Node{}
		if err := parsed(decoder, root); err != nil {
			return nil //nolint:nilerr // it has ended, or is no YAML
		}
		if stoodFor(root, map[*goyaml.Node]int64{}) > int64(len(stream))*(1+valueIs)+mostStoodFor {
			return fmt.Errorf("%w: its aliases stand for more than %d MiB", ErrTooLarge, mostStoodFor>>20)
		}
	}
}

// parsed is the next document. The parser panics on some input that is no YAML.
func parsed(decoder *goyaml.Decoder, root *goyaml.Node) (err error) {
	defer func() {
		if recover() != nil {
			err = io.ErrUnexpectedEOF
		}
	}()
	return decoder.Decode(root)
}

// stoodFor is how many bytes a node takes when each alias in it is written out. One that contains itself has no end, which is for
// the parser to say.
func stoodFor(node *goyaml.Node, known map[*goyaml.Node]int64) (n int64) {
	if node.Kind == goyaml.AliasNode {
		return stoodFor(node.Alias, known)
	}
	if n, is := known[node]; is {
		return n
	}
	known[node] = 0
	n = valueIs + int64(len(node.Value))
	for _, inner := range node.Content {
		n = min(n+stoodFor(inner, known), 1<<40)
	}
	known[node] = n
	return n
}

// Unmarshal is sigs.k8s.io/yaml's, for what others have written.
func Unmarshal(content []byte, into any) error {
	if err := Bounded(content); err != nil {
		return err
	}
	return yaml.Unmarshal(content, into)
}

// UnmarshalStrict is sigs.k8s.io/yaml's, for what others have written.
func UnmarshalStrict(content []byte, into any) error {
	if err := Bounded(content); err != nil {
		return err
	}
	return yaml.UnmarshalStrict(content, into)
}

// YAMLToJSON is sigs.k8s.io/yaml's, for what others have written.
func YAMLToJSON(content []byte) ([]byte, error) {
	if err := Bounded(content); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(content)
}

// YAMLToJSONStrict is sigs.k8s.io/yaml's, for what others have written.
func YAMLToJSONStrict(content []byte) ([]byte, error) {
	if err := Bounded(content); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSONStrict(content)
}

// JSON that is read whole by whatever reads it may take this much, in bytes as they are reckoned here: fifty times what an object
// in etcd usually takes.
const mostOfJSON = 512 << 20

// BoundedJSON is ErrTooLarge of a text in JSON whose values take more than 512 MiB when they are read.
func BoundedJSON(text []byte) error {
	if cost, _ := CostOfJSON(text); cost > mostOfJSON {
		return fmt.Errorf("%w: its values take more than %d MiB", ErrTooLarge, mostOfJSON>>20)
	}
	return nil
}
