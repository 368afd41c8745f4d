package charts

import (
	"slices"
	"strings"
	"text/template/parse"
)

// Functions of templates, by what becomes of what they are given.
// https://helm.sh/docs/chart_template_guide/function_list/
var (
	// handOn give what they are given to a part, or keep it; nothing is read of it.
	handOn = []string{"include", "tpl", "dict", "list", "tuple"}
	// change put something into the first of what they are given. join do so with the maps in it, too, which may be part of another one.
	change = []string{"set", "unset"}
	join   = []string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}
	// make give a map that is part of nothing else.
	create = []string{"dict", "deepCopy", "mustDeepCopy", "fromYaml", "fromJson", "omit", "pick"}
	// methods are those of all values together.
	methods = []string{"YAML", "Table", "AsMap", "Encode", "PathValue"}
	// checksums are of which no more than that becomes part of a text.
	checksums = []string{"sha256sum", "sha1sum", "sha512sum", "adler32sum"}
)

func functionOf(c *parse.CommandNode) string {
	if f, is := c.Args[0].(*parse.IdentifierNode); is {
		return f.Ident
	}
	return ""
}

// command reads a call, or a value. Piped: it is given the root of all values by the command before it.
func (r *reading) command(c *parse.CommandNode, root, piped bool) (isRoot bool) {
	function, args := functionOf(c), c.Args
	if function == "" {
		for _, arg := range args { // of several, the first is a method: .Files.Get "x"
			isRoot = r.value(arg, root) || isRoot
		}
		return isRoot
	}
	if args = args[1:]; function == "index" && r.indexed(args) {
		return false
	}
	given := piped
	for i, arg := range args {
		is := r.value(arg, root)
		given = given || is
		if function == "dict" && is && i%2 == 1 {
			r.roots[textOf(args[i-1])] = true
		}
	}
	switch {
	case function == "include" && len(args) > 0:
		for _, name := range r.include(args[0]) {
			if given {
				r.given[name] = true
			}
		}
	case function == "tpl":
		r.rendersTexts = true
	case slices.Contains(join, function), slices.Contains(change, function) && (len(args) == 0 || !r.isFresh(args[0])):
		r.changes = true
	}
	if given && !slices.Contains(handOn, function) {
		r.all = true
	}
	return given && slices.Contains([]string{"dict", "list", "tuple"}, function)
}

// indexed takes index .Values "a" "b" for what it is.
func (r *reading) indexed(args []parse.Node) bool {
	field, is := first(args).(*parse.FieldNode)
	if !is || len(field.Ident) != 1 || field.Ident[0] != "Values" || len(args) == 1 {
		return false
	}
	var at []string
	for _, arg := range args[1:] {
		text, is := arg.(*parse.StringNode)
		if !is {
			return false
		}
		at = append(at, text.Text)
	}
	r.values = append(r.values, at)
	return true
}

func first(nodes []parse.Node) parse.Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0]
}

// textOf is a constant text, and a name that stands for all others.
func textOf(n parse.Node) string {
	if text, is := n.(*parse.StringNode); is {
		return text.Text
	}
	return unknownName
}

// unknownName stands for names that are not known.
const unknownName = "*"

// include adds a part by its name, or by that of its file: include (print $.Template.BasePath "/configmap.yaml") .
func (r *reading) include(name parse.Node) (names []string) {
	if text, is := name.(*parse.StringNode); is {
		names = []string{text.Text}
	} else if pipe, is := name.(*parse.PipeNode); is && len(pipe.Cmds) == 1 && functionOf(pipe.Cmds[0]) == "print" && len(pipe.Cmds[0].Args) == 3 {
		base, last := pipe.Cmds[0].Args[1].String(), textOf(pipe.Cmds[0].Args[2])
		for _, file := range r.files {
			if strings.TrimPrefix(base, "$") == ".Template.BasePath" && strings.HasSuffix(file, "/templates"+last) {
				names = append(names, file)
			}
		}
	}
	switch {
	case len(names) == 0:
		r.all, r.reopens = true, true
	case r.digest:
		r.digested = append(r.digested, names...)
	default:
		r.included = append(r.included, names...)
	}
	return names
}

// value reads what a call is given, and reports whether that may be the root of all values.
func (r *reading) value(n parse.Node, root bool) bool {
	switch n := n.(type) {
	case *parse.DotNode:
		return root
	case *parse.FieldNode:
		return r.fields(n.Ident) && root
	case *parse.VariableNode:
		if len(n.Ident) == 1 {
			return r.rooted[n.Ident[0]]
		}
		return r.fields(n.Ident[1:]) && r.rooted[n.Ident[0]]
	case *parse.ChainNode:
		isRoot := r.value(n.Node, root)
		return r.fields(n.Field) && isRoot
	case *parse.PipeNode:
		return r.pipe(n, root)
	case *parse.StringNode:
		r.reopens = r.reopens || strings.Contains(n.Text, "---")
	}
	return false
}

// fields notes which values a chain of names takes, and reports whether it may end at the root of all values.
func (r *reading) fields(names []string) bool {
	at := slices.Index(names, "Values")
	switch {
	case slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(methods, name) || name == "Values" && (r.roots[name] || r.roots[unknownName])
	}):
		r.all = true
	case at >= 0:
		r.values = append(r.values, names[at+1:])
	case slices.Contains(names, "Subcharts"):
		r.all = true
	case slices.Contains(names, "Release"):
		r.release = true
	case slices.Contains(names, "Files"):
		r.hasFiles = r.hasFiles || !r.digest
	}
	return at < 0 && (r.roots[names[len(names)-1]] || r.roots[unknownName])
}

// isNew reports whether what a variable is set to is part of nothing else.
func (r *reading) isNew(p *parse.PipeNode) bool {
	return len(p.Cmds) == 1 && slices.Contains(create, functionOf(p.Cmds[0]))
}

func (r *reading) isFresh(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.PipeNode:
		return r.isNew(n)
	case *parse.VariableNode:
		return len(n.Ident) == 1 && !r.stale[n.Ident[0]]
	default:
		return false
	}
}
