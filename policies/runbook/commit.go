package runbook

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/words"
)

// commit is a change of the CRD. Where it is what a VersionRemoval waits for, that one holds it back, so it has to go first.
func (o Observation) commit(change string, holds func(*v1alpha1.VersionRemoval) bool) string {
	var gates []string
	for _, r := range o.removals() {
		if holds(r) {
			gates = append(gates, called(r))
		}
	}
	if len(gates) > 0 {
		change = fmt.Sprintf("%s; in the same commit take out %s, since a VersionRemoval holds back the commit that it waits for", change, strings.Join(gates, ", "))
	}
	if upgrade := o.against(); len(upgrade) > 0 {
		change = fmt.Sprintf("%s; in the same commit take out %s of the upgrade, which wants %s gone", change, strings.Join(words.Of(upgrade, called), ", "), o.To)
	}
	return change
}

// anyGate: until the CRD is opted in, and stores at the new version, no VersionRemoval opens.
func anyGate(*v1alpha1.VersionRemoval) bool { return true }

// waits reports whether a VersionRemoval is not open.
func waits(r *v1alpha1.VersionRemoval) bool {
	state, _, _ := said(r)
	return state != Done
}

// removal is the commit that removes the versions, with what holds it back until they may go.
func (o Observation) removal() string {
	release := ""
	if o.Return != nil && o.Return.Release != nil {
		release = ", as the CRD of " + o.Return.Place + " has it"
	}
	gate := fmt.Sprintf(`apiVersion: %s
kind: VersionRemoval
metadata:
  name: %s
  namespace: default # or another
  annotations:
    argocd.argoproj.io/sync-wave: "-1" # the CRD is in wave 0
spec:
  crdName: %s
  versions: [%s]
  require: [%s, %s, %s]
`, v1alpha1.GroupVersion, o.CRD.Spec.Names.Plural+"-"+strings.Join(o.Leaving, "-"), o.CRD.Name, o.leaving(),
		v1alpha1.Unserved, v1alpha1.NoReferences, v1alpha1.NoStashes)
	return fmt.Sprintf("one commit, with spec.versions without %s%s, and with this in an earlier sync wave than the CRD, or in a Kustomization that the CRD's depends on:\n%s",
		o.leaving(), release, gate)
}
