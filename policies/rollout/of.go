package rollout

import (
	"slices"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// Of puts in order how a cluster takes a pull request, and says what would go wrong. base is the cluster before it and
// may have no units; changes are those of the CRDs that this cluster gets; labelKey is the key of the opt-in label.
func Of(base, head delivery.Cluster, changes []crddiff.Diff, labelKey string) Rollout {
	s := observe(base, head, changes, labelKey)
	r := Rollout{Cluster: head.Name, Steps: s.steps(), NotFollowed: words.Of(s.unseenAsBefore(), inFull)}
	for _, rule := range rules {
		for _, f := range rule.find(s) {
			if f.Rule == "" {
				f.Rule = rule.name
			}
			f.Cluster = head.Name
			if !slices.Contains(r.Findings, f) {
				r.Findings = append(r.Findings, f)
			}
		}
	}
	finding.Sort(r.Findings)
	return r
}

// situation is what a rule is asked about.
type situation struct {
	base, head *delivery.Cluster
	changes    map[string]crddiff.Diff
	labelKey   string
	order      *order
	// changed are the CRDs of the head that differ, one for each unit that applies them.
	changed []changedCRD
	// gates are those of the head, baseGates those of the base.
	gates, baseGates []gate
}

// changedCRD is a CRD that differs, in a unit that applies it.
type changedCRD struct {
	crddiff.Diff

	object *delivery.Object
	node   *node
}

func observe(base, head delivery.Cluster, changes []crddiff.Diff, labelKey string) *situation {
	s := &situation{base: &base, head: &head, changes: map[string]crddiff.Diff{}, labelKey: labelKey, order: orderOf(&base, &head)}
	for _, c := range changes {
		s.changes[c.Name] = c
	}
	for _, n := range s.order.nodes {
		for _, object := range n.objects {
			if c, ok := s.changes[object.GetName()]; ok && object.IsCRD() {
				s.changed = append(s.changed, changedCRD{Diff: c, object: object, node: n})
			}
		}
	}
	s.gates, s.baseGates = gatesOf(&head), gatesOf(&base)
	return s
}

func (s *situation) changedCRDs() []changedCRD { return s.changed }

// removals are the CRDs that lose versions.
func (s *situation) removals() []changedCRD {
	return slices.DeleteFunc(slices.Clone(s.changed), func(crd changedCRD) bool { return len(crd.Removed) == 0 })
}

// seesAll reports whether all that the cluster gets is seen.
func (s *situation) seesAll() bool {
	return !slices.ContainsFunc(s.head.Units, (*delivery.Unit).Incomplete)
}
