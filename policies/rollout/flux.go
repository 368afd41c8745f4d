package rollout

import (
	"time"

	"github.com/moult-dev/moult/policies/optin"
)

// waitsForAll tells whether a Kustomization is ready only when all that it has applied is.
func (u *Unit) waitsForAll() bool {
	return u.Tool == optin.Flux && u.By != nil && u.By.truth("spec", "wait")
}

// checks tells whether a Kustomization is ready only when an object is.
func (u *Unit) checks(gate *Object) bool {
	if u.Tool != optin.Flux || u.By == nil {
		return false
	}
	if u.waitsForAll() {
		return true
	}
	for _, check := range u.By.entries("spec", "healthChecks") {
		if check.text("kind") == gate.GetKind() && check.text("name") == gate.GetName() && check.text("namespace") == gate.GetNamespace() {
			return true
		}
	}
	return false
}

// timeout is how long a Kustomization waits for what it has applied: spec.timeout, or else its interval. 0 if neither
// can be read.
func (u *Unit) timeout() (length time.Duration, field string) {
	for _, field := range []string{"timeout", "interval"} {
		if length, err := time.ParseDuration(u.By.text("spec", field)); err == nil && length > 0 {
			return length, field
		}
	}
	return 0, ""
}

// suspended says why the tool does not look at a unit for now, and in which field; empty if it does.
func (u *Unit) suspended() (why string, field []string) {
	switch {
	case u.By == nil:
		return "", nil
	case u.Tool == optin.Flux && u.By.truth("spec", "suspend"):
		return "spec.suspend is true", []string{"spec", "suspend"}
	case u.Tool == optin.ArgoCD && u.By.annotation("argocd.argoproj.io/skip-reconcile") == "true":
		return "argocd.argoproj.io/skip-reconcile is true", []string{"metadata", "annotations", "argocd.argoproj.io/skip-reconcile"}
	}
	return "", nil
}
