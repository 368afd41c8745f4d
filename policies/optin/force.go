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
	dropsAllLabels    = "each sync drops every label of the live CRD that Git does not have, and a change that the API server refuses fails the sync before its first wave: "
	serverSideInstead = "; if the manifest is too large for client-side apply, use ServerSideApply=true"
)

// recreatedByTool: removing a version too early is refused, and that is what protects the objects. Force takes the refusal
// for a change that cannot be made in place.
func recreatedByTool(c check) (findings []Found) {
	if c.touches() {
		for _, field := range c.force() {
			findings = append(findings, about(c.unit.By, field, c.names(all), losesAllObjects+c.whose(c.names(all)), "remove "+strings.Join(field, ".")))
		}
	}
	return findings
}

// recreated: the CRD itself asks for force.
func recreated(c check, crd delivery.CRD) []Found {
	switch field := fluxSetting(crd, "force", "enabled"); {
	case c.argoCDMayApply() && syncOption(crd, "Force=true"):
		return aboutCRD(crd, []string{"metadata", "annotations", syncOptions}, losesAllObjects+crd.GetName(), "remove Force=true from "+syncOptions)
	case c.fluxMayApply() && field != nil:
		return aboutCRD(crd, field, losesAllObjects+crd.GetName(), "remove "+delivery.FluxGroup+"/force")
	}
	return nil
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

// replacedByTool: a full update in place of an apply.
func replacedByTool(c check) []Found {
	if !c.touches() {
		return nil
	}
	field := c.syncOption("Replace=true")
	if field == nil {
		return nil
	}
	return []Found{about(c.unit.By, field, c.names(all), dropsAllLabels+c.whose(c.names(all)), "remove Replace=true"+serverSideInstead)}
}

// replaced: the CRD itself asks for it.
func replaced(c check, crd delivery.CRD) []Found {
	if !c.argoCDMayApply() || !syncOption(crd, "Replace=true") {
		return nil
	}
	return aboutCRD(crd, []string{"metadata", "annotations", syncOptions},
		dropsAllLabels+crd.GetName(), "remove Replace=true from "+syncOptions+serverSideInstead)
}

// syncOption reports whether the CRD's annotation holds an option for Argo CD.
func syncOption(crd delivery.CRD, option string) bool {
	for one := range strings.SplitSeq(crd.Annotation(syncOptions), ",") {
		if strings.TrimSpace(one) == option {
			return true
		}
	}
	return false
}
