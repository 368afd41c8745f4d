package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
)

// Held are the CRDs that objects of a cluster hold for somebody else to apply: a ManifestWork for another cluster, a ConfigMap
// for a program. There is a Pair for each such object whose CRDs are not the same before and after.
func Held(p Pair) (pairs []Pair) {
	base, head := holders(p.Base), holders(p.Head)
	names := slices.AppendSeq(slices.Collect(maps.Keys(base)), maps.Keys(head))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, after := base[name], head[name]
		if before.content() != after.content() || before.asks() != after.asks() {
			pairs = append(pairs, Pair{Name: nameHeld(p.Name, name), Base: before.cluster(name, after), Head: after.cluster(name, before)})
		}
	}
	return pairs
}

func nameHeld(cluster, holder string) string {
	if cluster == "" {
		return holder
	}
	return cluster + " (" + holder + ")"
}

// holder is an object with CRDs inside, nil if there is none.
type holder struct {
	by     *delivery.Object
	crds   []*delivery.Object
	unread []string
}

// holders are those of a cluster by what they are called.
func holders(c delivery.Cluster) map[string]*holder {
	found := map[string]*holder{}
	for _, object := range c.Objects() {
		crds, unread := object.Inside()
		if len(crds)+len(unread) == 0 {
			continue
		}
		name := delivery.WithoutHash(object.Holder())
		if found[name] == nil {
			found[name] = &holder{by: object}
		}
		h := found[name]
		h.crds, h.unread = append(h.crds, crds...), append(h.unread, unread...)
	}
	return found
}

// content stands for all that is held.
func (h *holder) content() string {
	if h == nil {
		return ""
	}
	sum := sha256.New()
	for _, crd := range h.crds {
		sum.Write([]byte(crd.GetName() + contentOf(crd)))
	}
	for _, text := range h.unread {
		sum.Write([]byte(text))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// asks is what the object says about what it holds, empty if there is none.
func (h *holder) asks() string {
	if h == nil {
		return ""
	}
	return h.by.Asks()
}

// cluster is what is held as what some cluster gets. What cannot be read of it is unseen, and what becomes of it if the object asks for
// something else than the other one.
func (h *holder) cluster(name string, other *holder) delivery.Cluster {
	c := delivery.Cluster{Name: name}
	if h == nil {
		return c
	}
	unit := &delivery.Unit{Name: name}
	unseen := func(why string) {
		c.Unseen = append(c.Unseen, delivery.Unseen{Name: name, By: h.by, Why: why, Fingerprint: h.content()})
	}
	for _, crd := range h.crds {
		if _, _, err := crddiff.DecodeStrictly(crd.Unstructured); err != nil {
			unseen("it holds a CRD that cannot be read: " + inOneLine(err))
			continue
		}
		unit.Objects = append(unit.Objects, crd)
	}
	if len(h.unread) > 0 {
		unseen("it may hold CRDs in a text that cannot be read as manifests")
	}
	if other != nil && h.asks() != other.asks() {
		c.Unseen = append(c.Unseen, delivery.Unseen{Name: name, By: h.by, Why: delivery.AsksOtherwise, Fingerprint: h.asks()})
	}
	c.Units = []*delivery.Unit{unit}
	return c
}
