// Package prose checks that the pages, the messages and the help texts are written in plain English: short sentences, no
// words that only their author understands, and no double negation. To accept another page, reword it until Find reports
// nothing and add it to clean in prose_test.go.
//
// vale checks the same with rules in YAML, and more. It is not used because it needs cgo, for the tree-sitter
// parsers that it links, and all tools of this project build with Go alone.
package prose

import (
	"fmt"
	"regexp"
	"strings"
)

// longest is how many words a sentence may have. What is in backticks counts as one, and so does a link's target as none.
const longest = 30

// rules are what no sentence may have, each with what to write instead.
var rules = []struct {
	found   *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`), "fix or repair"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "name the person or the program"},
	{regexp.MustCompile(`(?i)\bnobody\b`), "no client, no user"},
	{regexp.MustCompile(`(?i)\btells\b|(\b(is|are|was|were|and)\s+|\*)told\b`), "reports, lists, shows"},
	{regexp.MustCompile(`(?i)\b(come|comes|came|coming) by\b`), "gets, finds"},
	{regexp.MustCompile(`(?i)\b(say|says|said) so\b`), "reports that, with what it reports"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) meant\b`), "is accepted, is for"},
	{regexp.MustCompile(`(?i)\b(bear|bears|bearing) with\b`), "tolerates"},
	{regexp.MustCompile(`(?i)\b(is|was) gone\b`), "is removed, no longer exists"},
	{regexp.MustCompile(`(?i)\bwhat is left\b`), "what remains"},
	{regexp.MustCompile(`(?i)\b(not|never|no|cannot|nothing|none)\b.*\bunless\b`), "only if"},
	{regexp.MustCompile(`(?i)\bneither\b.*\b(not|never|no|cannot)\b|\b(not|never|cannot)\b.*\bneither\b`), "two sentences"},
}

var (
	fence    = regexp.MustCompile("(?s)\n *```.*?\n *```")
	written  = regexp.MustCompile(`(?s)<!-- [^>]*\bwrites?\b[^>]*-->.*?<!-- [^>]*(to here|end of the table)[^>]*-->`)
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	picture  = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	code     = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	item     = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	column   = regexp.MustCompile(`(\S) {2,}(\S)`)
	further  = regexp.MustCompile(`^ {8}`)
	sentence = regexp.MustCompile(`[.!?][)"*]*(\s+|$)`)
	word     = regexp.MustCompile(`[\pL\pN]`)
)

// Find lists what is not plain on a page of Markdown or in a help text, a line each. Blocks of code and tables that tests
// write are left out. Cells of tables are searched for words and double negations and may be long, because a cell is read
// by itself. In a help text, two spaces within a line separate cells, and a line that is far to the right goes on with one.
func Find(page string) []string {
	page = "\n" + page
	for _, skipped := range []*regexp.Regexp{fence, written, comment, picture} {
		page = skipped.ReplaceAllString(page, "")
	}
	page = link.ReplaceAllString(code.ReplaceAllString(page, "CODE"), "$1")
	var problems []string
	for _, block := range blocks(page) {
		for _, one := range sentences(block.text) {
			if words := count(one); words > longest && !block.cell {
				problems = append(problems, fmt.Sprintf("%d words, at most %d: %s", words, longest, one))
			}
			for _, rule := range rules {
				if found := rule.found.FindString(one); found != "" {
					problems = append(problems, fmt.Sprintf("%q, write %s: %s", found, rule.instead, one))
				}
			}
		}
	}
	return problems
}

type block struct {
	text string
	cell bool
}

// blocks are the paragraphs, headings, items of lists and cells of tables, each on a line.
func blocks(page string) []block {
	all := []block{{}}
	for line := range strings.SplitSeq(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch last := &all[len(all)-1]; {
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(trimmed, "|") {
				all = append(all, block{strings.TrimSpace(cell), true})
			}
			all = append(all, block{})
		case trimmed == "", strings.HasPrefix(trimmed, "#"):
			all = append(all, block{text: trimmed}, block{})
		case column.MatchString(trimmed):
			for cell := range strings.SplitSeq(column.ReplaceAllString(trimmed, "$1\x00$2"), "\x00") {
				all = append(all, block{cell, true})
			}
		case item.MatchString(line):
			all = append(all, block{text: item.ReplaceAllString(line, "")})
		case last.cell && !further.MatchString(line):
			all = append(all, block{text: trimmed})
		default:
			last.text = strings.TrimSpace(last.text + " " + trimmed)
		}
	}
	return all
}

func sentences(text string) []string {
	return strings.Split(sentence.ReplaceAllString(text, "$0\x00"), "\x00")
}

func count(text string) int {
	words := 0
	for field := range strings.FieldsSeq(text) {
		if word.MatchString(field) {
			words++
		}
	}
	return words
}
