package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// guard is a gate with what it is to guard, and how well it does.
type guard struct {
	gate gate
	crd  delivered
	way  way
	why  string
}

// guards are all pairs of a removal and a gate for it.
func (l *look) guards() []guard {
	health := l.knowsHealthOf("argoproj.io", "Application")
	var found []guard
	for _, d := range l.removals() {
		for _, g := range l.gatesFor(d) {
			best := guard{gate: g, crd: d}
			for _, n := range g.nodes {
				if w, why := l.order.between(n, g.object, d.node, health); w >= best.way {
					best.way, best.why = w, why
				}
			}
			found = append(found, best)
		}
	}
	return found
}

// gateNotEarlier: in one wave CRDs come before their objects, and in one Kustomization nothing is waited for.
func gateNotEarlier(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.guards() {
		if g.way != none {
			continue
		}
		f := finding.Finding{Severity: finding.Error, CRD: g.crd.Name, Place: g.gate.object.Place()}
		f.Why, f.Mend = g.placing()
		if g.gate.unit.Tool == "" && !inWaves(g.gate.unit) {
			f.Severity = finding.Warning // these manifests do not say who applies them
		}
		findings = append(findings, f)
	}
	return findings
}

// placing says where a gate stands, and where it belongs.
func (g guard) placing() (why, mend string) {
	from, to := g.gate.unit, g.crd.node.unit
	name := "VersionRemoval " + g.gate.name()
	switch {
	case from == to && from.Tool == delivery.Flux:
		return fmt.Sprintf("%s is in the same Kustomization as the CRD (%s), which applies both at once", name, from.Name),
			"move it to a Kustomization of its own with wait: true, and list that one under dependsOn of " + to.Name
	case from == to && inWaves(from):
		wave := g.crd.node.slot.wave
		return fmt.Sprintf("%s is not in a lower sync wave than the CRD, which is in wave %d", name, wave),
			fmt.Sprintf(`annotate it with %s: "%d"`, waveAnnotation, wave-1)
	case from == to:
		return fmt.Sprintf("nothing says that %s is applied before the CRD: these manifests have neither sync waves nor Kustomizations", name),
			"name the entry point of a cluster to see who applies them, or give them sync waves"
	case to.Tool == delivery.Flux:
		return fmt.Sprintf("%s is in %s, and the CRD's %s does not depend on that", name, from.Name, to.Name),
			"list " + from.Name + " under dependsOn of " + to.Name
	}
	return fmt.Sprintf("%s is in %s and the CRD in %s, which are applied independently of one another", name, from.Name, to.Name),
		"put both into one Application, in a lower sync wave than the CRD"
}

// gateNotWaitedFor: a Kustomization is ready when it is applied, unless it is told to look at what it has applied.
func gateNotWaitedFor(l *look) []finding.Finding {
	return l.each(unwatched, func(g guard) finding.Finding {
		from := g.gate.unit
		return finding.Finding{
			Severity: finding.Error, CRD: g.crd.Name, Place: from.By.Place("spec"),
			Why:  fmt.Sprintf("%s is ready as soon as VersionRemoval %s is applied, whether it is Ready or not", from.Name, g.gate.name()),
			Mend: "set wait: true in " + from.Name,
		}
	})
}

// gateAtOtherCommit: only Kustomizations of one source wait for one another at the same commit.
func gateAtOtherCommit(l *look) []finding.Finding {
	return l.each(otherCommit, func(g guard) finding.Finding {
		to := g.crd.node.unit
		return finding.Finding{
			Severity: finding.Warning, CRD: g.crd.Name, Place: to.By.Place("spec", "dependsOn"),
			Why:  fmt.Sprintf("%s may apply this commit while %s is still Ready at the one before, without VersionRemoval %s: %s", to.Name, g.gate.unit.Name, g.gate.name(), g.why),
			Mend: "let both be of the same source, without readyExpr",
		}
	})
}

// applicationHealthUnknown: Argo CD does not wait for an Application in an app of apps unless argocd-cm has a health
// check for it.
func applicationHealthUnknown(l *look) []finding.Finding {
	return l.each(unhealthy, func(g guard) finding.Finding {
		return finding.Finding{
			Severity: finding.Warning, CRD: g.crd.Name, Place: g.gate.unit.By.Place("metadata", "annotations", waveAnnotation),
			Why:  fmt.Sprintf("%s is applied after %s, with VersionRemoval %s, but Argo CD waits for an Application only if argocd-cm has a health check for it, and none is in this repository", g.crd.node.unit.Name, g.gate.unit.Name, g.gate.name()),
			Mend: "add resource.customizations.health.argoproj.io_Application to argocd-cm, or put both into one Application",
		}
	})
}

func (l *look) each(w way, find func(guard) finding.Finding) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.guards() {
		if g.way == w {
			findings = append(findings, find(g))
		}
	}
	return findings
}

// gateUnchanged: with ApplyOutOfSyncOnly, and in a sync of selected resources, Argo CD applies what differs and waits for
// nothing else.
func gateUnchanged(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.guards() {
		if !inWaves(g.gate.unit) || !l.before(g.gate) {
			continue
		}
		f := finding.Finding{
			Severity: finding.Warning, CRD: g.crd.Name, Place: g.gate.object.Place("spec"),
			Why:  fmt.Sprintf("VersionRemoval %s is as it was before this commit, and a sync that applies only what differs does not wait for it", g.gate.name()),
			Mend: "change its spec in the commit that removes the version, or make another one under a new name",
		}
		if syncOption(g.gate.unit, "ApplyOutOfSyncOnly=true") {
			f.Severity = finding.Error
			f.Why = fmt.Sprintf("VersionRemoval %s is as it was before this commit, and with ApplyOutOfSyncOnly=true %s does not wait for it", g.gate.name(), g.gate.unit.Name)
		}
		findings = append(findings, f)
	}
	return findings
}

// gateHealthUnseen: a kind that Argo CD does not know is healthy as soon as it exists.
func gateHealthUnseen(l *look) []finding.Finding {
	var findings []finding.Finding
	for _, g := range l.guards() {
		if !inWaves(g.gate.unit) || l.knowsHealthOf("moult.dev", "VersionRemoval") {
			continue
		}
		findings = append(findings, finding.Finding{
			Severity: finding.Info, CRD: g.crd.Name, Place: g.gate.object.Place(),
			Why:  "Argo CD waits for a VersionRemoval only if argocd-cm has Moult's health check, which is not among these manifests",
			Mend: "see to it with `moult check argocd`; clusters/components/argocd-health installs it",
		})
	}
	return findings
}

// knowsHealthOf tells whether an argocd-cm in the repository has a health check for a kind.
func (l *look) knowsHealthOf(group, kind string) bool {
	for _, config := range l.configMaps("argocd-cm") {
		if config.Text("data", "resource.customizations.health."+group+"_"+kind) != "" ||
			strings.Contains(config.Text("data", "resource.customizations"), group+"/"+kind+":") {
			return true
		}
	}
	return false
}

// configMaps of a name, whichever unit holds them.
func (l *look) configMaps(name string) []*delivery.Object {
	var found []*delivery.Object
	for _, u := range l.head.Units {
		found = append(found, slices.DeleteFunc(slices.Clone(u.Objects), func(o *delivery.Object) bool {
			return o.GetKind() != "ConfigMap" || o.GetName() != name
		})...)
	}
	return found
}
