package charts

import (
	"path"
	"slices"
	"strings"
	"text/template/parse"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
)

// A part is a template of a chart, or a piece of one that has a name, with all that it takes. Nothing is rendered to find out.
type part struct {
	// text is the source, without comments.
	text string
	// hasFiles: files of the chart that are no templates become part of it.
	hasFiles bool

	// opens: a document that it makes begins with a value, so it may be any object. Or it begins with what first includes.
	opens bool
	first []string
	// values are the paths below .Values that it takes. Release: it takes something of .Release. All: it takes what cannot be told by
	// reading it, so any value.
	values       [][]string
	release, all bool
	// included are the names of what becomes part of it, and digested of that of which only a checksum does.
	included, digested []string
	// changes: it puts something into the values, for templates that come later.
	changes bool
	// rendersValues: it takes texts of values for templates.
	rendersValues bool
}

// parts are all of a chart and its dependencies, by their names, and which of them are files. What is defined several times has several.
type parts struct {
	named map[string][]*part
	files []string
	// roots are the names that named pieces know the root of all values by: include "x" (dict "context" $). given are the pieces that get it
	// as their dot.
	roots, given map[string]bool
}

// parts reads the templates. The error is of one that Helm could not parse either.
func (c *Chart) parts() (*parts, error) {
	p := &parts{named: map[string][]*part{}, roots: map[string]bool{}, given: map[string]bool{}}
	trees := map[string][]*parse.Tree{}
	if err := p.parse(c.chart, trees); err != nil {
		return nil, err
	}
	for _, file := range p.files {
		p.given[file] = true
	}
	for known := -1; known < len(p.roots)+len(p.given); { // a piece may hand on what it is given
		known = len(p.roots) + len(p.given)
		p.named = map[string][]*part{}
		for name, all := range trees {
			for _, tree := range all {
				p.named[name] = append(p.named[name], p.read(tree, p.given[name]))
			}
		}
	}
	return p, nil
}

func (p *parts) parse(chart *chartv2.Chart, trees map[string][]*parse.Tree) error {
	for _, file := range chart.Templates {
		name := path.Join(chart.ChartFullPath(), file.Name)
		tree, found := parse.New(name), map[string]*parse.Tree{}
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(string(file.Data), "", "", found); err != nil {
			return inOneLine(err)
		}
		for defined, tree := range found {
			trees[defined] = append(trees[defined], tree)
		}
		if !strings.HasPrefix(path.Base(name), "_") && !strings.HasSuffix(name, "NOTES.txt") {
			p.files = append(p.files, name)
		}
	}
	for _, below := range chart.Dependencies() {
		if err := p.parse(below, trees); err != nil {
			return err
		}
	}
	return nil
}

// read is one part. What is assigned late in a loop may be used early, so it is read twice.
func (p *parts) read(tree *parse.Tree, root bool) *part {
	r := &reading{parts: p, rooted: map[string]bool{"$": root}, stale: map[string]bool{"$": true}}
	for range 2 {
		r.part, r.begun = &part{text: tree.Root.String()}, false
		r.node(tree.Root, root)
	}
	return r.part
}

// within are a part and all that is included in it, digests too if asked.
func (p *parts) within(name string, digests bool) (all []*part) {
	seen := map[string]bool{name: true}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		for _, part := range p.named[next[0]] {
			all = append(all, part)
			more := part.included
			if digests {
				more = slices.Concat(more, part.digested)
			}
			for _, name := range more {
				if !seen[name] {
					seen[name], next = true, append(next, name)
				}
			}
		}
	}
	return all
}

// reading is how far a part is read.
type reading struct {
	*part
	*parts

	// rooted are the variables that may be the root of all values, and stale those that may be part of the values.
	rooted, stale map[string]bool
	// begun: the document has begun with a text.
	begun bool
	// digest: only a checksum of what is read becomes part of the text.
	digest bool
}

// node reads a node of the template. Root: the dot may be the root of all values.
func (r *reading) node(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, one := range n.Nodes {
				r.node(one, root)
			}
		}
	case *parse.TextNode:
		if text := strings.TrimSpace(string(n.Text)); text != "" {
			r.begun = !strings.HasSuffix(text, "---")
		}
	case *parse.ActionNode:
		known := len(r.included)
		if r.pipe(n.Pipe, root); len(n.Pipe.Decl) > 0 || r.begun || functionOf(n.Pipe.Cmds[0]) == "fail" {
			break
		}
		if functionOf(n.Pipe.Cmds[0]) == "include" {
			r.first = append(r.first, r.included[known:]...)
		} else {
			r.opens, r.begun = true, true
		}
	case *parse.TemplateNode:
		if r.pipe(n.Pipe, root) {
			r.given[n.Name] = true
		}
		if !r.begun {
			r.first = append(r.first, n.Name)
		}
		r.included = append(r.included, n.Name)
	case *parse.IfNode:
		r.branch(&n.BranchNode, root, false)
	case *parse.WithNode:
		r.branch(&n.BranchNode, root, true)
	case *parse.RangeNode:
		r.branch(&n.BranchNode, root, true)
	}
}

func (r *reading) branch(n *parse.BranchNode, root, moves bool) {
	of := r.pipe(n.Pipe, root)
	if !moves {
		of = root
	}
	before := r.begun
	r.node(n.List, of)
	after := r.begun
	r.begun = before
	r.node(n.ElseList, root)
	r.begun = r.begun && after
}

// pipe reports whether what it gives may be the root of all values.
func (r *reading) pipe(p *parse.PipeNode, root bool) (isRoot bool) {
	if p == nil {
		return false
	}
	before := r.digest
	r.digest = before || slices.ContainsFunc(p.Cmds, func(c *parse.CommandNode) bool {
		return slices.Contains(checksums, functionOf(c))
	})
	for i, command := range p.Cmds {
		isRoot = r.command(command, root, i > 0 && isRoot)
	}
	r.digest = before
	for _, variable := range p.Decl {
		name := variable.Ident[0]
		r.rooted[name] = r.rooted[name] || isRoot
		r.stale[name] = r.stale[name] || !r.isNew(p)
	}
	return isRoot
}
