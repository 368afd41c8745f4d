package migration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A tenant's object may have a key of half a megabyte. It is named in the message three times.
func TestALongFieldNameIsCut(t *testing.T) {
	g := NewWithT(t)
	f := &fields{storage: "v1", why: "objects would lose"}
	object := map[string]any{"metadata": map[string]any{"namespace": "team-a", "name": "rose"}}
	f.losses = f.count(nil, "v1alpha1", "spec."+strings.Repeat("x", 600<<10), object)
	g.Expect(f.failure().Message).To(And(ContainSubstring("team-a/rose"), ContainSubstring("spec.xxx")))
	g.Expect(len(f.failure().Message)).To(BeNumerically("<", 2000))
}
