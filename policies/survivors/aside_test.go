package survivors

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Metadata are walked through without any room for what is unpacked, since there are many. So little is unpacked that way.
func TestMetadataInWhichMuchIsPackedNeedRoom(t *testing.T) {
	g := NewWithT(t)
	w := NewWalker(nil, []Target{targets[""]})
	annotated := func(n int) Content {
		text := `{"apiVersion":"example.com/v1alpha1","kind":"Widget","spec":[` + strings.Repeat(`{"":1},`, n) + `1]}`
		packed := base64.StdEncoding.EncodeToString([]byte(pack(text, []string{"gzip"}).(string)))
		return Content{"metadata": map[string]any{"name": "x", "annotations": map[string]any{"note": packed}}}
	}
	found, isAll := w.WalkAside(ours, annotated(1000))
	g.Expect(isAll).To(BeTrue())
	g.Expect(found).To(And(HaveLen(1), Equal(w.Walk(ours, annotated(1000), OnlyMetadata))))

	large := annotated(80_000)
	g.Expect(allocated(func() { _, isAll = w.WalkAside(ours, large) })).To(BeNumerically("<", 8<<20))
	g.Expect(isAll).To(BeFalse())
	g.Expect(w.Walk(ours, large, OnlyMetadata)).To(ConsistOf(HaveField("State", Possible)))
}

// An annotation of 250 bytes may stand for millions of values. A few objects of that kind do not keep a look busy.
func TestAnAnnotationOfAliasesIsNamedAndNotGoneThrough(t *testing.T) {
	g := NewWithT(t)
	text := "g: example.com\nl0: &l0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 6; i++ {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","))
	}
	w, content := NewWalker(nil, []Target{targets[""]}), Content{"metadata": map[string]any{"name": "x", "annotations": map[string]any{"note": text}}}
	g.Expect(allocated(func() {
		for range 150 {
			_, isAll := w.WalkAside(ours, content)
			g.Expect(isAll).To(BeFalse())
			g.Expect(w.Walk(ours, content, OnlyMetadata)).To(ConsistOf(And(HaveField("State", Unknown), HaveField("Object.Name", "x"),
				HaveField("Why", ContainSubstring("larger than what is looked at")))))
		}
	})).To(BeNumerically("<", 100<<20))
}
