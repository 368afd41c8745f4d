package manifests_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/policies/manifests"
)

// Whatever a file looks like: what is changed is the version of Widgets, and every other byte stays.
func TestRewriteChangesNothingElse(t *testing.T) {
	plan := planFor(t)
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		var before, after strings.Builder
		changed := 0
		if rapid.Bool().Draw(t, "mark") {
			before.WriteString("\ufeff")
			after.WriteString("\ufeff")
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "documents") {
			if i > 0 {
				before.WriteString("---\n")
				after.WriteString("---\n")
			}
			d := drawDocument(t)
			fmt.Fprintf(&before, d.text, d.version)
			if d.version == "v1alpha1" && d.kind == "Widget" {
				d.version = "v1"
				changed++
			}
			fmt.Fprintf(&after, d.text, d.version)
		}
		ends := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line ends")
		content := []byte(strings.ReplaceAll(before.String(), "\n", ends))
		got, hits, err := rewrite("f.yaml", bytes.Clone(content), plan)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hits).To(HaveLen(changed))
		g.Expect(string(got)).To(Equal(strings.ReplaceAll(after.String(), "\n", ends)))

		again, hits, err := rewrite("f.yaml", got, plan)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hits).To(BeEmpty())
		g.Expect(again).To(Equal(got))
	})
}

type document struct{ text, kind, version string }

// drawDocument has %s where the version belongs.
func drawDocument(t *rapid.T) document {
	d := document{
		kind:    rapid.SampledFrom([]string{"Widget", "Gadget"}).Draw(t, "kind"),
		version: rapid.SampledFrom([]string{"v1alpha1", "v1"}).Draw(t, "version"),
	}
	quote := rapid.SampledFrom([]string{"", "'", `"`}).Draw(t, "quote")
	space := strings.Repeat(" ", rapid.IntRange(1, 3).Draw(t, "space"))
	lines := []string{
		"apiVersion:" + space + quote + "example.com/%s" + quote + rapid.SampledFrom([]string{"", " # example.com/v1alpha1", "  "}).Draw(t, "behind"),
		"kind: " + d.kind,
		"metadata: {name: garden, annotations: {note: \"apiVersion: example.com/v1alpha1 is žlutá 🐎\"}}",
		"spec:\n" + space + "parts:\n" + space + "- >-\n" + space + "  folded\n" + space + "  v1alpha1\n\n" + space + "- v1alpha1\n" + space + "color: !!str green",
	}
	lines = rapid.Permutation(lines).Draw(t, "order")
	indent := strings.Repeat(" ", rapid.IntRange(0, 2).Draw(t, "indent"))
	text := indent + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n"+indent) + "\n"
	if rapid.Bool().Draw(t, "in a List") {
		text = "apiVersion: v1\nkind: List\nitems: # all\n" + indent + "-\n" + indent + " " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent+" ") + "\n"
	}
	d.text = rapid.SampledFrom([]string{"", "# apiVersion: example.com/v1alpha1\n\n"}).Draw(t, "comment") + text
	return d
}

func FuzzRewriteBreaksNothing(f *testing.F) {
	f.Add([]byte(kustomization + "---\n" + garden))
	f.Add([]byte("Widget apiVersion"))
	f.Add([]byte("{{ x }}\n" + garden))
	f.Add([]byte("apiVersion: v1\nkind: WidgetList\nitems: [&a {kind: Widget, apiVersion: &v example.com/v1alpha1}, *a, {<<: *a}]\n"))
	f.Add([]byte("kind: Widget\napiVersion: |\n  example.com/v1alpha1\n...\n---\n"))
	target, err := manifests.TargetOf(widgetCRD(f))
	if err != nil {
		f.Fatal(err)
	}
	plan := manifests.Plan{target.Kind(): target}
	f.Fuzz(func(t *testing.T, content []byte) {
		g := NewWithT(t)
		after, hits, err := rewrite("f.yaml", bytes.Clone(content), plan)
		if err != nil {
			g.Expect(after).To(Equal(content))
			return
		}
		shorter := 0
		for _, h := range hits {
			if h.Why == "" {
				shorter += len(h.Version) - len(h.To)
			}
		}
		g.Expect(len(content)-len(after)).To(Equal(shorter), "only versions have become shorter")
	})
}
