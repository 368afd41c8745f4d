package optin

import "strings"

const (
	syncOptions       = "argocd.argoproj.io/sync-options"
	losesAllObjects   = "when the API server refuses a change, the CRD is deleted and created anew, and all its objects are lost: "
	dropsAllLabels    = "every label of the live CRD that is not in Git is dropped at each sync, and when the API server refuses a change the whole sync fails before its first wave: "
	serverSideInstead = "; if the manifest is too large for client-side apply, use ServerSideApply=true"
)

// recreated: removing a version too early is refused, and that is what protects the objects. Force takes the refusal for
// a change that cannot be made in place.
func recreated(c check) []Finding {
	var findings []Finding
	if d := c.unit.Delivery; d != nil && c.touches() {
		for _, field := range d.force() {
			findings = append(findings, Finding{
				Object: d.Object, Field: field, CRDs: c.names(all),
				Why: losesAllObjects + c.whose(c.names(all)), Mend: "remove " + strings.Join(field, "."),
			})
		}
	}
	for _, crd := range c.crds {
		field, mend := fluxSetting(crd, "force", "enabled"), "remove "+fluxGroup+"/force"
		if !c.fluxMayApply() {
			field = nil
		}
		if c.argoCDMayApply() && syncOption(crd, "Force=true") {
			field, mend = []string{"metadata", "annotations", syncOptions}, "remove Force=true from "+syncOptions
		}
		if field != nil {
			findings = append(findings, Finding{
				Object: crd.Object, Field: field, CRDs: []string{crd.Object.GetName()},
				Why: losesAllObjects + crd.Object.GetName(), Mend: mend,
			})
		}
	}
	return findings
}

// replaced: a full update in place of an apply.
func replaced(c check) []Finding {
	var findings []Finding
	if d := c.unit.Delivery; d != nil && c.touches() {
		if field := d.syncOption("Replace=true"); field != nil {
			findings = append(findings, Finding{
				Object: d.Object, Field: field, CRDs: c.names(all),
				Why: dropsAllLabels + c.whose(c.names(all)), Mend: "remove Replace=true" + serverSideInstead,
			})
		}
	}
	for _, crd := range c.crds {
		if c.argoCDMayApply() && syncOption(crd, "Replace=true") {
			findings = append(findings, Finding{
				Object: crd.Object, Field: []string{"metadata", "annotations", syncOptions}, CRDs: []string{crd.Object.GetName()},
				Why: dropsAllLabels + crd.Object.GetName(), Mend: "remove Replace=true from " + syncOptions + serverSideInstead,
			})
		}
	}
	return findings
}

// syncOption tells whether the CRD's annotation holds an option for Argo CD.
func syncOption(crd CRD, option string) bool {
	has, _ := at(crd.Object, "metadata", "annotations", syncOptions).(string)
	for one := range strings.SplitSeq(has, ",") {
		if strings.TrimSpace(one) == option {
			return true
		}
	}
	return false
}
