package unpacking

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	goyaml "go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func gzipped(s string) string {
	packed := &bytes.Buffer{}
	zip := gzip.NewWriter(packed)
	_, _ = zip.Write([]byte(s))
	_ = zip.Close()
	return packed.String()
}

// all are the documents of a stream.
func all(b *Budget, s string) (documents []any, err error) {
	for document, err := range b.Documents(s) {
		if err != nil {
			return documents, err
		}
		documents = append(documents, document)
	}
	return documents, nil
}

// first is the first document of a stream.
func first(b *Budget, s string) (any, error) {
	for document, err := range b.Documents(s) {
		return document, err
	}
	return nil, nil
}

// levels are lists of aliases of lists of aliases.
func levels(bottom string, each, n int) string {
	document := "a0: &a0 " + bottom + "\n"
	for i := range n {
		document += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), each), ","))
	}
	return document
}

func chain(n int) string {
	document := strings.Builder{}
	document.WriteString("a0: &a0 [x]\n")
	for i := range n {
		fmt.Fprintf(&document, "a%d: &a%[1]d [*a%d]\n", i+1, i)
	}
	return document.String()
}

// Whatever somebody packs, no more memory is taken for it at a time than one object may, and the garbage of that is bounded, too.
func TestWhatAnybodyMayPack(t *testing.T) {
	unpackers := map[string]func(*Budget, string) (any, error){
		"base64": func(b *Budget, s string) (any, error) { return b.Base64(s) },
		"gzip":   func(b *Budget, s string) (any, error) { return b.Gunzip(s) },
		"json":   (*Budget).JSON,
		"yaml":   func(b *Budget, s string) (any, error) { return all(b, s) },
	}
	for name, c := range map[string]struct{ by, content string }{
		"a text of many megabytes":             {"base64", strings.Repeat("eHh4", 16<<20)},
		"zeros":                                {"gzip", gzipped(strings.Repeat("\x00", 17<<20))},
		"numbers in JSON":                      {"json", "[" + strings.Repeat("9,", 1<<20) + "9]"},
		"mappings in JSON":                     {"json", "[" + strings.Repeat(`{"":1},`, 200_000) + "1]"},
		"lists in lists in JSON":               {"json", strings.Repeat("[", 9000) + strings.Repeat("]", 9000)},
		"numbers in YAML":                      {"yaml", "[" + strings.Repeat("9,", 1<<20) + "9]"},
		"mappings in YAML":                     {"yaml", "[" + strings.Repeat("{},", 1<<20) + "9]"},
		"lists in lists in YAML":               {"yaml", strings.Repeat("- ", 1<<20) + "a"},
		"keys in YAML":                         {"yaml", strings.Repeat("? ", 1<<20) + "a"},
		"a long text under hundreds of names":  {"yaml", levels(`"`+strings.Repeat("x", 1500)+`"`, 600, 3)},
		"aliases that multiply":                {"yaml", levels("[0, 1, 2]", 10, 12)},
		"aliases in one another":               {"yaml", chain(5000)},
		"merges of a large mapping":            {"yaml", "a: &a {" + fields(2000) + "}\nl: [" + strings.Repeat("{<<: *a},", 2000) + "1]"},
		"documents without number":             {"yaml", strings.Repeat("---\na\n", 2<<20)},
		"comments, one a line":                 {"yaml", strings.Repeat("#\n", 1<<20) + "a: b"},
		"comments, with breaks of other kinds": {"yaml", strings.Repeat("#\u0085#\r#\u2028#\u2029", 1<<18) + "a: b"},
		"comments behind values":               {"yaml", "[a" + strings.Repeat(" #\u0085", 1<<20) + "]"},
		"comments at each of many levels":      {"yaml", strings.Repeat("- ", 5000) + "a\n" + strings.Repeat("#\r #\r", 1<<14)},
		"a tag that is written out":            {"yaml", "%TAG !e! " + strings.Repeat("a", 400_000) + "\n---\t#\n" + strings.Repeat("- !e!x a\n", 2000)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var err error
			g.Expect(allocated(func() { _, err = unpackers[c.by](One(), c.content) })).To(BeNumerically("<", mostOfObject))
			g.Expect(err).To(MatchError(ErrTooLarge))
		})
	}
}

// A prefix of a tag is written out for each node, and each is compared with all others. So a text that has one is not read, whatever ends the
// line before it.
func TestATextWithATagDirectiveIsNotRead(t *testing.T) {
	for _, end := range []string{"\ufeff", "a: b\n...\n", "a: b\r...\r", "a: b\r\n...\r\n", "a: b\u0085...\u0085", "a: b\u2028...\u2028", "a: b\u2029...\u2029"} {
		t.Run(fmt.Sprintf("%+q", end), func(t *testing.T) {
			g, text := NewWithT(t), end+"%TAG !e! tag:e,1:\n--- !e!x\na: b\n"
			g.Expect(goyaml.Unmarshal([]byte(text), &goyaml.Node{})).To(Succeed(), "to the parser it is a directive")
			_, err := all(One(), text)
			g.Expect(err).To(MatchError(ErrTooLarge))
			g.Expect(Bounded([]byte(text))).To(MatchError(ErrTooLarge))
		})
	}
	g := NewWithT(t)
	wide := []byte{0xff, 0xfe}
	for _, c := range "%TAG !e! x\n--- !e!x\na: b\n" {
		wide = append(wide, byte(c), 0)
	}
	g.Expect(goyaml.Unmarshal(wide, &goyaml.Node{})).To(Succeed())
	g.Expect(Bounded(wide)).To(MatchError(ErrTooLarge))
	for _, text := range []string{"a: '%TAG'", "a: |\n  %TAG !e! x\n", "image: x:%TAG%", "# %TAG\na: b"} {
		documents, err := all(One(), text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(documents).To(HaveLen(1))
		g.Expect(Bounded([]byte(text))).To(Succeed())
	}
	g.Expect(Bounded([]byte("%YAML 1.1\n---\na: b"))).To(Succeed())
}

// The parser ends a document where a line of `---` is none to others: what is behind it is read, too.
func TestNoDocumentIsPassedOver(t *testing.T) {
	for _, mark := range []string{"\n---\n", "\n---\t#\n", "\n--- # a\n", "\n---\r\n", "\r---\r", "\u0085---\u0085", "\u2028---\u2028", "\n--- \n---\n"} {
		documents, err := all(One(), "a: 1"+mark+"a: 2\n")
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), "%q", mark)
		g.Expect(documents).To(HaveExactElements(HaveKeyWithValue("a", 1), HaveKeyWithValue("a", 2)), "%q", mark)
	}
	_, err := all(One(), "a: 1\n...\na: 2\n")
	NewWithT(t).Expect(err).To(HaveOccurred(), "to the parser, what follows the end of a document is none")
}

func fields(n int) string {
	text := strings.Builder{}
	for i := range n {
		fmt.Fprintf(&text, "f%d: x, ", i)
	}
	return text.String() + "last: x"
}

// allocated is how many bytes something takes, one after the other.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What is reckoned for a document is at least what its values really hold, whatever they are.
func TestWhatValuesTake(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct {
		item string
		yaml bool
	}{
		"numbers": {"9,", true}, "texts": {`"a",`, true}, "lists": {"[],", true}, "mappings": {"{},", true}, "mappings with a field": {`{"":1},`, true},
		"mappings with nine fields": {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1},`, true}, "lists in lists": {"[[[[1]]]],", true},
		"mappings in YAML": {"{a},", true}, "sets": {"{a,b},", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := "[" + strings.Repeat(c.item, n) + "1]"
			cost, _ := CostOfJSON(text)
			if json.Valid([]byte(text)) {
				var value any
				g.Expect(allocated(func() {
					value, _ = (&Budget{look: NewLook(), left: mostOfObject, free: ordinary, held: -1 << 30}).JSON(text)
				})).To(BeNumerically("<", 3*cost/2))
				runtime.KeepAlive(value)
			}
			b := &Budget{look: NewLook(), left: 1 << 30, held: -1 << 30}
			var err error
			g.Expect(allocated(func() { _, err = first(b, text) })).To(BeNumerically("<", 2*parsingOf(text).bytes))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// A document says what it says to sigs.k8s.io/yaml, by which Kubernetes reads it.
func TestYAMLIsReadAsKubernetesReadsIt(t *testing.T) {
	for name, document := range map[string]string{
		"an object":           "apiVersion: example.com/v1\nkind: Widget\nspec: {a: 1, b: 1.5, c: true, d: null, e: [x, -3, ~]}\n",
		"texts":               "a: |\n  x\n  y\nb: >-\n  x\n  y\nc: 'it''s'\nd: \"\\u0041\"\n",
		"aliases":             "a: &a {b: c}\nd: *a\ne: [*a, *a]\n",
		"an alias as a name":  "a: &a b\n*a : c\n",
		"a merge":             "a: &a {b: c, d: e}\nf: {<<: *a, b: g}\n",
		"a merge of some":     "a: &a {b: c}\nd: &d {b: e, f: g}\nh: {<<: [*a, *d], i: j}\n",
		"a name twice":        "a: 1\na: 2\n",
		"a moment":            "a: 2001-01-01\nb: 2001-01-01T00:00:00Z\n",
		"bytes":               "a: !!binary eHl6\n",
		"nothing":             "",
		"a comment":           "# nothing\n",
		"numbers as names":    "1: a\ntrue: b\n",
		"a text that is not":  "just a text",
		"a list at the top":   "- a\n- b: c\n",
		"a tag":               "a: !!str 1\n",
		"a mark of documents": "---\na: b\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var want any
			g.Expect(yaml.Unmarshal([]byte(document), &want)).To(Succeed())
			expected, err := json.Marshal(want)
			g.Expect(err).NotTo(HaveOccurred())
			got, err := first(One(), document)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(json.Marshal(got)).To(MatchJSON(expected))
		})
	}
}

func TestWhatIsNoYAML(t *testing.T) {
	for name, document := range map[string]string{
		"a bracket that is open":      "[",
		"an alias of nothing":         "a: *b",
		"an alias of what it lies in": "a: &a [*a]",
		"a list as a name":            "? [a]\n: b",
		"a merge of a text":           "a: &a b\nc: {<<: *a}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := first(One(), document)
			NewWithT(t).Expect(err).To(And(HaveOccurred(), Not(MatchError(ErrTooLarge))))
		})
	}
}

// What a text in YAML or JSON says does not depend on the budget, as long as there is some.
func TestJSONIsYAML(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.MapOf(rapid.StringMatching(`[a-z.]{0,4}`), rapid.StringMatching(`[ -~]{0,6}`)).Draw(rt, "value")
		raw, err := json.Marshal(map[string]any{"of": []any{value, map[string]any{"n": rapid.Int32().Draw(rt, "n"), "b": true, "z": nil}}})
		if err != nil {
			rt.Fatal(err)
		}
		fromJSON, err := One().JSON(string(raw))
		if err != nil {
			rt.Fatal(err)
		}
		fromYAML, err := first(One(), string(raw))
		if err != nil {
			rt.Fatal(err)
		}
		expected, err := json.Marshal(fromJSON)
		if err != nil {
			rt.Fatal(err)
		}
		NewWithT(rt).Expect(json.Marshal(fromYAML)).To(MatchJSON(expected))
	})
}

func TestABudgetIsForOneAfterTheOther(t *testing.T) {
	g := NewWithT(t)
	look := NewLook()
	b := look.Object(ordinary)
	for range 3 {
		release := b.Mark()
		g.Expect(b.Hold(mostHeld)).To(Succeed())
		g.Expect(b.Hold(1)).To(MatchError(ErrTooLarge), "no more at a time")
		release()
	}
	g.Expect(b.Keep(mostHeld / 2)).To(Succeed())
	g.Expect(b.Hold(mostHeld)).To(MatchError(ErrTooLarge), "what is kept counts")
	g.Expect(b.Work(mostHeld)).To(Succeed())
	g.Expect(b.Work(1)).To(MatchError(ErrTooLarge), "nor more in all")
	g.Expect(look.left).To(BeNumerically("==", mostOfLook-(mostOfObject-ordinary)))

	for range 1000 { // objects of ordinary size draw nothing
		g.Expect(look.Object(ordinary).Work(ordinary)).To(Succeed())
	}
	g.Expect(look.left).To(BeNumerically("==", mostOfLook-(mostOfObject-ordinary)))
	for look.left >= mostOfObject-ordinary {
		g.Expect(look.Object(ordinary).Work(mostOfObject)).To(Succeed())
	}
	g.Expect(look.Object(ordinary).Work(mostOfObject)).To(MatchError(ErrUsedUp))
	g.Expect(look.Object(ordinary).Work(ordinary)).To(Succeed(), "what is ordinary is looked at nevertheless")
	g.Expect(look.Object(100).Work(100*ordinaryTimes)).To(Succeed(), "as is what is ordinary beside little")
	g.Expect(look.Object(100).Work(100*ordinaryTimes + mostOfObject/2)).To(MatchError(ErrUsedUp))
}

// What an alias stands for is looked at as often as the alias is there, and takes the time of what is written out.
func TestWhatAliasesStandForCountsAsWritten(t *testing.T) {
	g := NewWithT(t)
	drawn := func(text string) int64 {
		look := NewLook()
		b := look.Object(int64(len(text)))
		_, err := all(b, text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(mostOfObject - b.left).To(BeNumerically(">=", mostOfLook-look.left))
		return mostOfLook - look.left
	}
	short := levels("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", 10, 3)
	g.Expect(drawn(short)).To(BeNumerically(">", 10_000*nodeTakes), "of a text of %d bytes", len(short))
	g.Expect(drawn(strings.Repeat("- x\n", 10_000))).To(BeNumerically("<", 10_000*nodeTakes), "what is written is ordinary as far as it is long")

	_, err := all(One(), levels("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", 10, 5))
	g.Expect(err).To(MatchError(ErrTooLarge), "a million values in 300 bytes")
}
