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
func serverSideDiffStops(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, d := range l.removals() {
		by, place := l.serverSideDiff(d)
		if by == "" {
			continue
		}
		f := finding.Finding{
			Severity: finding.Warning, CRD: d.Name, Place: place,
			Why:  fmt.Sprintf("with ServerSideDiff=true (%s) the whole Application shows a ComparisonError, and nothing of this commit is applied, until %s is no longer a stored version", by, list(d.Removed)),
			Mend: "let the migration end before this is merged, or expect the error until then",
		}
		if !d.Base.OptedIn() {
			f.Severity = finding.Error
			f.Why = fmt.Sprintf("with ServerSideDiff=true (%s) nothing of this commit is applied while %s is a stored version, the opt-in label neither: it stays so forever", by, list(d.Removed))
			f.Mend = "opt the CRD in with a commit of its own, before this one"
		}
		findings = append(findings, f)
	}
	return findings
}

// serverSideDiff says what makes Argo CD compare a CRD by a dry run, empty if nothing here does.
func (l *look) serverSideDiff(d delivered) (by string, place finding.Place) {
	u := d.node.unit
	if u.By == nil || u.Tool != delivery.ArgoCD {
		return "", place
	}
	options := u.By.Annotation(compareOptionsAnnotation) + "," + d.object.Annotation(compareOptionsAnnotation)
	switch {
	case strings.Contains(options, "ServerSideDiff=false"):
		return "", place
	case strings.Contains(options, "ServerSideDiff=true"):
		return "in " + compareOptionsAnnotation, u.By.Place("metadata", "annotations", compareOptionsAnnotation)
	}
	const key = "controller.diff.server.side"
	for _, config := range l.configMaps("argocd-cmd-params-cm") {
		if config.Text("data", key) == "true" {
			return key + " in argocd-cmd-params-cm", config.Place("data", key)
		}
	}
	return "", place
}

// gated are the units that a gate for a removal holds up, each once.
func (l *look) gated(tool delivery.Tool) []guard {
	var found []guard
	seen := map[*delivery.Unit]bool{}
	for _, g := range l.guards() {
		if u := g.gate.unit; u.Tool == tool && u.By != nil && !seen[u] {
			seen[u] = true
			found = append(found, g)
		}
	}
	return found
}

// syncWaitsForever: Argo CD waits for a wave as long as it takes, and looks at no newer commit meanwhile.
func syncWaitsForever(l *look) []finding.Finding {
	const key = "controller.sync.timeout.seconds"
	configs := l.configMaps("argocd-cmd-params-cm")
	var findings []finding.Finding
	for _, g := range l.gated(delivery.ArgoCD) {
		f := finding.Finding{
			Severity: finding.Info, CRD: g.crd.Name, Place: g.gate.unit.By.Place("spec", "syncPolicy"),
			Why:  fmt.Sprintf("a sync of %s that waits for VersionRemoval %s ends only if %s is set in argocd-cmd-params-cm, which is not among these manifests; newer commits wait with it", g.gate.unit.Name, g.gate.name(), key),
			Mend: fmt.Sprintf(`set %s, for example to "3600"`, key),
		}
		ends := false
		for _, config := range configs {
			seconds := config.Text("data", key)
			ends = ends || seconds != "" && seconds != "0"
			f.Severity, f.Place = finding.Warning, config.Place("data", key)
			f.Why = fmt.Sprintf("a sync of %s that waits for VersionRemoval %s never ends: argocd-cmd-params-cm does not set %s; newer commits wait with it", g.gate.unit.Name, g.gate.name(), key)
		}
		if !ends {
			findings = append(findings, f)
		}
	}
	return findings
}

// retriesOldCommit: what repairs a failed sync is a newer commit, which is looked at after the last retry.
func retriesOldCommit(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.gated(delivery.ArgoCD) {
		by := g.gate.unit.By
		if by.Field("spec", "syncPolicy", "automated") == nil || by.True("spec", "syncPolicy", "retry", "refresh") {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Info, CRD: g.crd.Name, Place: by.Place("spec", "syncPolicy", "retry"),
			Why:  fmt.Sprintf("if the sync of %s fails, Argo CD tries this very commit again, and the one that repairs it comes after the last retry", g.gate.unit.Name),
			Mend: "set spec.syncPolicy.retry.refresh: true",
		})
	}
	return findings
}

// shortest is what a gate takes at least: the settle time of 90 seconds, and the walk after it.
const shortest = 2 * time.Minute

// timeoutTooShort: each time it runs out the Kustomization fails, and is tried again after its retryInterval.
func timeoutTooShort(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.gated(delivery.Flux) {
		u := g.gate.unit
		length, field := timeout(u)
		if length == 0 || length >= shortest {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, CRD: g.crd.Name, Place: u.By.Place("spec", field),
			Why:  fmt.Sprintf("%s waits %s for VersionRemoval %s (spec.%s), which takes 90 seconds after the storage version has changed and then as long as the objects take; until then it fails again and again", u.Name, length, g.gate.name(), field),
			Mend: "set spec.timeout to 10m or more, and spec.retryInterval to what you would wait after that",
		})
	}
	return findings
}

// suspendedUnit: what is merged does not arrive, or arrives without its gate. A unit that is changed itself has to be
// applied by another one first.
func suspendedUnit(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, u := range l.concerned() {
		why, field := suspended(u)
		if why == "" {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, Place: u.By.Place(field...),
			Why:  fmt.Sprintf("%s is suspended (%s), so this change does not reach the cluster until it is resumed, and then together with all that came after it", u.Name, why),
			Mend: "resume it before the merge, one commit at a time",
		})
	}
	return findings
}

// concerned are the units that hold a CRD that changes or a gate for one, and those that apply them anew.
func (l *look) concerned() []*delivery.Unit {
	var units []*delivery.Unit
	add := func(u *delivery.Unit) {
		for ; u != nil && !slices.Contains(units, u); u = u.Parent {
			units = append(units, u)
			if !l.unitChanges(u) {
				return
			}
		}
	}
	for _, d := range l.changed {
		add(d.node.unit)
	}
	for _, g := range l.guards() {
		add(g.gate.unit)
	}
	return units
}

// dependencyCycle: none of the units is ever applied.
func dependencyCycle(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, cycle := range l.order.cycles {
		u := l.head.Unit(cycle[0])
		if !slices.ContainsFunc(cycle, func(name string) bool { return l.relevant(l.head.Unit(name)) }) {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Error, Place: u.By.Place("spec", "dependsOn"),
			Why:  "these wait for one another, so none of them is applied: " + strings.Join(cycle, ", "),
			Mend: "take one out of dependsOn; a Kustomization with wait: true waits for those it applies, too",
		})
	}
	return findings
}

// dependencyMissing: Flux waits for what may never come.
func dependencyMissing(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, m := range l.order.missing {
		if !l.relevant(m.unit) {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, Place: m.unit.By.Place("spec", "dependsOn"),
			Why:  fmt.Sprintf("%s waits for %s, which is not among these manifests; if it is not in the cluster either, nothing is applied", m.unit.Name, m.name),
			Mend: "correct the name or the namespace, if it is wrong",
		})
	}
	return findings
}

// relevant tells whether a unit has to do with the pull request.
func (l *look) relevant(u *delivery.Unit) bool {
	return slices.Contains(l.concerned(), u) || l.unitChanges(u)
}
