package survivors

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// drawPacking is one that Field.Packing can have.
func drawPacking(t *rapid.T) []string {
	var packing []string
	text := false // whether what is packed by then is a text
	for range rapid.IntRange(0, 4).Draw(t, "packings") {
		choices := []string{"json"}
		if text {
			choices = []string{"base64", "base64", "gzip"}
		}
		word := rapid.SampledFrom(choices).Draw(t, "packing")
		text = true
		packing = append([]string{word}, packing...)
	}
	for i, word := range packing { // gzip is bytes, which an object holds in base64 only
		if word == "gzip" && (i == 0 || packing[i-1] != "base64") {
			return append(append(append([]string{}, packing[:i]...), "base64"), packing[i:]...)
		}
	}
	return packing
}

// buried puts a value below names, lists and mappings.
func buried(t *rapid.T, value any) (object any, path string) {
	for range rapid.IntRange(0, 6).Draw(t, "depth") {
		if rapid.Bool().Draw(t, "list") {
			items := []any{}
			for range rapid.IntRange(0, 2).Draw(t, "before") {
				items = append(items, map[string]any{"apiVersion": "v1", "kind": "Pod"})
			}
			items = append(items, value)
			value, path = items, "[*]"+path
			continue
		}
		name := rapid.SampledFrom([]string{"spec", "template", "example.com/config", "a b"}).Draw(t, "name")
		value = map[string]any{name: value, "other": rapid.SampledFrom([]any{"x", int64(1), true, nil}).Draw(t, "other")}
		step := "." + name
		if strings.ContainsAny(name, "./ ") {
			step = `["` + name + `"]`
		}
		path = step + path
	}
	return value, path
}

// placeOf declares the place.
func placeOf(t *rapid.T, path string, packing []string) Place {
	p := Place{
		Name: "ours", Title: "ours", Resources: []Selector{"ours.example.org"}, Effect: BreaksAtUse, Consequence: "it fails", Clears: ByCommit, Remediation: "write it",
		Evidence: []string{"https://example.org"}, Tried: "yes", Convert: ByCRD, Fields: []Field{{Path: path, Shape: Object, Packing: packing}},
	}
	if err := p.compile(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Wherever the version lies in a declared place, and however it is packed, it is found.
func TestAVersionIsFoundAtAnyDepthAndInAnyPacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		packing := drawPacking(t)
		copied := map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "rose"}}
		root, path := buried(t, pack(copied, packing))
		w := NewWalker([]Place{placeOf(t, "content"+path, packing)}, []Target{targets[""]})
		content := Content{"metadata": map[string]any{"name": "x"}, "content": root}
		found := w.Walk(ours, content, Whole)
		g.Expect(found).To(ContainElement(And(HaveField("State", Found), HaveField("Version", "v1alpha1"), HaveField("Names", "Widget rose"))), fmt.Sprint(path, packing))

		w = NewWalker(Embedded(), []Target{targets[""]})
		if len(packing) <= deepest {
			g.Expect(w.Walk(ours, content, Whole)).To(ContainElement(HaveField("State", Possible)), "nor does it hide where nobody has described it")
		}
	})
}

// A packing that is damaged is unknown, or what it says is found nevertheless; it is never none.
func TestADamagedPackingIsNeverNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		packing := drawPacking(t)
		if len(packing) == 0 {
			return
		}
		copied := map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "rose"}}
		damaged := pack(copied, packing).(string)
		at := rapid.IntRange(0, len(damaged)-1).Draw(t, "at")
		switch rapid.SampledFrom([]string{"cut", "other", "empty"}).Draw(t, "damage") {
		case "cut":
			damaged = damaged[:at]
		case "other":
			damaged = damaged[:at] + "\x00" + damaged[at+1:]
		case "empty":
			damaged = ""
		}
		w := NewWalker([]Place{placeOf(t, "content", packing)}, []Target{targets[""]})
		found := w.Walk(ours, Content{"content": damaged}, Whole)
		g.Expect(found).To(ContainElement(HaveField("State", BeElementOf(Unknown, Found))), fmt.Sprintf("%q by %v", damaged, packing))
	})
}
