package render

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// kustomizes is what Kustomize makes of a node.
func kustomizes(node *yaml.Node) (value any, err error) {
	raw, err := yaml.NewRNode(node).MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &value)
	}
	return value, err
}

func TestAPlainValueIsWhatKustomizeMakesOfIt(t *testing.T) {
	for document, isPlain := range map[string]bool{
		"{a: 1, b: -0, c: +1, d: 1_000, e: 0x1F, f: 0o17, g: 017, h: 9223372036854775807, i: 9223372036854775808}": true,
		"{a: 1.0, b: 1e3, c: .5, d: -1.25, e: 1e400}":                                                              true,
		"{a: 1.0, b: 1e3, c: .5, d: -1.25, e: 123456789012345678901234567890}":                                     true,
		"{a: true, b: yes, c: off, d: True, e: ~, f: null, h: 'null', i: \"1\", j: !!str 1, k: !!int '1'}":         true,
		"{a: [1, [], {}, null, '']}":                                  true,
		"a: |+\n  text\n\n\nb: >\n  folded\n c\n":                     false, // no YAML
		"a: |+\n  text\n\n\nb: >-\n  folded\n  text\n\n   indented\n": false,
		"a: \"\\t \\u0000 \\x85 \\U0001F600 <&>\"":                    true,
		"a: &a 1":                         false,
		"a: {b: &b {c: d}, <<: *b}":       false,
		"a: .nan":                         false,
		"a: 2001-12-14t21:59:43.10-05:00": false,
		"a: !!set {b}":                    false,
		"a: !own 1":                       false,
		"{a: 1, a: 2}":                    false,
		"{1: 1}":                          false,
		"{? [a] : b}":                     false,
		"a: 'It''s'":                      true,
		"{a: , b: }":                      false,
		"a:\nb:":                          false,
		"<<: a":                           false,
	} {
		t.Run(document, func(t *testing.T) {
			g := NewWithT(t)
			node := &yaml.Node{}
			if err := yaml.Unmarshal([]byte(document), node); err != nil {
				g.Expect(isPlain).To(BeFalse(), err.Error())
				return
			}
			value, ok := plain(node.Content[0])
			g.Expect(ok).To(Equal(isPlain))
			if ok {
				want, err := kustomizes(node.Content[0])
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(value).To(Equal(want))
			}
		})
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{schema, "a: |\n  b\n c: d\n", "a: >-\n  b\n\n   c\n  d\n", "a: \"\\x85\\u2028\"\n", "- 1\n- 0x1\n- 1e3\n", "a: 'b\n\n  c'\n", "a: b\n  c\n\n  d #e\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		node := &yaml.Node{}
		if yaml.Unmarshal(content, node) != nil || len(node.Content) == 0 || node.Content[0].Kind != yaml.MappingNode {
			return
		}
		if value, ok := plain(node.Content[0]); ok {
			want, err := kustomizes(node.Content[0])
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(value).To(Equal(want))
		}
	})
}

func TestTheSameContentIsParsedOnceAsLongAsSomebodyHoldsIt(t *testing.T) {
	g := NewWithT(t)
	content := []byte(configMap("held"))
	one, err := sourceOf(content)
	g.Expect(err).NotTo(HaveOccurred())
	known := len(parsed.known)
	other, err := sourceOf([]byte(configMap("held")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other).To(BeIdenticalTo(one))
	g.Expect(sourceOf([]byte(configMap("other")))).NotTo(BeIdenticalTo(one))
	runtime.KeepAlive(other)
	g.Eventually(func() int {
		runtime.GC()
		parsed.Lock()
		defer parsed.Unlock()
		return len(parsed.known)
	}).Should(BeNumerically("<", known))
}
