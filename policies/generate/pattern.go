package generate

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern is a regular expression that was read. parsed is nil if it is none, such as one that looks ahead: the API
// server takes no CRD with such a one.
type pattern struct {
	parsed  *syntax.Regexp
	matches *regexp.Regexp
}

func (g *Generator) patternOf(text string) *pattern {
	if p := g.patterns[text]; p != nil {
		return p
	}
	p := &pattern{}
	if matches, err := regexp.Compile(text); err == nil {
		if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
			p.parsed, p.matches = parsed, matches
		}
	}
	g.patterns[text] = p
	return p
}

// matching is a text that all patterns match; false if none is found.
func (g *Generator) matching(l limits) (string, bool) {
	for _, text := range l.patterns {
		p := g.patternOf(text)
		if p.parsed == nil {
			return "", false
		}
		for try := range 60 {
			var out strings.Builder
			if !g.write(&out, p.parsed, 1+try/10) {
				break
			}
			made := out.String()
			if !fits(made, l) && !anchored(text) {
				made = fitted(made, l)
			}
			if fits(made, l) && g.all(l.patterns, made) {
				return made, true
			}
		}
	}
	return "", false
}

func anchored(text string) bool { return strings.HasSuffix(text, "$") || strings.HasSuffix(text, `\z`) }

func (g *Generator) all(patterns []string, text string) bool {
	for _, one := range patterns {
		if p := g.patternOf(one); p.matches == nil || !p.matches.MatchString(text) {
			return false
		}
	}
	return true
}

// longest bounds a text that is made: repetitions of repetitions grow fast.
const longest = 4096

// write makes a text that an expression describes. More is how often what may be there any number of times may be there, beyond the
// least.
func (g *Generator) write(out *strings.Builder, re *syntax.Regexp, more int) bool {
	if out.Len() > longest {
		return false
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			out.WriteRune(r)
		}
	case syntax.OpCharClass:
		r, ok := g.oneOf(re.Rune)
		if !ok {
			return false
		}
		out.WriteRune(r)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte(byte('a' + g.below(26)))
	case syntax.OpCapture, syntax.OpConcat:
		for _, inner := range re.Sub {
			if !g.write(out, inner, more) {
				return false
			}
		}
	case syntax.OpAlternate:
		return g.write(out, pick(g, re.Sub), more)
	case syntax.OpStar:
		return g.repeat(out, re.Sub[0], 0, -1, more)
	case syntax.OpPlus:
		return g.repeat(out, re.Sub[0], 1, -1, more)
	case syntax.OpQuest:
		return g.repeat(out, re.Sub[0], 0, 1, more)
	case syntax.OpRepeat:
		return g.repeat(out, re.Sub[0], re.Min, re.Max, more)
	case syntax.OpNoMatch:
		return false
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
	return true
}

func (g *Generator) repeat(out *strings.Builder, re *syntax.Regexp, least, greatest, more int) bool {
	extra := 3 * more * more
	if greatest >= 0 {
		extra = min(extra, greatest-least)
	}
	for range least + int(g.below(int64(extra)+1)) {
		if !g.write(out, re, more) {
			return false
		}
	}
	return true
}

// oneOf is a character of a class, given as pairs of the first and the last: one that people type, if there is one.
func (g *Generator) oneOf(pairs []rune) (rune, bool) {
	if len(pairs) == 0 {
		return 0, false
	}
	var typed []rune
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := max(pairs[i], ' '); r <= min(pairs[i+1], '~'); r++ {
			typed = append(typed, r)
		}
	}
	if len(typed) == 0 {
		return pairs[0], true
	}
	return pick(g, typed), true
}
