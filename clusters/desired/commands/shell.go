package commands

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/moult-dev/moult/clusters/desired/detect"
)

// statement is one of a script: a command, or several of which one reads what another prints.
type statement struct {
	// text is all of it in one layout and without comments.
	text string
	// commands are the programs with their arguments, also of substitutions and of arguments that are scripts themselves.
	commands []call
	// documents are texts in the script that are read like files.
	documents []string
	// function is the one that it is part of. maybe: it runs only under a condition.
	function string
	maybe    bool
	// unread: not all of it was read, so it counts whatever it does.
	unread bool
}

// script is a text that a shell runs, while it is read.
type script struct {
	source     string
	length     int // without what hides expressions
	statements []statement
	function   string
	maybe      bool
	// budget is how many bytes may still be read as scripts that are arguments of scripts. They share one.
	budget *int
	unread bool
}

const (
	// mostRead is how often all of a text may be read: a script that is an argument is read again for each script around it.
	mostRead = 8
	// mostSubstituted is the length of a substitution that is part of a word.
	mostSubstituted = 4 << 10
)

// parsed are the statements of a script. If it is none as a whole, each line is read by itself.
func parsed(text string) []statement {
	budget := mostRead * len(text)
	return parsedWithin(text, &budget)
}

func parsedWithin(text string, budget *int) []statement {
	if s, err := parse(text, budget); err == nil {
		return s.statements
	}
	return linesWithin(text, budget)
}

// fields are the words of a text that is not parsed.
func fields(text string) call {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"';,()[]{}", r) })
}

func parse(text string, budget *int) (*script, error) {
	s := &script{source: masked(text), length: len(text), budget: budget}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s.source), "")
	if err == nil {
		s.all(file.Stmts)
	}
	return s, err
}

// goesOn is the end of a line to which the next one belongs, in a shell or in PowerShell.
var goesOn = regexp.MustCompile("(?:\\\\|`|(\\||&&))\n[ \t]*")

// comma is between the items of a list in most languages.
var comma = regexp.MustCompile(`(["'])[ \t]*,[ \t]*(["'])`)

// inLines are the statements in a text of another language, such as a Makefile. A line that no shell accepts is split at its spaces.
func inLines(text string) []statement {
	budget := mostRead * len(text)
	return linesWithin(text, &budget)
}

func linesWithin(text string, budget *int) (found []statement) {
	for line := range strings.Lines(comma.ReplaceAllString(goesOn.ReplaceAllString(text, "$1 "), "$1 $2")) {
		line = strings.TrimLeft(strings.TrimSpace(line), "@-+ ") // of recipes, and items of a list
		if !mayRun(line) || strings.HasPrefix(line, "//") {
			continue
		}
		s, err := parse(line, budget)
		if err != nil {
			s.statements = nil
			s.words(line, fields(s.source))
		}
		found = append(found, s.statements...)
	}
	return found
}

// expression is one of a template, which a shell would take apart.
var expression = regexp.MustCompile(`\$?\{\{.*?\}\}`)

// hiding is added to the signs of an expression. No text has the letters that this leads to.
const hiding = 0xF0000

func masked(text string) string {
	return expression.ReplaceAllStringFunc(text, func(one string) string {
		return strings.Map(func(r rune) rune { return r + hiding }, one)
	})
}

func unmasked(text string) string {
	return strings.Map(func(r rune) rune { return r % hiding }, text)
}

func (s *script) all(of []*syntax.Stmt) {
	for _, one := range of {
		s.statement(one)
	}
}

// under reads what runs only under a condition. A condition about a throw-away cluster decides about no other one.
func (s *script) under(condition string, of ...*syntax.Stmt) {
	before := s.maybe
	s.maybe = s.maybe || !ofThrowaway.MatchString(condition)
	s.all(of)
	s.maybe = before
}

func (s *script) statement(of *syntax.Stmt) {
	whole := len(of.Redirs) > 0
	switch c := of.Cmd.(type) {
	case *syntax.FuncDecl:
		before := s.function
		s.function = c.Name.Value
		s.statement(c.Body)
		s.function = before
	case *syntax.IfClause:
		s.branches(c)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			s.under("", item.Stmts...)
		}
	case *syntax.Block:
		s.all(c.Stmts)
	case *syntax.Subshell:
		s.all(c.Stmts)
	case *syntax.WhileClause:
		s.all(slices.Concat(c.Cond, c.Do))
	case *syntax.ForClause:
		s.add(c.Loop)
		s.all(c.Do)
	case *syntax.BinaryCmd:
		if whole = whole || c.Op == syntax.Pipe || c.Op == syntax.PipeAll; !whole {
			s.statement(c.X)
			s.under(s.at(c.X), c.Y)
		}
	case nil:
	default:
		whole = true
	}
	if whole {
		s.add(of)
	}
}

func (s *script) branches(of *syntax.IfClause) {
	s.all(of.Cond)
	s.under(s.source[of.Pos().Offset():of.ThenPos.Offset()], of.Then...)
	for of = of.Else; of != nil; of = of.Else {
		s.under("", slices.Concat(of.Cond, of.Then)...)
	}
}

func (s *script) at(node syntax.Node) string {
	return unmasked(s.source[node.Pos().Offset():node.End().Offset()])
}

// add adds what is one statement, with all commands in it.
func (s *script) add(node syntax.Node) {
	var text strings.Builder
	_ = syntax.NewPrinter(syntax.Minify(true)).Print(&text, node) // what a loop goes through cannot be printed
	one := statement{text: cmp.Or(unmasked(text.String()), s.at(node))}
	syntax.Walk(node, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			return !s.discards(n)
		case *syntax.CallExpr:
			var words call
			for _, word := range n.Args {
				words = append(words, unmasked(s.unquoted(word.Parts)))
			}
			if len(words) > 0 {
				one.commands = append(one.commands, words)
			}
		case *syntax.Redirect:
			if n.Hdoc != nil {
				one.documents = append(one.documents, s.at(n.Hdoc))
			}
		}
		return true
	})
	s.collect(one)
}

// discards reports whether a command looks whether something answers, and throws away what it gets.
func (s *script) discards(of *syntax.Stmt) bool {
	called, isCall := of.Cmd.(*syntax.CallExpr)
	if !isCall || len(called.Args) == 0 || s.unquoted(called.Args[0].Parts) != "curl" || slices.ContainsFunc(called.Args, func(word *syntax.Word) bool { return kept.MatchString(s.unquoted(word.Parts)) }) {
		return false
	}
	last := ""
	for _, to := range of.Redirs {
		if to.N == nil && to.Op != syntax.DplOut || to.N != nil && to.N.Value == "1" {
			last = to.Word.Lit()
		}
	}
	return last == "/dev/null"
}

// kept is an argument of curl by which a file gets the content, or that may be another command or such an argument.
var kept = regexp.MustCompile("^-\\w*[oOK]|^--(?:output|remote|config)|^\\$[{]?\\w*[}]?$|\\$\\(|`")

// words adds a command that is given as a list.
func (s *script) words(text string, words call) {
	for i := range words {
		words[i] = unmasked(words[i])
	}
	if s.length = cmp.Or(s.length, len(text)); len(words) > 0 {
		s.collect(statement{text: text, commands: []call{words}})
	}
}

// collect adds a statement, and the scripts that it has as arguments and documents. A single command is made of these; others read what
// they print.
func (s *script) collect(one statement) {
	one.function, one.maybe, one.unread = s.function, s.maybe, s.unread
	s.unread = false
	reads := slices.ContainsFunc(one.commands, call.readsCommands)
	var scripts []string
	for _, command := range one.commands {
		if reads || !command.isPrinting() {
			scripts = append(scripts, command...)
		}
	}
	if reads || len(one.commands) != 1 || strings.Contains(one.text, ">") { // and no text for the reader
		scripts = append(scripts, one.documents...)
	}
	single := len(one.commands) == 1
	var within []statement // each shorter than what it is in, so that this ends
	for _, text := range scripts {
		switch {
		case !strings.ContainsAny(text, " \n") || len(text) >= s.length || !mayRun(text) || detect.CRD.MatchString(text):
		case len(text) > *s.budget:
			one.unread = true
		default:
			*s.budget -= len(text)
			within = append(within, parsedWithin(text, s.budget)...)
		}
	}
	for _, each := range within {
		if single {
			each.function, each.maybe = one.function, one.maybe || each.maybe
			s.statements = append(s.statements, each)
			continue
		}
		one.commands, one.documents = append(one.commands, each.commands...), append(one.documents, each.documents...)
		one.unread = one.unread || each.unread
	}
	s.statements = append(s.statements, one)
}

var escaped = regexp.MustCompile(`\\(.)`)

// unquoted is the text of a word without quotes. Variables and substitutions stay as they are written.
func (s *script) unquoted(parts []syntax.WordPart) (text string) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += escaped.ReplaceAllString(strings.ReplaceAll(p.Value, "\\\n", ""), "$1")
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			text += s.unquoted(p.Parts)
		default:
			from, to := part.Pos().Offset(), part.End().Offset()
			if to-from > mostSubstituted {
				s.unread, to = true, from+1
			}
			text += s.source[from:to]
		}
	}
	return text
}
