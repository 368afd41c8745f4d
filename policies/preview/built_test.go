package preview_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// A kustomization around the one of a CRD's file may change it, and then it is another copy.
func TestWhatOtherKustomizationsBuildIsCompared(t *testing.T) {
	built := func(crds ...string) []*delivery.Unit { c := files(crds...); return c.Units }
	for name, c := range map[string]struct {
		base, head [2][]string // the files, and what other kustomizations build
		want       []string
		found      int
	}{
		"it changes alike":                   {[2][]string{{"crd/w.yaml v0 v1"}, {"default/w.yaml v0 v1"}}, [2][]string{{"crd/w.yaml v1"}, {"default/w.yaml v1"}}, []string{": crd/w v0 v1 → crd/w v1"}, 0},
		"it changes alone":                   {[2][]string{{"crd/w.yaml v0 v1"}, {"default/w.yaml v0 v1"}}, [2][]string{{"crd/w.yaml v0 v1"}, {"default/w.yaml v1"}}, []string{": crd/w v0 v1 → crd/w v0 v1", "default: default/w v0 v1 → default/w v1"}, 0},
		"it is new, and as the file":         {[2][]string{{"crd/w.yaml v0 v1"}, nil}, [2][]string{{"crd/w.yaml v0 v1"}, {"default/w.yaml v0 v1"}}, []string{": crd/w v0 v1 → crd/w v0 v1"}, 0},
		"it is new, and not as the file":     {[2][]string{{"crd/w.yaml v0 v1"}, nil}, [2][]string{{"crd/w.yaml v0 v1"}, {"default/w.yaml v1"}}, []string{": crd/w v0 v1 → crd/w v0 v1", "default: crd/w v0 v1 → default/w v1"}, 0},
		"it is there, without the CRD":       {[2][]string{{"crd/w.yaml v1"}, {"default/w.yaml v1"}}, [2][]string{{"crd/w.yaml v1"}, {"default/other.yaml v1"}}, []string{": default/other , crd/w v1 → default/other v1, crd/w v1"}, 1},
		"a CRD that only it builds, changes": {[2][]string{nil, {"default/w.yaml v0 v1"}}, [2][]string{nil, {"default/w.yaml v1"}}, []string{": default/w v0 v1 → default/w v1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			all := preview.Pair{Base: files(c.base[0]...), Head: files(c.head[0]...)}
			all.Base.Built, all.Head.Built = built(c.base[1]...), built(c.head[1]...)
			pairs := preview.Spread(preview.Pair{}, all, func(string) bool { return true })
			var got []string
			for _, p := range pairs {
				got = append(got, p.Name+": "+inShort(p.Base)+" → "+inShort(p.Head))
			}
			g := NewWithT(t)
			if c.found == 0 {
				g.Expect(got).To(Equal(c.want))
			}
			g.Expect(pairs[0].Head.Findings).To(HaveLen(c.found))
		})
	}
}
