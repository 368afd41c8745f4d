package rollout

import (
	"slices"
	"time"

	"github.com/moult-dev/moult/policies/delivery"
)

// waitsForAll reports whether a Kustomization is ready only when all that it has applied is.
func waitsForAll(u *delivery.Unit) bool {
	return u.Tool == delivery.Flux && u.By != nil && u.By.True("spec", "wait")
}

// checks reports whether a Kustomization is ready only when an object is.
func checks(u *delivery.Unit, gate *delivery.Object) bool {
	if u.Tool != delivery.Flux || u.By == nil {
		return false
	}
	return waitsForAll(u) || slices.ContainsFunc(u.By.Entries("spec", "healthChecks"), func(check *delivery.Object) bool {
		return check.Text("kind") == gate.GetKind() && check.Text("name") == gate.GetName() && check.Text("namespace") == gate.GetNamespace()
	})
}

// timeout is how long a Kustomization waits for what it has applied: spec.timeout, or else its interval. The field is empty
// if neither can be read.
func timeout(u *delivery.Unit) (length time.Duration, field string) {
	for _, field := range []string{"timeout", "interval"} {
		if length, err := time.ParseDuration(u.By.Text("spec", field)); err == nil {
			return length, field
		}
	}
	return 0, ""
}

// suspended says why the tool does not look at a unit for now, and in which field; empty if it does.
func suspended(u *delivery.Unit) (why string, field []string) {
	switch {
	case u.By == nil:
		return "", nil
	case u.Tool != delivery.ArgoCD && u.By.True("spec", "suspend"):
		return "spec.suspend is true", []string{"spec", "suspend"}
	case u.Tool == delivery.ArgoCD && u.By.Annotation("argocd.argoproj.io/skip-reconcile") == "true":
		return "argocd.argoproj.io/skip-reconcile is true", []string{"metadata", "annotations", "argocd.argoproj.io/skip-reconcile"}
	}
	return "", nil
}
