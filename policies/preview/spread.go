package preview

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
)

// Pair is what somebody gets before and after.
type Pair struct {
	Name       string
	Base, Head delivery.Cluster
}

// Spread is what a repository without an entry point amounts to. The first Pair is the repository as a whole, with each
// of its CRDs once. A CRD may lie in it several times, for a chart and for a bundle, and not all copies need change
// alike. Those that change otherwise than the first are further Pairs, by their folder.
//
// Whole is what comes of the repository if it is applied as it is, nothing if it cannot be, and all are the CRDs of its
// files. Files that mayBeApplied denies reach no cluster.
func Spread(whole, all Pair, mayBeApplied func(file string) bool) []Pair {
	whole.Head.Units = stillApplied(whole)
	s := &spread{first: whole, all: all, mayBeApplied: mayBeApplied}
	base, head := s.readable(&all.Base, &s.first.Base), s.readable(&all.Head, &s.first.Head)
	names := slices.AppendSeq(slices.Collect(maps.Keys(base)), maps.Keys(head))
	for _, unit := range slices.Concat(all.Base.Built, all.Head.Built) {
		for _, crd := range unit.CRDs() {
			names = append(names, crd.GetName())
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		pairs, left := pairsOf(base[name], head[name])
		s.add(name, slices.Concat(pairs, s.left(left, head[name]), s.built(name, base[name], head[name])))
	}
	s.leaveCharts()
	s.hiddenByValues()
	return append([]Pair{s.first}, s.rest...)
}

// stillApplied are the units of the head without CRDs that a tool applied in the base and that none applies any more. Their files
// are there, and nothing brings them to a cluster.
func stillApplied(whole Pair) []*delivery.Unit {
	isApplied := func(c *delivery.Cluster, name string) bool {
		return slices.ContainsFunc(c.Units, func(u *delivery.Unit) bool {
			return u.Tool != "" && slices.ContainsFunc(u.CRDs(), func(crd delivery.CRD) bool { return crd.GetName() == name })
		})
	}
	units := slices.Clone(whole.Head.Units)
	for i, u := range units {
		if u.Tool != "" {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(u.Objects), func(o *delivery.Object) bool {
			return o.IsCRD() && isApplied(&whole.Base, o.GetName()) && !isApplied(&whole.Head, o.GetName())
		})
		if len(kept) < len(u.Objects) {
			one := *u
			one.Objects = kept
			units[i] = &one
		}
	}
	return units
}

type spread struct {
	first Pair
	rest  []Pair

	all          Pair
	mayBeApplied func(file string) bool
}

// readable are the CRDs of a cluster by name. What is no CRD after all is not seen in another one.
func (s *spread) readable(all, whole *delivery.Cluster) map[string][]delivery.CRD {
	whole.Unseen = append(slices.Clone(whole.Unseen), all.Unseen...)
	found, files := map[string][]delivery.CRD{}, all.CRDs()
	built := delivery.Cluster{Units: all.Built}
	for i, crd := range append(files, built.CRDs()...) {
		if isPatch(crd) {
			continue
		}
		if _, _, err := crddiff.DecodeStrictly(crd.Unstructured); err != nil {
			whole.Unseen = withUnreadable(whole.Unseen, crd, err)
			continue
		}
		if i < len(files) {
			found[crd.GetName()] = append(found[crd.GetName()], crd)
		}
	}
	return found
}

// isPatch reports whether a manifest has nothing that makes a CRD, as the patches have that lie beside a kustomization: what
// they patch is compared as the kustomization builds it.
func isPatch(crd delivery.CRD) bool {
	return !slices.ContainsFunc([]string{"group", "names", "versions"}, func(field string) bool { return crd.Field("spec", field) != nil })
}

// change is one copy of a CRD before and after, nil where there is none.
type change struct {
	base, head *delivery.CRD
	// built: by a kustomization that is not the one of the file.
	built bool
}

// folder is where the copy lies.
func (c change) folder() string {
	if c.head != nil {
		return c.head.Unit.Name
	}
	return c.base.Unit.Name
}

// pairsOf puts the copies of a CRD together that are the same file, and then those that are alike. The others are
// paired one after the other: they were moved. A copy that came and has no pair is held against the last one that was
// there, such as the bundle of the release before. What went while others stay is left.
func pairsOf(base, head []delivery.CRD) (pairs []change, left []*delivery.CRD) {
	fileOf := func(crd delivery.CRD) string { return crd.Unit.Name + " " + crd.Place().File }
	gone, came := pointers(base), pointers(head)
	for _, same := range []func(b, h *delivery.CRD) bool{
		func(b, h *delivery.CRD) bool { return fileOf(*b) == fileOf(*h) },
		func(b, h *delivery.CRD) bool { return contentOf(b.Object) == contentOf(h.Object) },
		func(_, _ *delivery.CRD) bool { return true },
	} {
		came = slices.DeleteFunc(came, func(h *delivery.CRD) bool {
			i := slices.IndexFunc(gone, func(b *delivery.CRD) bool { return same(b, h) })
			if i >= 0 {
				pairs, gone = append(pairs, change{base: gone[i], head: h}), slices.Delete(gone, i, i+1)
			}
			return i >= 0
		})
	}
	for _, h := range came {
		var before *delivery.CRD
		if len(base) > 0 {
			before = &base[len(base)-1]
		}
		pairs = append(pairs, change{base: before, head: h})
	}
	if len(head) > 0 {
		return pairs, gone
	}
	for _, b := range gone {
		pairs = append(pairs, change{base: b})
	}
	return pairs, nil
}

func pointers(crds []delivery.CRD) []*delivery.CRD {
	found := make([]*delivery.CRD, len(crds))
	for i := range crds {
		found[i] = &crds[i]
	}
	return found
}

// add takes each change of a CRD once: the first for the whole, unless that has the CRD, and others by their folder.
func (s *spread) add(name string, pairs []change) {
	seen := map[[2]string]bool{}
	base, head := s.first.Base.CRD(name), s.first.Head.CRD(name)
	whole := base != nil || head != nil
	if whole {
		seen[[2]string{contentOf(base), contentOf(head)}] = true
	}
	for _, c := range pairs {
		var key [2]string
		if c.base != nil {
			key[0] = contentOf(c.base.Object)
		}
		if c.head != nil {
			key[1] = contentOf(c.head.Object)
		}
		switch {
		case seen[key], c.built && (key[0] == key[1] || s.isKnown(name, c)):
		case !whole:
			whole = true
			put(&s.first, c)
		case key[0] != key[1]:
			put(s.of(c.folder()), c)
		}
		seen[key] = true
	}
}

// isKnown reports whether a change of a CRD is like one that was put already.
func (s *spread) isKnown(name string, c change) bool {
	diffs := c.diffs()
	return slices.ContainsFunc(append([]Pair{s.first}, s.rest...), func(p Pair) bool {
		base, head := p.Base.CRD(name), p.Head.CRD(name)
		return (base != nil || head != nil) && reflect.DeepEqual(diffs, diffsOf(base, head))
	})
}

// of is the further Pair of a folder.
func (s *spread) of(folder string) *Pair {
	i := slices.IndexFunc(s.rest, func(p Pair) bool { return p.Name == folder })
	if i < 0 {
		i = len(s.rest)
		s.rest = append(s.rest, Pair{Name: folder})
	}
	return &s.rest[i]
}

func put(p *Pair, c change) {
	for crd, cluster := range map[*delivery.CRD]*delivery.Cluster{c.base: &p.Base, c.head: &p.Head} {
		if crd == nil {
			continue
		}
		unit := cluster.Unit(crd.Unit.Name)
		if unit == nil {
			unit = &delivery.Unit{Name: crd.Unit.Name, Dirs: crd.Unit.Dirs}
			cluster.Units = append(cluster.Units, unit)
		}
		unit.Objects = append(unit.Objects, crd.Object)
	}
}

// contentOf stands for the spec of a CRD; empty for none.
func contentOf(crd *delivery.Object) string {
	if crd == nil {
		return ""
	}
	raw, _ := json.Marshal(crd.Field("spec")) // it was YAML or JSON before
	sum := sha256.Sum256(raw)
	return string(sum[:])
}
