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
	gate        gate
	crd         changedCRD
	enforcement enforcement
	// why the gate is not enforced, if that is not the same for all.
	why string
}

// guards are all pairs of a removal and a gate for it.
func (s *situation) guards() []guard {
	var found []guard
	for _, crd := range s.removals() {
		for _, g := range s.gates {
			if !g.concerns(crd) {
				continue
			}
			e, why := s.enforcement(g, crd.node)
			found = append(found, guard{gate: g, crd: crd, enforcement: e, why: why})
		}
	}
	return found
}

// enforcement is how well a gate holds a node back, and why no better.
func (s *situation) enforcement(g gate, to *node) (best enforcement, why string) {
	health := s.knowsHealthOf("argoproj.io", "Application")
	for _, n := range s.order.of(g.unit.Name) {
		if !slices.Contains(n.objects, g.object) {
			continue
		}
		if e, weakness := s.order.between(n, g.object, to, health); e >= best {
			best, why = e, weakness
		}
	}
	return best, why
}

// guardsOf are those that hold just so well.
func guardsOf(e enforcement) func(*situation) []guard {
	return func(s *situation) []guard {
		return slices.DeleteFunc(s.guards(), func(g guard) bool { return g.enforcement != e })
	}
}

// NotEnforced are the rules by which a VersionRemoval that is there does not hold the removal back, or may not.
var NotEnforced = []string{
	GateLacksVersion, GateNotEarlier, GateNotWaitedFor, GateNotHeldByParent, GateMayBeMissed, GateAtOtherCommit, ApplicationHealthUnknown, GateUnchanged,
}

// gateNotEarlier: in one wave CRDs come before their objects, and in one Kustomization nothing is waited for.
func gateNotEarlier(_ *situation, g guard) *finding.Finding {
	f := &finding.Finding{Severity: finding.Error, CRD: g.crd.Name, Place: g.gate.object.Place()}
	f.Why, f.Remediation = g.placing()
	if g.gate.unit.Tool == "" && !inWaves(g.gate.unit) {
		f.Severity = finding.Warning // these manifests do not say who applies them
	}
	return f
}

// placing says where a gate stands, and where it belongs.
func (g guard) placing() (why, fix string) {
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
		return fmt.Sprintf("%s is in %s, and the CRD's %s does not depend on that", name, from.Name, to.Name), dependOn(to, from)
	case to.Tool == delivery.Helm && to.Parent != nil && to.Parent.Tool == delivery.Flux:
		return fmt.Sprintf("%s is in %s, and %s, which applies the CRD's %s, does not depend on that", name, from.Name, to.Parent.Name, to.Name),
			dependOn(to.Parent, from)
	}
	return fmt.Sprintf("%s is in %s and the CRD in %s, which are applied independently of one another", name, from.Name, to.Name),
		"put both into one Application, in a lower sync wave than the CRD"
}

// dependOn has a Kustomization wait for the one of the gate. One that applies the other would wait for itself.
func dependOn(to, gate *delivery.Unit) string {
	var above []*delivery.Unit
	for u := gate.Parent; u != nil && !slices.Contains(above, u); u = u.Parent {
		above = append(above, u)
	}
	if slices.Contains(above, to) {
		return fmt.Sprintf("move what brings the CRD to a Kustomization of its own, with %s under dependsOn; %s applies %[1]s, so it cannot wait for it. In a commit before, annotate what moves with kustomize.toolkit.fluxcd.io/prune: disabled, or Flux may delete it", gate.Name, to.Name)
	}
	return "list " + gate.Name + " under dependsOn of " + to.Name
}

// gateNotWaitedFor: a Kustomization is ready when it is applied, or with `wait` when what it has applied is.
func gateNotWaitedFor(_ *situation, g guard) *finding.Finding {
	from := g.gate.unit
	return &finding.Finding{
		Severity: finding.Error, CRD: g.crd.Name, Place: from.By.Place("spec"),
		Why:         fmt.Sprintf("%s is ready as soon as VersionRemoval %s is applied, whether it is Ready or not", from.Name, g.gate.name()),
		Remediation: "set wait: true in " + from.Name,
	}
}

// gateNotHeldByParent: what waits for a parent is the parent's own sync. A Kustomization or an Application that exists
// follows its source whatever becomes of that, and so does a HelmRelease of a chart that comes without a change of its manifest.
func gateNotHeldByParent(_ *situation, g guard) *finding.Finding {
	to := g.crd.node.unit
	f := &finding.Finding{
		Severity: finding.Error, CRD: g.crd.Name, Place: to.By.Place("metadata", "name"),
		Why: fmt.Sprintf("%s takes the commit by itself, and only its parent %s waits for VersionRemoval %s, in %s: a parent holds what it applies only until that is created",
			to.Name, to.Parent.Name, g.gate.name(), g.gate.unit.Name),
		Remediation: "put the VersionRemoval and the CRD into one Application, in a lower sync wave than the CRD",
	}
	switch to.Tool {
	case delivery.Flux:
		f.Remediation = dependOn(to, g.gate.unit)
	case delivery.Helm:
		f.Remediation = "name an exact version of a chart of a HelmRepository in " + to.Name + ", and keep its source and its values in " + to.Parent.Name
	case delivery.ArgoCD:
	}
	return f
}

// gateMayBeMissed: an Application that takes a commit is as healthy as it was until Argo CD has compared it again. A wave is
// over after two seconds (ARGOCD_SYNC_WAVE_DELAY) if all in it is healthy, and a step of a RollingSync at once.
func gateMayBeMissed(_ *situation, g guard) *finding.Finding {
	to := g.crd.node.unit
	f := &finding.Finding{
		Severity: finding.Warning, CRD: g.crd.Name, Place: to.By.Place("metadata", "name"),
		Remediation: "put the VersionRemoval and the CRD into one Application, in a lower sync wave than the CRD",
	}
	if g.why != "" {
		f.Why = fmt.Sprintf("%s may not wait for VersionRemoval %s: %s", to.Name, g.gate.name(), g.why)
		return f
	}
	f.Why = fmt.Sprintf("%s is in a later sync wave of %s than %s, with VersionRemoval %s. But that one counts as healthy until Argo CD has compared it with the new commit. If this takes longer than the pause after a wave (2 s), nothing is waited for",
		to.Name, to.Parent.Name, g.gate.unit.Name, g.gate.name())
	return f
}

// gateAtOtherCommit: only Kustomizations of one source wait for one another at the same commit.
func gateAtOtherCommit(_ *situation, g guard) *finding.Finding {
	to := g.crd.node.unit
	return &finding.Finding{
		Severity: finding.Warning, CRD: g.crd.Name, Place: to.By.Place("spec", "dependsOn"),
		Why:         fmt.Sprintf("%s may apply this commit while %s is still Ready at the one before, without VersionRemoval %s: %s", to.Name, g.gate.unit.Name, g.gate.name(), g.why),
		Remediation: "give both the same source, and remove readyExpr",
	}
}

// applicationHealthUnknown: Argo CD waits for an Application in an app of apps only if argocd-cm has a health
// check for it.
func applicationHealthUnknown(_ *situation, g guard) *finding.Finding {
	return &finding.Finding{
		Severity: finding.Warning, CRD: g.crd.Name, Place: g.gate.unit.By.Place("metadata", "annotations", waveAnnotation),
		Why:         fmt.Sprintf("%s is applied after %s, with VersionRemoval %s, but Argo CD waits for an Application only if argocd-cm has a health check for it, and none is in this repository", g.crd.node.unit.Name, g.gate.unit.Name, g.gate.name()),
		Remediation: "add resource.customizations.health.argoproj.io_Application to argocd-cm, or put both into one Application",
	}
}

// gateUnchanged: with ApplyOutOfSyncOnly, and in a sync of selected resources, Argo CD applies what differs and waits for
// nothing else.
func gateUnchanged(s *situation, g guard) *finding.Finding {
	if !inWaves(g.gate.unit) || !s.before(g.gate) {
		return nil
	}
	f := &finding.Finding{
		Severity: finding.Warning, CRD: g.crd.Name, Place: g.gate.object.Place("spec"),
		Why:         fmt.Sprintf("this commit does not change VersionRemoval %s, and a sync that applies only differences does not wait for it", g.gate.name()),
		Remediation: "change its spec in the commit that removes the version, or make another one under a new name",
	}
	if syncOption(g.gate.unit, "ApplyOutOfSyncOnly=true") {
		f.Severity = finding.Error
		f.Why = fmt.Sprintf("VersionRemoval %s is as it was before this commit, and with ApplyOutOfSyncOnly=true %s does not wait for it", g.gate.name(), g.gate.unit.Name)
	}
	return f
}

// gatePassedOver: a sync that has failed or was ended has applied the gate. With ApplyOutOfSyncOnly, the next one leaves out what is
// as Git has it (gitops-engine, pkg/sync/sync_context.go, filterOutOfSyncTasks), and with it the wait.
func gatePassedOver(s *situation, g guard) *finding.Finding {
	if !inWaves(g.gate.unit) || s.before(g.gate) || !syncOption(g.gate.unit, "ApplyOutOfSyncOnly=true") {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Warning, CRD: g.crd.Name, Place: g.gate.unit.By.Place("spec", "syncPolicy", "syncOptions"),
		Why:         fmt.Sprintf("if a sync of %s fails or is ended while VersionRemoval %s is not Ready, the next one passes it over: with ApplyOutOfSyncOnly=true it leaves out what is in sync", g.gate.unit.Name, g.gate.name()),
		Remediation: "take ApplyOutOfSyncOnly=true out of the Application",
	}
}

// gateHealthUnseen: a kind that Argo CD does not know is healthy as soon as it exists.
func gateHealthUnseen(s *situation, g guard) *finding.Finding {
	if !inWaves(g.gate.unit) || s.knowsHealthOf("moult.dev", "VersionRemoval") {
		return nil
	}
	return &finding.Finding{
		Severity: finding.Info, CRD: g.crd.Name, Place: g.gate.object.Place(),
		Why:         "Argo CD waits for a VersionRemoval only if argocd-cm has Moult's health check, which is not among these manifests",
		Remediation: "see to it with `moult check argocd`; clusters/components/argocd-health installs it",
	}
}

// knowsHealthOf reports whether an argocd-cm in the repository has a health check for a kind.
func (s *situation) knowsHealthOf(group, kind string) bool {
	return slices.ContainsFunc(s.configMaps("argocd-cm"), func(config *delivery.Object) bool {
		return config.Text("data", "resource.customizations.health."+group+"_"+kind) != "" ||
			strings.Contains(config.Text("data", "resource.customizations"), group+"/"+kind+":")
	})
}

// configMaps of a name, whichever unit holds them.
func (s *situation) configMaps(name string) []*delivery.Object {
	return s.head.Named("ConfigMap", "", name)
}
