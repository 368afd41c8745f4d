package survivors

import (
	"encoding/base64"
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
