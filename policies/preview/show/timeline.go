package show

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
)

// wave is all that one cluster applies at the same time.
type wave struct {
	order int
	steps []step
}

type step struct {
	rollout.Step
	items []item
}

// item is one object of a step, and for a removal what holds it.
type item struct {
	rollout.Item
	hold hold
	// gate is the VersionRemoval that holds it, empty if none does.
	gate string
}

// hold tells whether a wave waits. The set is closed.
type hold string

const (
	notHeld hold = "" // it is not a removal
	free    hold = "free"
	shut    hold = "held"
	opening hold = "opening"
	unsure  hold = "unsure"
)

// timeline is a cluster's rollout, in order.
func timeline(r preview.Report, c preview.Cluster) []wave {
	if c.Rollout == nil {
		return nil
	}
	steps := slices.Clone(c.Rollout.Steps)
	slices.SortStableFunc(steps, func(a, b rollout.Step) int { return cmp.Compare(a.Order, b.Order) })
	var waves []wave
	for _, s := range steps {
		shown := step{Step: s}
		for _, i := range s.Items {
			shown.items = append(shown.items, held(r, c, s.Order, i))
		}
		if n := len(waves); n > 0 && waves[n-1].order == s.Order {
			waves[n-1].steps = append(waves[n-1].steps, shown)
			continue
		}
		waves = append(waves, wave{order: s.Order, steps: []step{shown}})
	}
	return waves
}

// held says what holds an item at its place in the order.
func held(r preview.Report, c preview.Cluster, order int, i rollout.Item) item {
	if i.Role != rollout.Removal {
		return item{Item: i}
	}
	gate := gateBefore(c.Rollout.Steps, order, i.Name)
	if gate == "" {
		return item{Item: i, hold: free}
	}
	return item{Item: i, gate: gate, hold: holds(verdictIn(r, i.Name, c.Name))}
}

func holds(v preview.Verdict) hold {
	switch v {
	case preview.Safe, preview.Warned:
		return opening
	case preview.Blocked:
		return shut
	case preview.Unknown:
	}
	return unsure
}

// gateBefore is the gate for a CRD in an earlier step.
func gateBefore(steps []rollout.Step, order int, crd string) string {
	for _, s := range steps {
		for _, i := range s.Items {
			if s.Order < order && i.Role == rollout.Gate && i.CRD == crd {
				return i.Name
			}
		}
	}
	return ""
}

func verdictIn(r preview.Report, crd, cluster string) preview.Verdict {
	for _, c := range r.CRDs {
		for _, in := range c.Clusters {
			if c.Name == crd && in.Cluster == cluster {
				return in.Verdict
			}
		}
	}
	return preview.Unknown
}

// title names a step: an Application's wave, or a Kustomization.
func (s step) title() string {
	title := plain(string(s.Tool) + " " + s.Unit)
	if phase := plain(s.Phase); phase != "" {
		title += ", " + phase
	}
	if s.Wave != nil {
		title += fmt.Sprintf(", wave %d", *s.Wave)
	}
	return title
}

// after says what a step waits for besides its place in the order.
func (s step) after() string {
	names := make([]string, len(s.After))
	for i, name := range s.After {
		names[i] = plain(name)
	}
	return few(names, 5)
}

// label says what kind of thing happens, about what happens to the object that is named between the two.
func (i item) label() string {
	switch i.Role {
	case rollout.Gate:
		return "Gate"
	case rollout.Removal:
		return "Removal"
	case rollout.Flip:
		return "Flip"
	case rollout.Changed:
	}
	return "Change"
}

func (i item) about() string {
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

// waits says what a removal waits for, empty for everything else.
func (i item) waits() string {
	switch i.hold {
	case free:
		return "nothing holds it back"
	case shut:
		return "held here until " + plain(i.gate) + " is Ready"
	case opening:
		return "waits for " + plain(i.gate) + ", which would be Ready now"
	case unsure:
		return "waits for " + plain(i.gate) + "; whether that gets Ready is not known"
	case notHeld:
	}
	return ""
}

// versions lists versions, or says that there is none.
func versions(names []string) string {
	if len(names) == 0 {
		return "no version"
	}
	cleaned := make([]string, len(names))
	for i, name := range names {
		cleaned[i] = plain(name)
	}
	return few(cleaned, 6)
}
