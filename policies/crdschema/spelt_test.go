package crdschema

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestAPatternHasOneSpelling(t *testing.T) {
	for written, want := range map[string]string{
		"spec.extra": "", "spec.parts[*].note": "", "spec.*": "", "*.extra": "", "spec.a/b": "", `spec.labels["example.com/team"]`: "", `spec["*"]`: "", `spec[""]`: "",
		`metadata["x"]`:           "write metadata.x",
		"spec['extra']":           "write spec.extra",
		"spec[extra]":             "write spec.extra",
		"spec.parts[0].note":      "write spec.parts[*].note",
		"spec.parts[].note":       "write spec.parts[*].note",
		"spec.parts.[*].note":     "write spec.parts[*].note",
		"spec.parts[*]note":       "write spec.parts[*].note",
		".spec.extra":             "write spec.extra",
		"spec..extra":             "write spec.extra",
		"spec.extra.":             "write spec.extra",
		"spec.labels['a.b/c']":    `write spec.labels["a.b/c"]`,
		`spec.labels["a.b/c`:      `write spec.labels["a.b/c"]`,
		`spec["a\u002cb"].extra`:  "",
		"spec.a]b":                `write spec["a]b"]`,
		".":                       `"." is no path of a field; write one such as spec.hosts[*].port`,
		strings.Repeat("a.", 1e6): "…",
	} {
		g, err := NewWithT(t), Check([]string{"spec.one", written})
		if want == "" {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(want)))
		g.Expect(len(err.Error())).To(BeNumerically("<", 2000))
	}
}

// What a message names can be copied from it.
func TestEachPathIsSpeltAsItIsWritten(t *testing.T) {
	names := []string{"spec", "a.b", "example.com/x", "*", "", "a b", "a,b", `"`, "'", `\`, "[0]", "[*]", `x"]`, "é", "\U0001f33a", "\x00", ".", "…"}
	rapid.Check(t, func(rt *rapid.T) {
		step := rapid.OneOf(rapid.Map(rapid.SampledFrom(names), func(s string) any { return s }), rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Just[any](3))
		text := AnyItem(Path(rapid.SliceOfN(step, 1, 5).Draw(rt, "path")).String())
		if got := spelt(text); got != text {
			rt.Fatalf("%s is spelt %s", text, got)
		}
	})
}
