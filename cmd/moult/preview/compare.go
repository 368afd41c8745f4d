package preview

import (
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
)

// apart compares the CRDs that several units of a cluster bring, as each of them brings it.
func (s *sides) apart(p preview.Pair) ([]preview.Delivered, error) {
	here, elsewhere := preview.Apart(p)
	all, err := s.compare(here...)
	if err != nil {
		return nil, err
	}
	others, err := s.compare(elsewhere...)
	for i := range others {
		others[i].Held = true
	}
	return append(all, others...), err
}

// fetched are the units that were not built of the files of this repository alone.
func fetched(c delivery.Cluster) delivery.Cluster {
	c.Units = slices.DeleteFunc(slices.Clone(c.Units), func(u *delivery.Unit) bool { return len(u.Charts)+len(u.Elsewhere) == 0 })
	return c
}

// heldBy compares the CRDs that objects of a cluster hold for somebody else.
func (s *sides) heldBy(p preview.Pair) ([]preview.Delivered, error) {
	held, err := s.compare(preview.Held(p)...)
	for i := range held {
		held[i].Held = true
	}
	return held, err
}

// compare reads the CRDs of both sides.
func (s *sides) compare(pairs ...preview.Pair) (all []preview.Delivered, err error) {
	for _, p := range pairs {
		p.Base.Name, p.Head.Name = p.Name, p.Name
		p.Install()
		base, err := preview.SideOf(p.Base, &s.decoder)
		if err != nil {
			return nil, fmt.Errorf("--base: %w", err)
		}
		head, err := preview.SideOf(p.Head, &s.decoder)
		if err != nil {
			return nil, fmt.Errorf("--head: %w", err)
		}
		all = append(all, preview.Compare(p.Name, base, head))
	}
	return all, nil
}
