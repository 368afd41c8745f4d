package delivery

import (
	"slices"
	"strings"
)

// Annotations about when a tool applies an object.
const (
	ArgoCDHook = "argocd.argoproj.io/hook"
	HelmHook   = "helm.sh/hook"
)

// The phases of a sync of Argo CD's, in their order. What is no hook is applied in the phase Sync. Skip is for what is not applied at all.
const (
	PreSync  = "PreSync"
	InSync   = "Sync"
	PostSync = "PostSync"
	SyncFail = "SyncFail"
	Skip     = "Skip"
)

// helmHooks are those that Argo CD takes for its own.
var helmHooks = map[string]string{"pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync}

// Phases are when Argo CD applies an object that is a hook: none for one of another occasion, such as a test of Helm's. A hook is no part of what
// is kept in the cluster. What is no hook has none either.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/gitops-engine/pkg/sync/hook/hook.go (IsHook, Types)
func (o *Object) Phases() (phases []string, isHook bool) {
	own, is := o.GetAnnotations()[ArgoCDHook]
	helm, isHelms := o.GetAnnotations()[HelmHook]
	for one := range strings.SplitSeq(own, ",") {
		if one = strings.TrimSpace(one); slices.Contains([]string{PreSync, InSync, PostSync, SyncFail, Skip}, one) {
			phases = append(phases, one)
		}
	}
	if len(phases) == 0 {
		for one := range strings.SplitSeq(helm, ",") {
			if phase := helmHooks[strings.TrimSpace(one)]; phase != "" {
				phases = append(phases, phase)
			}
		}
	}
	if is {
		return phases, !slices.Equal(phases, []string{Skip})
	}
	return phases, isHelms && helm != "crd-install" // which CRDs have that are for an older Helm
}
