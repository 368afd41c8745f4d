package preview

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Rules about what could not be built before the pull request. What cannot be built after it only is delivery.BuildFailed.
const (
	// BaseNotBuilt: a unit could not be built before, and can be now, or fails in another way.
	BaseNotBuilt = "BaseNotBuilt"
	// NeitherBuilt: a unit cannot be built before or after, for the same reason. It is for information if it is made of the same.
	NeitherBuilt = "NeitherBuilt"
	// NewNotBuilt: a folder that comes looks like an entry point, and cannot be built. Nothing shows that anything applies it.
	NewNotBuilt = "NewNotBuilt"
)

// SideOf reads the CRDs of what a cluster gets, with a decoder that several sides may share, or nil. Of an entry point that is not
// there, nothing is got. A CRD that cannot be read is unseen.
func SideOf(c delivery.Cluster, decoder *crddiff.Decoder) Side {
	s := Side{Cluster: c, Undeclared: map[string][]string{}, unreadable: map[string]bool{}}
	known := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, found := range c.CRDs() {
		crd, undeclared, err := decoder.Strictly(found.Unstructured)
		if err != nil {
			s.unreadable[found.GetName()] = true
			s.Cluster.Unseen = withUnreadable(s.Cluster.Unseen, found, err)
			continue
		}
		known[crd.Name], s.Undeclared[crd.Name] = crd, undeclared // of two, which is a finding, the later one counts
	}
	for _, crd := range known {
		s.CRDs = append(s.CRDs, crd)
	}
	slices.SortFunc(s.CRDs, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// withUnreadable adds a CRD that cannot be read to what is unseen, once.
func withUnreadable(unseen []delivery.Unseen, crd delivery.CRD, err error) []delivery.Unseen {
	name := crd.Place().String()
	if name == "" {
		name = "CustomResourceDefinition " + crd.GetName()
	}
	if slices.ContainsFunc(unseen, func(u delivery.Unseen) bool { return u.Name == name }) {
		return unseen
	}
	return append(slices.Clip(unseen), delivery.Unseen{Name: name, By: crd.Object, Why: inOneLine(err), Fingerprint: contentOf(crd.Object)})
}

// Compare puts both sides of a cluster together.
func Compare(name string, base, head Side) Delivered {
	d := Delivered{Name: name, Base: base, Head: head, Findings: slices.Clone(head.Cluster.Findings)}
	before, after := waiting(base.Cluster), waiting(head.Cluster)
	d.Base.CRDs = slices.DeleteFunc(slices.Clone(base.CRDs), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		resumed := before[crd.Name] && !after[crd.Name]
		return resumed || head.unreadable[crd.Name] // which does not leave
	})
	for i, f := range d.Findings {
		d.Findings[i].Cluster = name
		asBefore := func(was finding.Finding) bool { return was.Rule == f.Rule && was.CRD == f.CRD && was.Why == f.Why }
		if f.Rule == delivery.AppliedTwice && f.Severity == finding.Warning && slices.ContainsFunc(base.Cluster.Findings, asBefore) {
			d.Findings[i].Severity = finding.Info // this change has not caused it
		}
	}
	d.Findings = d.notBuilt(d.Findings)
	return d
}

// waiting are the CRDs that their tool leaves as they are. If it does so no longer, what the base says of one need not have reached the
// cluster, so it is asked about as if it were new in Git.
func waiting(c delivery.Cluster) map[string]bool {
	found := map[string]bool{}
	for _, crd := range c.CRDs() {
		if crd.Waits() {
			found[crd.GetName()] = true
		}
	}
	return found
}

// notBuilt adds findings about units that could not be built before the change, so that it is not known what it
// changes. What fails in the same way before and after is no fault of the change, and may well be built where it is
// applied: with a network, or a plug-in.
func (d Delivered) notBuilt(found []finding.Finding) []finding.Finding {
	for i, f := range found {
		if units := d.Head.Cluster.Units; f.Rule == delivery.BuildFailed && len(d.Base.Cluster.Units) == 0 && units[0].Err != nil && units[0].By == nil {
			found[i].Rule, found[i].Severity = NewNotBuilt, finding.Warning
			found[i].Why = fmt.Sprintf("%s is new and looks like an entry point, and cannot be built: %s", units[0].Name, units[0].Reason())
			found[i].Remediation = "repair it if a tool applies it, or else name what is applied with --entry"
		}
	}
	for _, unit := range d.Base.Cluster.Units {
		if unit.Err == nil {
			continue
		}
		f := finding.Finding{
			Rule: BaseNotBuilt, Severity: finding.Warning, Object: unit.Name, Cluster: d.Name,
			Why:         fmt.Sprintf("%s cannot be built before this change, so what changes in its CRDs is not known: %s", unit.Name, unit.Reason()),
			Remediation: "check its content yourself, or repair it first in a pull request of its own",
		}
		if still := failsAlike(unit, d.Head.Cluster); still != nil {
			f.Rule = NeitherBuilt
			f.Why = fmt.Sprintf("%s cannot be built here, before this change or after it, so what changes in its CRDs is not known: %s", unit.Name, unit.Reason())
			f.Remediation = "render it where it can be built, and pass the result to the preview on standard input"
			found = slices.DeleteFunc(found, func(f finding.Finding) bool {
				return f.Rule == delivery.BuildFailed && f.Why == still.WhyNotBuilt()
			})
			if unit.MadeOf != "" && unit.MadeOf == still.MadeOf {
				f.Severity = finding.Info
				f.Why = fmt.Sprintf("%s cannot be built here, and nothing that it is made of changes: %s", unit.Name, unit.Reason())
			}
		}
		found = append(found, f)
	}
	return found
}

// failsAlike is the unit of the head that cannot be built for the same reason; nil if there is none.
func failsAlike(unit *delivery.Unit, head delivery.Cluster) *delivery.Unit {
	other := head.Unit(unit.Name)
	if other == nil || other.Err == nil || other.Failure != unit.Failure {
		return nil
	}
	return other
}

func inOneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
