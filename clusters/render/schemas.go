package render

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	crds "github.com/moult-dev/moult/api/crd"
)

// schemas are those of the CRDs of one build, while Kustomize does not have them. Nearly all of a CRD is its schemas, and
// Kustomize parses, copies and prints them without looking into them. So it gets the CRDs without, and the schemas are put
// back into what comes out. Everything else in the files stays as it is, byte for byte: what Kustomize thinks of names,
// duplicates, lists and comments, it still does.
//
// A build whose kustomizations could look into a schema or change it is not done in this way (see looksInside). Nor is one
// that comes out in any way other than with each schema where a CRD has its schemas.
type schemas struct {
	// mark is what the names of the stand-ins begin with. No file can have it in it.
	mark  string
	taken []takenSchema
	// sources keeps what was parsed from being parsed again when somebody asks for the place of an object.
	sources []*source
	// seen says that a kustomization was read that could look into a schema.
	seen bool
}

// takenSchema is a schema, and the file that it is in.
type takenSchema struct {
	node *yaml.Node
	from *source
}

func newSchemas() *schemas { return &schemas{mark: "schema-" + rand.Text() + "-"} }

// schemaField is the field of a version that stands for its schema.
const schemaField = "openAPIV3Schema"

// readAhead parses the CRDs below a folder, which takes most of the time, while another folder is being built.
func (s *schemas) readAhead(disk filesys.FileSystem, root string) {
	// What cannot be read or parsed, the build will tell.
	_ = disk.Walk(root, func(path string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
			return nil //nolint:nilerr // see above
		}
		if content, err := disk.ReadFile(path); err == nil && bytes.Contains(content, []byte(schemaField)) {
			if parsed, err := sourceOf(content); err == nil {
				s.sources = append(s.sources, parsed)
			}
		}
		return nil
	})
}

// takeOut is a file without the schemas of its CRDs. A file that is not as plain as those that generators write stays as
// it is.
func (s *schemas) takeOut(content []byte) []byte {
	if s.seen || !bytes.Contains(content, []byte(schemaField)) {
		return content
	}
	parsed, err := sourceOf(content)
	if err != nil {
		return content // Kustomize will tell
	}
	s.sources = append(s.sources, parsed)
	var found []*yaml.Node
	var cuts []cut
	for _, d := range parsed.documents {
		for _, key := range schemasOf(d) {
			if _, ok := plain(key.value); !ok {
				continue
			}
			cuts = append(cuts, cut{line: key.name.Line, column: key.name.Column, with: s.standIn(len(s.taken) + len(found))})
			found = append(found, key.value)
		}
	}
	short := without(content, cuts)
	if short == nil || len(found) == 0 || !s.sameBut(short, parsed.roots, found) {
		return content
	}
	for _, node := range found {
		s.taken = append(s.taken, takenSchema{node, parsed})
	}
	return short
}

// standIn is a field that stands where a schema was: two of them, or one and anything else, are no stand-in any more.
func (s *schemas) standIn(i int) string {
	return fmt.Sprintf("%s: {%s%d: taken}", schemaField, s.mark, i)
}

// schemaAt is the field of a version that holds its schema.
type schemaAt struct{ name, value *yaml.Node }

// schemasOf are the fields of a CRD that hold a schema, in block style.
func schemasOf(d document) []schemaAt {
	if !crds.Is(d.text("apiVersion"), d.kind()) {
		return nil
	}
	spec := field(d.node, "spec")
	if spec == nil {
		return nil
	}
	versions := field(spec, "versions")
	if versions == nil || versions.Kind != yaml.SequenceNode {
		return nil
	}
	var found []schemaAt
	for _, version := range versions.Content {
		schema := field(version, "schema")
		if schema == nil {
			continue
		}
		if name, value := entry(schema, schemaField); value != nil && value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 {
			found = append(found, schemaAt{name, value})
		}
	}
	return found
}

// cut takes out a field with all that is below it, and puts something in its place. Lines and columns count from 1.
type cut struct {
	line, column int
	with         string
}

// without carries out cuts, which are made in the order of the lines. What belongs to a field is taken to be what is
// indented further, which is nearly always so; the caller has to look at what came out.
func without(content []byte, cuts []cut) []byte {
	if !slices.IsSortedFunc(cuts, func(a, b cut) int { return a.line - b.line }) {
		return nil
	}
	var short bytes.Buffer
	within := 0 // the column of the field that is being left out
	number := 0
	for line := range bytes.SplitAfterSeq(content, []byte("\n")) {
		number++
		blank := len(bytes.TrimSpace(line)) == 0
		if within > 0 && (blank || indentation(line) >= within) {
			continue
		}
		within = 0
		if len(cuts) > 0 && cuts[0].line == number {
			within = cuts[0].column
			if len(line) < within {
				return nil
			}
			line = append(line[:within-1:within-1], cuts[0].with+"\n"...)
			cuts = cuts[1:]
		}
		short.Write(line)
	}
	if len(cuts) > 0 {
		return nil
	}
	return short.Bytes()
}

// indentation is how many blanks a line begins with.
func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// sameBut reports whether a file without the schemas has the same documents as the whole one has, but for the schemas.
func (s *schemas) sameBut(short []byte, whole []*yaml.Node, taken []*yaml.Node) bool {
	roots, _, err := parse(short)
	if err != nil {
		return false
	}
	first := len(s.taken)
	number := func(n *yaml.Node) int { return first + slices.Index(taken, n) }
	return slices.EqualFunc(roots, whole, func(a, b *yaml.Node) bool { return s.same(a, b, number, first) })
}

// same compares a node of the file without schemas with the one of the whole file.
func (s *schemas) same(short, whole *yaml.Node, number func(*yaml.Node) int, first int) bool {
	if short.Kind == yaml.MappingNode && len(short.Content) == 2 && strings.HasPrefix(short.Content[0].Value, s.mark) {
		return number(whole) >= first && short.Content[0].Value == s.mark+strconv.Itoa(number(whole))
	}
	return short.Kind == whole.Kind && short.Kind != yaml.AliasNode && short.Anchor == "" && whole.Anchor == "" &&
		short.Tag == whole.Tag && short.Value == whole.Value &&
		slices.EqualFunc(short.Content, whole.Content, func(a, b *yaml.Node) bool { return s.same(a, b, number, first) })
}

// putBack gives an object of the build its schemas, and reports whether all stand-ins in it were where they belong. raw is
// the object as it was printed.
func (s *schemas) putBack(object map[string]any, raw []byte) bool {
	there := bytes.Count(raw, []byte(s.mark))
	if there == 0 {
		return true
	}
	spec, _ := object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	back := 0
	for _, v := range versions {
		version, _ := v.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		if value, ok := s.original(schema[schemaField]); ok {
			schema[schemaField] = value
			back++
		}
	}
	return back == there
}

// original is the schema that something stands for.
func (s *schemas) original(standIn any) (value any, ok bool) {
	only, _ := standIn.(map[string]any)
	if len(only) != 1 {
		return nil, false
	}
	for name := range only {
		number, found := strings.CutPrefix(name, s.mark)
		i, err := strconv.Atoi(number)
		if !found || err != nil || i < 0 || i >= len(s.taken) {
			return nil, false
		}
		return s.taken[i].from.plainOf(s.taken[i].node)
	}
	return nil, false
}
