package optin

import (
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
)

const (
	syncOptions       = "argocd.argoproj.io/sync-options"
	losesAllObjects   = "when the API server refuses a change, the CRD is deleted and created anew, and all its objects are lost: "
	dropsAllLabels    = "every label of the live CRD that is not in Git is dropped at each sync, and when the API server refuses a change the whole sync fails before its first wave: "
	serverSideInstead = "; if the manifest is too large for client-side apply, use ServerSideApply=true"
)

// recreated: removing a version too early is refused, and that is what protects the objects. Force takes the refusal for
// a change that cannot be made in place.
func recreated(c check) []Found {
	var findings []Found
	if c.touches() {
		for _, field := range c.force() {
			findings = append(findings, about(c.unit.By, field, c.names(all),
				losesAllObjects+c.whose(c.names(all)), "remove "+strings.Join(field, ".")))
		}
	}
	for _, crd := range c.crds {
		field, mend := fluxSetting(crd, "force", "enabled"), "remove "+delivery.FluxGroup+"/force"
		if !c.fluxMayApply() {
			field = nil
		}
		if c.argoCDMayApply() && syncOption(crd, "Force=true") {
			field, mend = []string{"metadata", "annotations", syncOptions}, "remove Force=true from "+syncOptions
		}
		if field != nil {
			findings = append(findings, about(crd.Object, field, []string{crd.GetName()},
				losesAllObjects+crd.GetName(), mend))
		}
	}
	return findings
}

// force are the fields that make the tool delete what it cannot change.
func (c check) force() [][]string {
	var fields [][]string
	if c.unit.Tool == delivery.Flux {
		if field := c.setting("force"); c.unit.By.True(field...) {
			fields = append(fields, field)
		}
		return fields
	}
	for _, strategy := range []string{"apply", "hook"} {
		if field := []string{"operation", "sync", "syncStrategy", strategy, "force"}; c.unit.By.True(field...) {
			fields = append(fields, field)
		}
	}
	return fields
}

// syncOption is the field that sets an option for Argo CD, nil if none does.
func (c check) syncOption(option string) []string {
	if c.unit.Tool != delivery.ArgoCD {
		return nil
	}
	options, _ := c.unit.By.Field(c.setting("syncPolicy", "syncOptions")...).([]any)
	if i := slices.Index(options, any(option)); i >= 0 {
		return c.setting("syncPolicy", "syncOptions", strconv.Itoa(i))
	}
	return nil
}

// replaced: a full update in place of an apply.
func replaced(c check) []Found {
	var findings []Found
	if c.touches() {
		if field := c.syncOption("Replace=true"); field != nil {
			findings = append(findings, about(c.unit.By, field, c.names(all),
				dropsAllLabels+c.whose(c.names(all)), "remove Replace=true"+serverSideInstead))
		}
	}
	for _, crd := range c.crds {
		if c.argoCDMayApply() && syncOption(crd, "Replace=true") {
			findings = append(findings, about(crd.Object, []string{"metadata", "annotations", syncOptions}, []string{crd.GetName()},
				dropsAllLabels+crd.GetName(), "remove Replace=true from "+syncOptions+serverSideInstead))
		}
	}
	return findings
}

// syncOption tells whether the CRD's annotation holds an option for Argo CD.
func syncOption(crd delivery.CRD, option string) bool {
	for one := range strings.SplitSeq(crd.Annotation(syncOptions), ",") {
		if strings.TrimSpace(one) == option {
			return true
		}
	}
	return false
}
