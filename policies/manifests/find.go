package manifests

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/policies/unpacking"
)

// findAll looks at several files at once, since parsing them is what takes the time.
func findAll(files []File, kinds []GroupKind, wants func(GroupKind, string) bool) [][]match {
	all := make([][]match, len(files))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range files {
		group.Go(func() error {
			all[i] = find(f.Name, f.Content, slices.Clone(kinds), wants)
			return nil
		})
	}
	_ = group.Wait() // none fails
	return all
}

func find(file string, content []byte, kinds []GroupKind, wants func(GroupKind, string) bool) []match {
	if bytes.IndexByte(content, 0) >= 0 || !namesOne(content, kinds) {
		return nil
	}
	slices.SortFunc(kinds, func(a, b GroupKind) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	v := &visitor{file: file, wants: wants, kinds: kinds}
	whole := newText(content)
	for _, p := range parse(content) {
		if len(p.roots) == 0 || isTemplate(file, p) {
			v.template(p)
			continue
		}
		for _, root := range p.roots {
			v.document(root, around{text: whole, role: Object})
		}
	}
	slices.SortStableFunc(v.found, func(a, b match) int { return cmp.Compare(a.Line, b.Line) })
	return v.found
}

// namesOne spares most files of a repository the parser.
func namesOne(content []byte, kinds []GroupKind) bool {
	return slices.ContainsFunc(kinds, func(gk GroupKind) bool {
		return bytes.Contains(content, []byte(gk.Kind)) || bytes.Contains(content, []byte(gk.Group))
	})
}

// part is a file, or one document of it.
type part struct {
	roots   []*yaml.Node // none if it cannot be parsed
	content []byte
	above   int // the number of lines above it in the file
}

// parse takes a file apart. If some document of it is broken or a template, the others are found nevertheless.
func parse(content []byte) []part {
	if roots, err := decode(content); err == nil && !bytes.Contains(content, []byte("{{")) {
		return []part{{roots: roots, content: content}}
	}
	parts := split(content)
	for i, p := range parts {
		padded := append(bytes.Repeat([]byte("\n"), p.above), p.content...)
		if roots, err := decode(padded); err == nil {
			parts[i].roots = roots
		}
	}
	return parts
}

// decode parses all documents. The parser panics on some input that is no YAML.
func decode(content []byte) (roots []*yaml.Node, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = errors.New("the parser gave up")
		}
	}()
	if err := unpacking.Bounded(content); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(content, mark)))
	for {
		root := &yaml.Node{}
		switch err := decoder.Decode(root); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, err
		}
		roots = append(roots, root)
	}
}

// split cuts a file at the lines that begin a document. Such a line cannot be part of a text.
func split(content []byte) []part {
	lines := newText(content)
	var parts []part
	from := 0
	for i := range lines.starts {
		line := lines.line(i + 1)
		begins := bytes.Equal(line, []byte("---")) || bytes.HasPrefix(line, []byte("--- "))
		if i > 0 && begins {
			parts = append(parts, part{content: content[lines.starts[from]:lines.starts[i]], above: from})
			from = i
		}
	}
	return append(parts, part{content: content[lines.starts[from]:], above: from})
}
