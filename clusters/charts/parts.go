package charts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
)

// A part is a template of a chart, or a piece of one that has a name, with all that it takes. Nothing is rendered to find out.
type part struct {
	// text is the source, without comments.
	text string
	// asks: it has words for what only a cluster decides.
	asks bool
	// hasFiles: files of the chart that are no templates become part of it.
	hasFiles bool

	// opens: where it begins a document, or stands at the beginning of a line, a value may make an object of any kind. So may what first
	// includes. reopens: it has the sign between documents, so wherever it stands.
	opens, reopens bool
	first          []string
	// values are the paths below .Values that it takes. Release: it takes something of .Release. All: it takes what cannot be told by
	// reading it, so any value.
	values       [][]string
	release, all bool
	// defines: its file has pieces with names.
	defines bool
	// included are the names of what becomes part of it, and digested of that of which only a checksum does.
	included, digested []string
	// changes: it puts something into the values, for templates that come later.
	changes bool
	// rendersTexts: it takes texts for templates.
	rendersTexts bool
}

// parts are all of a chart and its dependencies, by their names, and which of them are files that make objects. Notes are files that are
// rendered before or after them, and make none. What is defined several times has several.
type parts struct {
	named        map[string][]*part
	files, notes []string
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
	for _, file := range slices.Concat(p.files, p.notes) {
		p.given[file] = true
	}
	defines := map[string]bool{} // files
	source := map[*parse.Tree]part{}
	for _, all := range trees {
		for _, tree := range all {
			text := tree.Root.String()
			source[tree] = part{text: text, asks: speaksOfCluster(text)}
			defines[tree.ParseName] = defines[tree.ParseName] || tree.Name != tree.ParseName
		}
	}
	for known := -1; known < len(p.roots)+len(p.given); { // a piece may hand on what it is given
		known = len(p.roots) + len(p.given)
		p.named = map[string][]*part{}
		for name, all := range trees {
			for _, tree := range all {
				one := p.read(name, tree, source[tree])
				one.defines = defines[name]
				p.named[name] = append(p.named[name], one)
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
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			p.notes = append(p.notes, name)
		case !strings.HasPrefix(path.Base(name), "_"):
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
func (p *parts) read(name string, tree *parse.Tree, unread part) *part {
	root := p.given[name]
	r := &reading{parts: p, rooted: map[string]bool{"$": root}, stale: map[string]bool{"$": true}, isFile: slices.Contains(p.files, name)}
	for range 2 {
		one := unread
		r.part, r.begun, r.atLine = &one, false, true
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
	// isFile: what it makes is not put into something else.
	isFile bool
	// begun: the document has begun with a text. atLine: what comes is at the beginning of a line.
	begun, atLine bool
	// digest: only a checksum of what is read becomes part of the text.
	digest bool
	// again: a loop is read for the second time.
	again bool
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
		r.words(string(n.Text))
	case *parse.ActionNode:
		known := len(r.included)
		if r.pipe(n.Pipe, root); len(n.Pipe.Decl) == 0 && functionOf(n.Pipe.Cmds[0]) != "fail" {
			r.gives(n.Pipe, r.included[known:])
		}
	case *parse.TemplateNode:
		if r.pipe(n.Pipe, root) {
			r.given[n.Name] = true
		}
		if !r.begun || r.atLine {
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

var (
	// betweenDocuments is the sign, and remark a comment of YAML.
	betweenDocuments = regexp.MustCompile(`(?m)^---`)
	remark           = regexp.MustCompile(`(?m)^\s*#.*$`)
)

// words are a text of the template.
func (r *reading) words(text string) {
	if found := betweenDocuments.FindAllStringIndex(text, -1); found != nil {
		r.begun, r.reopens = false, r.reopens || !r.isFile
		text = text[found[len(found)-1][1]:]
		r.atLine = true
	}
	if text != "" {
		r.opens = r.opens || !r.begun && strings.HasPrefix(strings.TrimSpace(text), "{") // as JSON has no lines, its rest may be a value
		r.begun = r.begun || strings.TrimSpace(remark.ReplaceAllString(text, "")) != ""
		r.atLine = strings.HasSuffix(text, "\n") || r.atLine && strings.TrimSpace(text) == ""
	}
}

// gives notes that a value becomes part of the text, or a part that is included.
func (r *reading) gives(p *parse.PipeNode, included []string) {
	last := p.Cmds[len(p.Cmds)-1]
	isIndented := false
	if f := functionOf(last); f == "indent" || f == "nindent" {
		by, is := last.Args[len(last.Args)-1].(*parse.NumberNode)
		isIndented, r.atLine = is && by.Text != "0", r.atLine || f == "nindent"
	}
	switch isInside := r.begun && (!r.atLine || isIndented); {
	case isInside:
	case functionOf(p.Cmds[0]) == "include":
		r.first = append(r.first, included...)
	default:
		r.opens, r.begun = true, true
	}
	r.atLine = false
}

func (r *reading) branch(n *parse.BranchNode, root, moves bool) {
	of := r.pipe(n.Pipe, root)
	if !moves {
		of = root
	}
	for _, variable := range n.Pipe.Decl {
		r.stale[variable.Ident[0]] = r.stale[variable.Ident[0]] || n.NodeType == parse.NodeRange // it is what is in the other
	}
	before, atLine := r.begun, r.atLine
	r.node(n.List, of)
	if n.NodeType == parse.NodeRange && !r.again { // as after the first time; with loops in loops, that is enough, and no more than twice the work
		r.again = true
		r.node(n.List, of)
		r.again = false
	}
	after, atLineAfter := r.begun, r.atLine
	r.begun, r.atLine = before, atLine
	r.node(n.ElseList, root)
	r.begun, r.atLine = r.begun && after, r.atLine || atLineAfter
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
