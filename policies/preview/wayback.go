package preview

import (
	"fmt"

	"k8s.io/apimachinery/pkg/version"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/bridge"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// LostOnTheWayBack: the commit goes back to an older version, which lacks fields that objects of the cluster have.
const LostOnTheWayBack = "LostOnTheWayBack"

// wayBack is what the objects of this cluster lose if a version that is stored leaves for an older one. Without a way from one to the
// other, or without a loss, there is nothing to say here: that the commit goes back is said by rollout.FlipWithRemoval.
func (d Delivered) wayBack(c crddiff.Diff, labelKey string) []finding.Finding {
	base, head := d.Base.crd(c.Name), d.Head.crd(c.Name)
	if base == nil || head == nil || crds.HasWebhook(base) || crds.HasWebhook(head) {
		return nil
	}
	was, is := crds.StorageVersion(base), crds.StorageVersion(head)
	if was == "" || is == "" || crds.Has(head, was) || version.CompareKubeAwareVersionStrings(is, was) >= 0 {
		return nil
	}
	between, err := bridge.Between(base, head, labelKey)
	if err != nil {
		return nil
	}
	finder, err := crdschema.Of(between.CRD)
	if err != nil {
		return nil
	}
	lacking, lost, isKnown := finder.Lacking(was), []string(nil), true
	for _, field := range lacking {
		objects, named, known := d.uses(c.Name, was, field)
		if isKnown = isKnown && known; objects > 0 {
			lost = append(lost, field+inUse(objects, named, known))
		}
	}
	f := finding.Finding{
		Rule: LostOnTheWayBack, Severity: finding.Warning, CRD: c.Name, Cluster: d.Name, Place: d.place(c.Name),
		Why:         fmt.Sprintf("on the way back from %s to %s, objects of this cluster lose %s", was, is, words.FewClauses(lost, mostLost)),
		Remediation: fmt.Sprintf("before the flip back, move the values or let them go, and keep them in a backup: `moult backup %s -f FILE`; after the next upgrade, `moult restore --fields` puts them back", c.Name),
	}
	switch {
	case len(lacking) == 0 || isKnown && len(lost) == 0:
		return nil
	case !isKnown:
		f.Why = fmt.Sprintf("on the way back from %s to %s, what objects of this cluster lose is not known; %s does not have %s", was, is, is, words.Few(lacking, mostLost))
		f.Remediation = "`moult snapshot --fields` counts the fields that objects have; " + f.Remediation
	}
	return []finding.Finding{f}
}

// mostLost is how many fields are named.
const mostLost = 5
