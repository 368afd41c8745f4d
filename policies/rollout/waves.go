package rollout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/optin"
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
func slotsOf(o *Object) []slot {
	wave, err := strconv.Atoi(o.annotation(waveAnnotation))
	if err != nil {
		wave, _ = strconv.Atoi(o.annotation("helm.sh/hook-weight"))
	}
	hooks := o.annotation(hookAnnotation)
	if hooks == "" {
		hooks = o.annotation("helm.sh/hook")
	}
	var slots []slot
	known := hooks == ""
	for hook := range strings.SplitSeq(hooks, ",") {
		hook = strings.TrimSpace(hook)
		if hook == "Skip" {
			return nil
		}
		if helm, ok := helmHooks[hook]; ok {
			hook = helm
		}
		if phase := slices.Index(phases, hook); phase >= 0 {
			known = true
			slots = append(slots, slot{phase: phase, wave: wave})
		}
	}
	if !known || len(slots) == 0 {
		slots = []slot{{phase: slices.Index(phases, inSync), wave: wave}}
	}
	slices.SortFunc(slots, slot.compare)
	return slices.Compact(slots)
}

// inWaves tells whether a unit is applied wave by wave. Manifests that somebody has rendered are, if they say so.
func (u *Unit) inWaves() bool {
	if u.Tool != "" {
		return u.Tool == optin.ArgoCD
	}
	return slices.ContainsFunc(u.Objects, func(o *Object) bool {
		return o.annotation(waveAnnotation) != "" || o.annotation(hookAnnotation) != ""
	})
}

// slots are when in the unit an object is applied.
func (u *Unit) slots(o *Object) []slot {
	if u.inWaves() {
		return slotsOf(o)
	}
	return []slot{{}}
}

// syncOption tells whether an Application sets an option.
func (u *Unit) syncOption(option string) bool {
	return u.By != nil && u.Tool == optin.ArgoCD && slices.Contains(u.By.texts("spec", "syncPolicy", "syncOptions"), option)
}
