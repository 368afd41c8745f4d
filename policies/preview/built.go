package preview

import (
	"fmt"
	"path"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// built are the CRD of a name as charts, and kustomizations around other folders, make it before and after. One that is new is held
// against the last copy in the files; one that a kustomization builds no longer, while the files have it, is a finding.
func (s *spread) built(name string, copies, now []delivery.CRD) (pairs []change) {
	for _, unit := range s.kustomizations() {
		base, head := builtIn(s.all.Base.Built, unit, name), builtIn(s.all.Head.Built, unit, name)
		switch {
		case head == nil && base == nil:
		case head == nil && len(copies)+len(now) == 0: // no file has it
			pairs = append(pairs, change{base: base, built: true})
		case head == nil && base.Unit.Tool == delivery.Helm: // leaveCharts looks at it
		case head == nil:
			s.builtNoLonger(unit, base)
		case base == nil && slices.ContainsFunc(now, func(crd delivery.CRD) bool { return contentOf(crd.Object) == contentOf(head.Object) }):
			// the file's own kustomization, which has moved with it
		case base == nil && len(copies) > 0:
			pairs = append(pairs, change{&copies[len(copies)-1], head, true})
		default:
			pairs = append(pairs, change{base, head, true})
		}
	}
	return pairs
}

// kustomizations are the folders of those that were built on either side.
func (s *spread) kustomizations() []string {
	names := words.Of(slices.Concat(s.all.Base.Built, s.all.Head.Built), func(unit *delivery.Unit) string { return unit.Name })
	slices.Sort(names)
	return slices.Compact(names)
}

// builtIn is a CRD that one kustomization or chart builds, nil if it does not. Of several, the last one counts.
func builtIn(built []*delivery.Unit, unit, name string) (found *delivery.CRD) {
	for _, u := range built {
		if u.Name != unit {
			continue
		}
		for _, crd := range u.CRDs() {
			if crd.GetName() == name && isReadable(crd) {
				found = &crd
			}
		}
	}
	return found
}

func isReadable(crd delivery.CRD) bool {
	_, _, err := crddiff.DecodeStrictly(crd.Unstructured)
	return err == nil
}

// builtNoLonger is about a kustomization, or a link, that no longer brings a CRD which the repository still has: it leaves the CRD
// out, or no longer exists itself.
func (s *spread) builtNoLonger(unit string, was *delivery.CRD) {
	name := was.GetName()
	stay := slices.DeleteFunc(s.all.Head.CRDs(), func(crd delivery.CRD) bool { return crd.GetName() != name })
	why := "no longer brings the CRD"
	if !slices.ContainsFunc(s.all.Head.Built, func(u *delivery.Unit) bool { return u.Name == unit }) {
		if s.hasMoved(unit, was, stay) {
			return
		}
		why = "brought the CRD and no longer exists"
	}
	if len(stay) == 0 {
		return
	}
	s.finds(finding.Finding{
		Rule: CRDLeavesFolder, Severity: finding.Warning, Object: name, CRD: name,
		Why: fmt.Sprintf("%s %s, and %s. In a cluster that gets it from there, nothing updates it any more, and a tool that prunes deletes it with all its objects",
			unit, why, staysAt(stay)),
		Remediation: "have these clusters get it from the other copy first",
	})
}

// hasMoved is whether what a kustomization that no longer exists had built is built by a new one, or lies in its folder
// as it is. In a folder below, not all tools look for it.
func (s *spread) hasMoved(unit string, was *delivery.CRD, stay []delivery.CRD) bool {
	content := contentOf(was.Object)
	for _, u := range s.all.Head.Built {
		isNew := !slices.ContainsFunc(s.all.Base.Built, func(old *delivery.Unit) bool { return old.Name == u.Name })
		if crd := builtIn(s.all.Head.Built, u.Name, was.GetName()); isNew && crd != nil && contentOf(crd.Object) == content {
			return true
		}
	}
	return slices.ContainsFunc(stay, func(crd delivery.CRD) bool {
		return path.Dir(crd.Place().File) == unit && contentOf(crd.Object) == content
	})
}

// diffs are what changes.
func (c change) diffs() []crddiff.Diff {
	var base, head *delivery.Object
	if c.base != nil {
		base = c.base.Object
	}
	if c.head != nil {
		head = c.head.Object
	}
	return diffsOf(base, head)
}

func diffsOf(base, head *delivery.Object) []crddiff.Diff {
	return crddiff.Sets(decoded(base), decoded(head), "")
}

// decoded is a CRD, if it can be read.
func decoded(crd *delivery.Object) []*apiextensionsv1.CustomResourceDefinition {
	if crd == nil {
		return nil
	}
	read, _, err := crddiff.DecodeStrictly(crd.Unstructured)
	if err != nil {
		return nil
	}
	return []*apiextensionsv1.CustomResourceDefinition{read}
}
