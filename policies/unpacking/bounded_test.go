package unpacking

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// A file of 100 KB whose aliases stand for 90 MB makes a parser take more than that; here it is refused for little. (Parsers refuse
// some documents themselves: those of more than a thousand values of which nearly all are aliases.)
func TestAliasesThatStandForMuchAreRefusedBeforeTheyAreFollowed(t *testing.T) {
	g := NewWithT(t)
	bomb := []byte("---\nfirst: document\n---\n" + levels(`"`+strings.Repeat("x", 100_000)+`"`, 900, 1))
	single := bomb[len("---\nfirst: document\n"):]
	g.Expect(allocated(func() { _, _ = yaml.YAMLToJSON(single) })).To(BeNumerically(">", 85<<20), "without a bound")
	var into any
	for name, read := range map[string]func() error{
		"a stream":        func() error { return Bounded(bomb) },
		"Unmarshal":       func() error { return Unmarshal(single, &into) },
		"UnmarshalStrict": func() error { return UnmarshalStrict(single, &into) },
		"YAMLToJSON":      func() error { _, err := YAMLToJSON(single); return err },
		"YAMLToJSONStrict": func() error {
			_, err := YAMLToJSONStrict(single)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := NewWithT(t), error(nil)
			g.Expect(allocated(func() { err = read() })).To(BeNumerically("<", 4<<20))
			g.Expect(err).To(MatchError(ErrTooLarge))
		})
	}
}

func TestWhatPeopleWriteIsRead(t *testing.T) {
	for name, document := range map[string]string{
		"no aliases":             "a: [b, c]\n",
		"aliases":                "a: &a {b: c}\nd: [*a, *a]\n",
		"a large file of texts":  "a: &a b\nc: *a\nd: \"" + strings.Repeat("x", 20<<20) + "\"\n",
		"signs that are neither": "a: '*.example.com & others'\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var want, got any
			g.Expect(yaml.Unmarshal([]byte(document), &want)).To(Succeed())
			g.Expect(Unmarshal([]byte(document), &got)).To(Succeed())
			g.Expect(got).To(Equal(want))
		})
	}
	g := NewWithT(t)
	for _, odd := range []string{"&a *a", "&a [*a]", "*a: &", "{&a: *", "\x00&*"} {
		g.Expect(Bounded([]byte(odd))).To(Succeed(), "what is no YAML is for the parser to say")
	}
}

func TestJSONThatTakesTooMuchIsRefused(t *testing.T) {
	g := NewWithT(t)
	g.Expect(BoundedJSON([]byte("[" + strings.Repeat("{},", 2<<20) + "1]"))).To(MatchError(ErrTooLarge))
	object, err := json.Marshal(map[string]any{"data": strings.Repeat("x", 30<<20)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(BoundedJSON(object)).To(Succeed())
}
