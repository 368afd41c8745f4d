package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/verdict"
	"github.com/moult-dev/moult/policies/words"
)

// wave is all that one cluster applies at the same time.
type wave struct {
	Order int
	Steps []step
}

// step is what is applied at once, and what holds its removals.
type step struct {
	rollout.Step
	Items []item
}

// item is one object of a step, and for a removal what holds it.
type item struct {
	rollout.Item
	Hold hold
	// gate is the VersionRemoval that holds it, empty if none does.
	gate string
	// because is why that does not let it pass: the kind of its first blocker, empty if there is none.
	because string
	// tool applies the gate.
	tool delivery.Tool
	// notEnforced says why the gate does not hold it although it is there, or may not; empty if it does.
	notEnforced string
}

// hold reports whether a wave waits. The set is closed.
type hold string

const (
	notHeld hold = "" // it is not a removal
	free    hold = "free"
	shut    hold = "held"
	opening hold = "opening"
	failing hold = "fails"
	unsure  hold = "unsure"
)

// affected are the steps in which something matters, and those that they wait for; a cluster may have hundreds of others.
func affected(all []rollout.Step) (steps []rollout.Step) {
	var names []string
	for _, s := range all {
		if len(s.Items) > 0 {
			names = append(append(names, s.Unit), s.After...)
		}
	}
	for _, s := range all {
		if len(s.Items) > 0 || slices.Contains(names, s.Unit) {
			steps = append(steps, s)
		}
	}
	return steps
}

// timeline is a cluster's rollout as far as it is affected, in order.
func timeline(r preview.Report, c preview.Cluster) []wave {
	if c.Rollout == nil {
		return nil
	}
	steps := affected(c.Rollout.Steps)
	slices.SortStableFunc(steps, func(a, b rollout.Step) int { return cmp.Compare(a.Order, b.Order) })
	var waves []wave
	for _, s := range steps {
		shown := step{Step: s}
		for _, i := range s.Items {
			shown.Items = append(shown.Items, held(r, c, s.Order, i))
		}
		if n := len(waves); n > 0 && waves[n-1].Order == s.Order {
			waves[n-1].Steps = append(waves[n-1].Steps, shown)
			continue
		}
		waves = append(waves, wave{Order: s.Order, Steps: []step{shown}})
	}
	return waves
}

// held says what holds an item at its place in the order.
func held(r preview.Report, c preview.Cluster, order int, i rollout.Item) item {
	if i.Role != rollout.Removal {
		return item{Item: i}
	}
	shown := item{Item: i, Hold: free}
	for _, gate := range gatesBefore(c.Rollout.Steps, order, i.Name) {
		why, severity := notEnforced(r, c.Name, i.Name, gate.name)
		if severity != finding.Error {
			in := inClusterOf(r, i.Name, c.Name)
			shown = item{Item: i, gate: gate.name, tool: gate.tool, notEnforced: why, Hold: holds(in.State)}
			if len(in.Blockers) > 0 {
				shown.because = in.Blockers[0].Kind
			}
			if shown.Hold == shut && shown.moves() {
				shown.Hold = opening
			}
			return shown
		}
		shown.gate, shown.notEnforced = gate.name, why
	}
	return shown
}

// notEnforced is why a gate does not hold a removal, in the words of the gravest finding about it.
func notEnforced(r preview.Report, cluster, crd, gate string) (why string, severity finding.Severity) {
	for _, f := range r.Findings {
		if f.CRD == crd && (f.Cluster == cluster || f.Cluster == "") && slices.Contains(rollout.NotEnforced, f.Rule) && strings.Contains(f.Why, gate) &&
			f.Severity.Weight() > severity.Weight() {
			why, severity = f.Why, f.Severity
		}
	}
	return why, severity
}

// holds asks what the gate says. The verdict also weighs what no gate knows, such as a field that is lost.
func holds(s verdict.State) hold {
	switch s {
	case verdict.Ready:
		return opening
	case verdict.Progressing:
		return shut
	case verdict.Stalled:
		return failing
	}
	return unsure
}

// gateBefore is a gate in an earlier step, and the tool that applies it.
type gateBefore struct {
	name string
	tool delivery.Tool
}

// gatesBefore are the gates for a CRD in earlier steps.
func gatesBefore(steps []rollout.Step, order int, crd string) (gates []gateBefore) {
	for _, s := range steps {
		for _, i := range s.Items {
			if s.Order < order && i.Role == rollout.Gate && i.CRD == crd {
				gates = append(gates, gateBefore{name: i.Name, tool: s.Tool})
			}
		}
	}
	return gates
}

func inClusterOf(r preview.Report, crd, cluster string) (none preview.InCluster) {
	for _, c := range r.CRDs {
		for _, in := range c.Clusters {
			if c.Name == crd && in.Cluster == cluster {
				return in
			}
		}
	}
	return none
}

// Title names a step: an Application's wave, or a Kustomization.
func (s step) Title() string {
	title := plain(string(s.Tool) + " " + s.Unit)
	if phase := plain(s.Phase); phase != "" {
		title += ", " + phase
	}
	if s.Wave != nil {
		title += fmt.Sprintf(", wave %d", *s.Wave)
	}
	return title
}

// Waits says what a step waits for besides its place in the order.
func (s step) Waits() string {
	return words.Few(words.Of(s.After, plain), 5)
}

// Label says what kind of thing happens, about what happens to the object that is named between the two.
func (i item) Label() string {
	return map[rollout.Role]string{rollout.Gate: "Gate", rollout.Removal: "Removal", rollout.Flip: "Flip", rollout.Changed: "Change"}[i.Role]
}

// About says what happens to the object.
func (i item) About() string {
	switch i.Role {
	case rollout.Gate:
		return "for " + versions(i.Versions) + " of " + plain(i.CRD)
	case rollout.Removal:
		return "loses " + versions(i.Versions)
	case rollout.Flip:
		return "gets another storage version"
	case rollout.Changed:
	}
	return ""
}

// Waits says what a removal waits for, empty for everything else.
func (i item) Waits() string {
	switch why := plain(i.notEnforced); {
	case why != "" && i.Hold == free:
		return "not held back: " + why
	case why != "":
		return i.waitsFor() + "; but " + why
	}
	return i.waitsFor()
}

func (i item) waitsFor() string {
	switch i.Hold {
	case free:
		return "nothing holds it back"
	case failing:
		return "fails here: " + i.fails()
	case shut:
		return "held here until " + plain(i.gate) + " is Ready"
	case opening:
		if i.moves() {
			return "waits for " + plain(i.gate) + ", which opens once managedFields are moved"
		}
		return "waits for " + plain(i.gate) + ", which would be Ready now"
	case unsure:
		return "waits for " + plain(i.gate) + "; whether that gets Ready is not known"
	case notHeld:
	}
	return ""
}

// moves reports whether the gate has nothing left to wait for but that managedFields are moved, which it asks for itself.
func (i item) moves() bool {
	return i.because == v1alpha1.ReasonRepairingOwnership || i.because == preview.ReasonOwnershipNotRepaired
}

// fails is what the tools make of a gate that is Stalled. kstatus calls it failed, which ends Flux's wait at once. Argo
// CD's health check calls it Degraded, which fails the sync.
func (i item) fails() string {
	why := ""
	if i.because != "" {
		why = " (" + plain(i.because) + ")"
	}
	switch i.tool {
	case delivery.Flux:
		return plain(i.gate) + " is Stalled" + why + ", so its Kustomization fails at once"
	case delivery.ArgoCD:
		return plain(i.gate) + " is Degraded" + why + ", so the sync fails"
	case delivery.Helm: // whether it waits for other kinds than its own depends on its release
	}
	return plain(i.gate) + " is Stalled" + why + ", and stays so until something else is committed"
}

// versions lists versions, or says that there is none.
func versions(names []string) string {
	return cmp.Or(few(names), "no version")
}

// few are some names, and how many more there are; empty if there is none.
func few(names []string) string { return words.Few(words.Of(names, plain), 6) }

// OtherObjects counts what a step applies besides its items; empty if there is nothing.
func (s step) OtherObjects() string {
	if s.Others == 0 {
		return ""
	}
	return count(s.Others, "other object")
}
