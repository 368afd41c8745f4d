package unpacking

import (
	"strings"
	"testing"
	"unicode/utf16"

	. "github.com/onsi/gomega"
	goyaml "go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// commentsIn are the lines of comments that a parser has found.
func commentsIn(node *goyaml.Node) (n int64) {
	for _, text := range []string{node.HeadComment, node.LineComment, node.FootComment} {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				n++
			}
		}
	}
	for _, inner := range node.Content {
		n += commentsIn(inner)
	}
	return n
}

// levelsIn are the blocks of a kind that lie in one another. A list may begin at the column of the mapping that it lies in.
func levelsIn(node *goyaml.Node, kind goyaml.Kind) (n int) {
	for _, inner := range node.Content {
		n = max(n, levelsIn(inner, kind))
	}
	if node.Kind == kind && node.Style&goyaml.FlowStyle == 0 {
		n++
	}
	return n
}

func TestAScanMissesNothingThatAParserFinds(t *testing.T) {
	parts := rapid.SampledFrom([]string{"- ", "-\t", "? ", ": ", "a: ", "&b ", "!t ", "'x'", "'\n'", "\"\n  \"", "c", "[", "]", "{", "}", ",", "#d", " #e", " ", "  ", "|\n", "---", "\ufeff", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(rt, "parts"), "")
		p, root := parsingOf(text), &goyaml.Node{}
		if parsed(goyaml.NewDecoder(strings.NewReader(text)), root) != nil {
			return
		}
		comments, levels := commentsIn(root), max(levelsIn(root, goyaml.MappingNode), levelsIn(root, goyaml.SequenceNode))
		if comments > p.comments || levels > len(p.columns) {
			rt.Fatalf("%q: %d comments at %d levels, and a scan finds %d at %d", text, comments, levels, p.comments, len(p.columns))
		}
	})
}

// A text in UTF-16 takes what it takes in UTF-8.
func TestAScanReadsUTF16(t *testing.T) {
	g := NewWithT(t)
	text := "a: {b: c} # d\u0085- - e\u2028# f\u2029"
	is, marked := parsingOf(text), utf16.Encode([]rune("\ufeff"+text))
	little, big := []byte{}, []byte{}
	for _, unit := range marked {
		little, big = append(little, byte(unit), byte(unit>>8)), append(big, byte(unit>>8), byte(unit))
	}
	for _, wide := range []string{string(little), string(big)} {
		p := parsingOf(wide)
		g.Expect(p.comments).To(Equal(is.comments))
		g.Expect(p.bytes - 3*int64(len(wide))).To(Equal(is.bytes - 3*int64(len(text))))
	}
	_, err := all(One(), string(little))
	g.Expect(err).NotTo(MatchError(ErrTooLarge))
}

// Charts have values with thousands of lines of comments. That of kube-prometheus-stack takes 6 MiB by this reckoning.
func TestValuesWithThousandsOfCommentsAreRead(t *testing.T) {
	g := NewWithT(t)
	const header = "# Licensed under the Apache License, Version 2.0: you may not use this file except in compliance with it.\n## -----------------------------------------\n"
	values := "global:\n  nodes:\n" + strings.Repeat("    # -- how many there are, see https://example.com/nodes#size\n    ##\n    - size: 3 # three: enough\n", 1250)
	text := strings.Repeat(header, 600) + values
	p := parsingOf(text)
	g.Expect(p.comments).To(BeEquivalentTo(2*600 + 3*1250))
	g.Expect(p.bytes).To(BeNumerically("<", 8<<20))
	g.Expect(p.steps()).To(BeNumerically("<", 1<<20))
	documents, err := all(One(), text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(documents).To(HaveLen(1))
	g.Expect(Bounded([]byte(strings.Repeat(text, 100)))).To(Succeed(), "a file of 50 MB, in one document")
}

// A parser goes through the comments behind a block once for each level that ends there.
func TestCommentsBehindManyLevelsAreNotParsed(t *testing.T) {
	for name, text := range map[string]string{
		"many levels":                   strings.Repeat("- ", 5000) + "a\n" + strings.Repeat("#\r #\r", 1<<14),
		"many levels, line by line":     indented(1100) + strings.Repeat("#\u0085", 10),
		"many comments for some levels": strings.Repeat("- ", 900) + "a\n" + strings.Repeat("#\u0085", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := all(One(), text)
			g.Expect(err).To(And(MatchError(ErrTooLarge), MatchError(Or(ContainSubstring("columns"), ContainSubstring("levels")))))
			g.Expect(Bounded([]byte(text + "\n*a & b"))).To(MatchError(ErrTooLarge))
		})
	}
}

func indented(levels int) string {
	text := strings.Builder{}
	for i := range levels {
		text.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return text.String()
}
