package optin

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// rule finds one kind of thing to fix.
type rule struct {
	name string
	find func(check) []Found
}

// ofCRDs is a rule about each CRD by itself.
func ofCRDs(find func(check, delivery.CRD) []Found) func(check) []Found {
	return func(c check) (findings []Found) {
		for _, crd := range c.crds {
			findings = append(findings, find(c, crd)...)
		}
		return findings
	}
}

// rules is the specification: what has to be the case for a CRD from Git to be migrated. The order is that of the way
// from Git to the cluster, so that the first finding about a CRD is the one to fix first.
var rules = []rule{
	{NotLabelled, ofCRDs(notLabelled)},
	{ReachesNothing, reachesNothing},
	{Recreated, recreatedByTool},
	{Recreated, ofCRDs(recreated)},
	{Replaced, replacedByTool},
	{Replaced, ofCRDs(replaced)},
	{NotApplied, ofCRDs(notApplied)},
	{DifferencesIgnored, differencesIgnored},
	{Substituted, ofCRDs(substituted)},
	{OtherMigrator, otherMigrator},
}

// notLabelled: Moult leaves alone what does not carry the label.
func notLabelled(c check, crd delivery.CRD) []Found {
	if crd.OptedIn(c.LabelKey) {
		return nil
	}
	why, fix := c.missing(crd)
	return aboutCRD(crd, []string{"metadata", "labels", c.LabelKey}, why,
		fix+fmt.Sprintf("; or leave the CRD out with the label %s: %q", c.LabelKey, v1alpha1.MigrateLabelExcluded))
}

// missing says how the label is missing.
func (c check) missing(crd delivery.CRD) (why, fix string) {
	says := fmt.Sprintf("%s: %q", c.LabelKey, v1alpha1.MigrateLabelValue)
	switch value := crd.Label(c.LabelKey).(type) {
	case nil:
	case string:
		return fmt.Sprintf("the label %s is %q, and only %q opts in", c.LabelKey, value, v1alpha1.MigrateLabelValue), "write " + says
	default:
		return fmt.Sprintf("the label %s is not a string, which the API server refuses", c.LabelKey), "write " + says + " with quotation marks"
	}
	if crd.Field("metadata", "annotations", c.LabelKey) != nil {
		return fmt.Sprintf("%s is an annotation, and has to be a label", c.LabelKey), "move it to metadata.labels"
	}
	why = fmt.Sprintf("it has %d versions (%s) and not the label %s, so nothing migrates its objects",
		len(crd.Versions()), strings.Join(crd.Versions(), ", "), c.LabelKey)
	return why, c.howToOptIn()
}

func (c check) howToOptIn() string {
	switch {
	case c.unit.By == nil:
		return "`moult opt-in PATH` adds the label to what a kustomization builds, and `moult opt-in --print patch` prints the patch"
	case c.unit.Tool == delivery.Flux:
		return "`moult opt-in --print flux` prints what to add to the Kustomization"
	case c.unit.Tool == delivery.Helm:
		return "`moult opt-in --print patch` prints a patch for spec.postRenderers of the HelmRelease, which reaches the CRDs of a chart's templates and not those of its crds/"
	default:
		return "`moult opt-in --print argocd` prints what to add to the Application"
	}
}

// reachesNothing: Kustomize takes a target that matches nothing for a success, and null for the wish to remove a label.
func reachesNothing(c check) []Found {
	if c.unseen {
		return nil // they are those of the build
	}
	var findings []Found
	for _, patch := range c.unit.Patches {
		if patch.Reached > 0 && !patch.TakesOff {
			continue
		}
		why := fmt.Sprintf("a patch for the label %s matches no CRD in the build of %s", c.LabelKey, c.unit.Build())
		fix := "correct its target, list it where the CRDs are built, or remove it"
		if patch.Reached > 0 {
			why = fmt.Sprintf("a patch has %s: null, so in the build of %s it takes the label off and opts no CRD in (with a target, Kustomize writes the word null)", c.LabelKey, c.unit.Build())
			fix = fmt.Sprintf("write %s: %q in it, or %q to leave CRDs out on purpose, or remove it", c.LabelKey, v1alpha1.MigrateLabelValue, v1alpha1.MigrateLabelExcluded)
		}
		f := Found{Finding: finding.Finding{Place: finding.Place{File: patch.File, Line: patch.Line}, Why: why, Remediation: fix}}
		if patch.File == "" {
			f = about(c.unit.By, patch.Field, nil, why, fix)
		}
		findings = append(findings, f)
	}
	return findings
}

// notApplied: a label in Git does nothing if the CRD is not applied again.
func notApplied(c check, crd delivery.CRD) (findings []Found) {
	for _, setting := range []struct{ key, value, why string }{
		{"ssa", "Ignore", "Flux never applies the CRD"},
		{"ssa", "IfNotPresent", "Flux applies the CRD only where there is none, so neither the label nor another version reaches a cluster that has it"},
		{"reconcile", "disabled", "Flux does not reconcile the CRD"},
	} {
		if field := fluxSetting(crd, setting.key, setting.value); field != nil && c.fluxMayApply() {
			findings = append(findings, aboutCRD(crd, field, setting.why, "remove "+field[len(field)-1])...)
		}
	}
	return findings
}

// fluxMayApply: settings for Flux on a CRD do nothing if Argo CD applies it.
func (c check) fluxMayApply() bool { return c.unit.By == nil || c.unit.Tool == delivery.Flux }

func (c check) argoCDMayApply() bool {
	return c.unit.By == nil || c.unit.Tool == delivery.ArgoCD
}

// fluxSetting is the field in which a CRD has a setting for Flux, which looks at labels and annotations and does not
// mind capitals; nil if it is not set.
func fluxSetting(crd delivery.CRD, key, value string) []string {
	key = delivery.FluxGroup + "/" + key
	for _, where := range []string{"annotations", "labels"} {
		if strings.EqualFold(crd.Text("metadata", where, key), value) {
			return []string{"metadata", where, key}
		}
	}
	return nil
}
