package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// serverSideDiffStops: the dry run of a CRD without a stored version fails, and with it the whole comparison; nothing of
// the commit is applied, the gate neither. It goes on once the migration of earlier commits is over.
func serverSideDiffStops(s *situation, crd changedCRD) *finding.Finding {
	by, place := s.serverSideDiff(crd)
	if by == "" {
		return nil
	}
	if !crd.Base.OptedIn() {
		return &finding.Finding{
			Severity: finding.Error, CRD: crd.Name, Place: place,
			Why:         fmt.Sprintf("with ServerSideDiff=true (%s) nothing of this commit is applied while %s is a stored version. The opt-in label is not applied either, so this never ends", by, list(crd.Removed)),
			Remediation: "opt the CRD in with a commit of its own, before this one",
		}
	}
	return &finding.Finding{
		Severity: finding.Warning, CRD: crd.Name, Place: place,
		Why:         fmt.Sprintf("with ServerSideDiff=true (%s) the whole Application shows a ComparisonError, and nothing of this commit is applied, until %s is no longer a stored version. With the policy moult-version-removal on deny it never ends, since the VersionRemoval is not applied either", by, list(crd.Removed)),
		Remediation: "annotate the Application with argocd.argoproj.io/compare-options: ServerSideDiff=false before this is merged",
	}
}

// serverSideDiff says what makes Argo CD compare a CRD by a dry run, empty if nothing here does.
func (s *situation) serverSideDiff(crd changedCRD) (by string, place finding.Place) {
	u := crd.node.unit
	if u.By == nil || u.Tool != delivery.ArgoCD {
		return "", place
	}
	options := u.By.Annotation(compareOptionsAnnotation) + "," + crd.object.Annotation(compareOptionsAnnotation)
	switch {
	case strings.Contains(options, "ServerSideDiff=false"):
		return "", place
	case strings.Contains(options, "ServerSideDiff=true"):
		return "in " + compareOptionsAnnotation, u.By.Place("metadata", "annotations", compareOptionsAnnotation)
	}
	const key = "controller.diff.server.side"
	for _, config := range s.configMaps("argocd-cmd-params-cm") {
		if config.Text("data", key) == "true" {
			return key + " in argocd-cmd-params-cm", config.Place("data", key)
		}
	}
	return "", place
}

// gatedBy are the units of a tool that a gate for a removal holds up, each once.
func gatedBy(tool delivery.Tool) func(*situation) []guard {
	return func(s *situation) []guard {
		var found []guard
		for _, g := range s.guards() {
			u := g.gate.unit
			if u.Tool == tool && u.By != nil && !slices.ContainsFunc(found, func(other guard) bool { return other.gate.unit == u }) {
				found = append(found, g)
			}
		}
		return found
	}
}

// syncWaitsForever: Argo CD waits for a wave as long as it takes, and looks at no newer commit meanwhile.
func syncWaitsForever(s *situation, g guard) *finding.Finding {
	const key = "controller.sync.timeout.seconds"
	f := &finding.Finding{
		Severity: finding.Info, CRD: g.crd.Name, Place: g.gate.unit.By.Place("spec", "syncPolicy"),
		Why:         fmt.Sprintf("a sync of %s that waits for VersionRemoval %s ends only if %s is set in argocd-cmd-params-cm, which is not among these manifests; newer commits wait with it", g.gate.unit.Name, g.gate.name(), key),
		Remediation: fmt.Sprintf(`set %s, for example to "3600"`, key),
	}
	for _, config := range s.configMaps("argocd-cmd-params-cm") {
		if seconds := config.Text("data", key); seconds != "" && seconds != "0" {
			return nil
		}
		f.Severity, f.Place = finding.Warning, config.Place("data", key)
		f.Why = fmt.Sprintf("a sync of %s that waits for VersionRemoval %s never ends: argocd-cmd-params-cm does not set %s; newer commits wait with it", g.gate.unit.Name, g.gate.name(), key)
	}
	return f
}

// retriesOldCommit: what repairs a failed sync is a newer commit, which is looked at after the last retry.
func retriesOldCommit(_ *situation, g guard) *finding.Finding {
	by := g.gate.unit.By
	if by.Field("spec", "syncPolicy", "automated") == nil || by.True("spec", "syncPolicy", "retry", "refresh") {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Info, CRD: g.crd.Name, Place: by.Place("spec", "syncPolicy", "retry"),
		Why:         fmt.Sprintf("if the sync of %s fails, Argo CD retries this commit; a commit that repairs it is applied only after the last retry", g.gate.unit.Name),
		Remediation: "set spec.syncPolicy.retry.refresh: true",
	}
}

// shortest is what a gate takes at least: the settle time of 90 seconds, and the walk after it.
const shortest = 2 * time.Minute

// timeoutTooShort: each time it runs out the Kustomization fails, and is tried again after its retryInterval.
func timeoutTooShort(_ *situation, g guard) *finding.Finding {
	u := g.gate.unit
	length, field := timeout(u)
	if field == "" || length >= shortest {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Warning, CRD: g.crd.Name, Place: u.By.Place("spec", field),
		Why:         fmt.Sprintf("%s waits %s for VersionRemoval %s (spec.%s). The VersionRemoval takes 90 seconds after the change of the storage version, plus the time for the objects; until then %s fails repeatedly", u.Name, length, g.gate.name(), field, u.Name),
		Remediation: "set spec.timeout to 10m or more, and spec.retryInterval to what you would wait after that",
	}
}

// suspendedUnit: what is merged does not arrive, or arrives without its gate. A unit that is changed itself has to be
// applied by another one first.
func suspendedUnit(_ *situation, u *delivery.Unit) *finding.Finding {
	why, field := suspended(u)
	if why == "" {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Warning, Place: u.By.Place(field...),
		Why:         fmt.Sprintf("%s is suspended (%s), so this change does not reach the cluster until it is resumed, and then together with all that came after it", u.Name, why),
		Remediation: "resume it before the merge, one commit at a time",
	}
}

// concerned are the units that hold a CRD that changes or a gate for one, and those that apply them anew.
func (s *situation) concerned() []*delivery.Unit {
	var units []*delivery.Unit
	for _, m := range s.projectMembers() {
		for u := m.unit; u != nil && !slices.Contains(units, u); u = u.Parent {
			units = append(units, u)
			if !s.unitChanges(u) {
				break
			}
		}
	}
	return units
}

func (s *situation) cycles() [][]string { return s.order.cycles }

// dependencyCycle: none of the units is ever applied.
func dependencyCycle(s *situation, cycle []string) *finding.Finding {
	if !slices.ContainsFunc(cycle, func(name string) bool { return s.relevant(s.head.Unit(name)) }) {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Error, Place: s.head.Unit(cycle[0]).By.Place("spec", "dependsOn"),
		Why:         "these wait for one another, so none of them is applied: " + strings.Join(cycle, ", "),
		Remediation: "take one out of dependsOn; a Kustomization with wait: true waits for those it applies, too",
	}
}

func (s *situation) missing() []missing { return s.order.missing }

// dependencyMissing: Flux waits for what may never come.
func dependencyMissing(s *situation, m missing) *finding.Finding {
	if !s.relevant(m.unit) {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Warning, Place: m.unit.By.Place("spec", "dependsOn"),
		Why:         fmt.Sprintf("%s waits for %s, which is not among these manifests; if it is not in the cluster either, nothing is applied", m.unit.Name, m.name),
		Remediation: "correct the name or the namespace, if it is wrong",
	}
}

// relevant reports whether a unit has to do with the pull request.
func (s *situation) relevant(u *delivery.Unit) bool {
	return slices.Contains(s.concerned(), u) || s.unitChanges(u)
}
