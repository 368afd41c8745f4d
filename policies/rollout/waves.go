package rollout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
)

// Argo CD's annotations.
const (
	waveAnnotation           = "argocd.argoproj.io/sync-wave"
	hookAnnotation           = "argocd.argoproj.io/hook"
	compareOptionsAnnotation = "argocd.argoproj.io/compare-options"
)

// The phases of a sync, in their order. What is no hook is applied in the phase Sync.
const (
	preSync  = "PreSync"
	inSync   = "Sync"
	postSync = "PostSync"
	syncFail = "SyncFail"
)

var phases = []string{preSync, inSync, postSync, syncFail}

// helmHooks are those that Argo CD takes for its own.
var helmHooks = map[string]string{
	"crd-install": preSync, "pre-install": preSync, "pre-upgrade": preSync,
	"post-install": postSync, "post-upgrade": postSync,
}

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
	hooks := cmp.Or(o.Annotation(hookAnnotation), o.Annotation("helm.sh/hook"))
	var slots []slot
	for hook := range strings.SplitSeq(hooks, ",") {
		hook = strings.TrimSpace(hook)
		if hook == "Skip" {
			return nil
		}
		if helm, ok := helmHooks[hook]; ok {
			hook = helm
		}
		if phase := slices.Index(phases, hook); phase >= 0 {
			slots = append(slots, slot{phase: phase, wave: wave})
		}
	}
	if len(slots) == 0 {
		slots = []slot{{phase: slices.Index(phases, inSync), wave: wave}}
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
		return o.Annotation(waveAnnotation) != "" || o.Annotation(hookAnnotation) != ""
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
