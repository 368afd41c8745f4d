package preview_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// appOf is a unit that an Application applies to a cluster.
func appOf(name, server string, versions ...string) *delivery.Unit {
	by := delivery.Wrap(map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": map[string]any{"destination": map[string]any{"server": server}}})
	u := &delivery.Unit{Name: name, Tool: delivery.ArgoCD, By: by}
	if len(versions) > 0 {
		u.Objects = []*delivery.Object{manifest(name+"/w.yaml", "w", versions...)}
	}
	return u
}

// What one of several units brings is compared as that unit brings it: the last of them, which counts for the cluster, hides nothing.
func TestEachUnitIsComparedWithItself(t *testing.T) {
	const here, there = "https://kubernetes.default.svc", "https://there.example.com"
	for name, c := range map[string]struct {
		base, head      []*delivery.Unit
		here, elsewhere []string
	}{
		"nothing changes":                  {[]*delivery.Unit{appOf("a", here, "v1", "v2"), appOf("b", here, "v2")}, []*delivery.Unit{appOf("a", here, "v1", "v2"), appOf("b", here, "v2")}, nil, nil},
		"one unit":                         {[]*delivery.Unit{appOf("a", here, "v1", "v2")}, []*delivery.Unit{appOf("a", here, "v2")}, nil, nil},
		"the last changes":                 {[]*delivery.Unit{appOf("a", here, "v2"), appOf("b", here, "v1", "v2")}, []*delivery.Unit{appOf("a", here, "v2"), appOf("b", here, "v2")}, nil, nil},
		"the first changes":                {[]*delivery.Unit{appOf("a", here, "v1", "v2"), appOf("b", here, "v2")}, []*delivery.Unit{appOf("a", here, "v2"), appOf("b", here, "v2")}, []string{"it (a)"}, nil},
		"the first goes to others":         {[]*delivery.Unit{appOf("a", there, "v1", "v2"), appOf("b", here, "v2")}, []*delivery.Unit{appOf("a", there, "v2"), appOf("b", here, "v2")}, nil, []string{"it (a)"}},
		"both change alike":                {[]*delivery.Unit{appOf("a", there, "v1", "v2"), appOf("b", here, "v1", "v2")}, []*delivery.Unit{appOf("a", there, "v2"), appOf("b", here, "v2")}, nil, nil},
		"another one takes over":           {[]*delivery.Unit{appOf("a", here, "v1"), appOf("b", here, "v1", "v2")}, []*delivery.Unit{appOf("a", here), appOf("b", here, "v1", "v2")}, nil, nil},
		"another cluster loses it":         {[]*delivery.Unit{appOf("a", there, "v1", "v2"), appOf("b", here, "v1", "v2")}, []*delivery.Unit{appOf("a", there), appOf("b", here, "v1", "v2")}, nil, []string{"it (a)"}},
		"another cluster gets it, as well": {[]*delivery.Unit{appOf("b", here, "v1", "v2")}, []*delivery.Unit{appOf("a", there, "v1"), appOf("b", here, "v1", "v2")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			here, elsewhere := preview.Apart(preview.Pair{Name: "it", Base: delivery.Cluster{Units: c.base}, Head: delivery.Cluster{Units: c.head}})
			var names [2][]string
			for i, pairs := range [][]preview.Pair{here, elsewhere} {
				for _, p := range pairs {
					names[i] = append(names[i], p.Name)
					g.Expect(p.Base.CRDs()).To(HaveLen(1))
				}
			}
			g.Expect(names).To(Equal([2][]string{c.here, c.elsewhere}))
		})
	}
}
