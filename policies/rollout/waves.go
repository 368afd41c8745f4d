package rollout

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/moult-dev/moult/policies/delivery"
)

// Argo CD's annotations.
const (
	waveAnnotation           = "argocd.argoproj.io/sync-wave"
	compareOptionsAnnotation = "argocd.argoproj.io/compare-options"
)

var phases = []string{delivery.PreSync, delivery.InSync, delivery.PostSync, delivery.SyncFail}

// slot is when in a unit an object is applied: the phase and the wave with Argo CD, always the same with Flux.
type slot struct {
	phase int // in phases
	wave  int
}

func (s slot) compare(other slot) int {
	return cmp.Or(cmp.Compare(s.phase, other.phase), cmp.Compare(s.wave, other.wave))
}

// slotsOf are when Argo CD applies an object: none if it is skipped, several for a hook of several phases.
func slotsOf(o *delivery.Object) []slot {
	wave, err := strconv.Atoi(o.Annotation(waveAnnotation))
	if err != nil {
		wave, _ = strconv.Atoi(o.Annotation("helm.sh/hook-weight"))
	}
	hooks, isHook := o.Phases()
	if !isHook && slices.Contains(hooks, delivery.Skip) {
		return nil
	}
	var slots []slot
	for _, hook := range hooks {
		if phase := slices.Index(phases, hook); phase >= 0 && isHook {
			slots = append(slots, slot{phase: phase, wave: wave})
		}
	}
	if len(slots) == 0 {
		slots = []slot{{phase: slices.Index(phases, delivery.InSync), wave: wave}}
	}
	slices.SortFunc(slots, slot.compare)
	return slices.Compact(slots)
}

// inWaves reports whether a unit is applied wave by wave. Manifests that somebody has rendered are, if they have waves.
func inWaves(u *delivery.Unit) bool {
	if u.Tool != "" {
		return u.Tool == delivery.ArgoCD
	}
	return slices.ContainsFunc(u.Objects, func(o *delivery.Object) bool {
		return o.Annotation(waveAnnotation) != "" || o.Annotation(delivery.ArgoCDHook) != ""
	})
}

// slots are when in the unit an object is applied.
func slots(u *delivery.Unit, o *delivery.Object) []slot {
	if inWaves(u) {
		return slotsOf(o)
	}
	return []slot{{}}
}

// syncOption reports whether an Application sets an option.
func syncOption(u *delivery.Unit, option string) bool {
	return u.By != nil && u.Tool == delivery.ArgoCD && slices.Contains(u.By.Texts("spec", "syncPolicy", "syncOptions"), option)
}
