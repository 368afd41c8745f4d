package rollout

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/moult-dev/moult/policies/delivery"
)

// With the strategy RollingSync, the controller of ApplicationSets syncs an Application when all those in earlier steps are
// healthy, as far as it has noticed. It does so only if a flag switches that on. test/e2e/argocd plays it with Argo CD.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Progressive-Syncs/

// connectSteps lets an Application of a RollingSync come after those in the steps before that hold gates or CRDs. What else is
// there comes before nothing that matters, and there may be a thousand of them.
func (o *order) connectSteps(base, c *delivery.Cluster) {
	if stepsAreOff(c) {
		return
	}
	for _, from := range c.Units {
		if from.Set == nil || !slices.ContainsFunc(from.Objects, func(object *delivery.Object) bool { return object.IsGate() || object.IsCRD() }) {
			continue
		}
		for _, to := range c.Units {
			if !inEarlierStep(from, to) || !stepsBefore(base, from, to) {
				continue
			}
			all := o.of(from.Name)
			last := all[len(all)-1]
			last.edges = append(last.edges, edge{to: o.first[to.Name], kind: nextStep, unlocked: missedStep(base, from, to)})
		}
	}
}

// missedStep is when the later of two steps does not wait for a gate in the earlier one.
func missedStep(base *delivery.Cluster, from, to *delivery.Unit) string {
	why := fmt.Sprintf("%s is in an earlier step of the RollingSync of ApplicationSet %s, which counts only if the controller of ApplicationSets runs with --enable-progressive-syncs", from.Name, to.Set.GetName())
	if releaseOf(base, from) == created && releaseOf(base, to) == created {
		return why
	}
	return why + fmt.Sprintf(", and holds %s only if Argo CD compares %s with the new commit no later than it", to.Name, from.Name)
}

// stepsAreOff reports whether Argo CD's settings in the repository switch steps off. By default they are off, too, but an
// argument or a variable of the controller may switch them on.
func stepsAreOff(c *delivery.Cluster) bool {
	return slices.ContainsFunc(c.Named("ConfigMap", "", "argocd-cmd-params-cm"), func(config *delivery.Object) bool {
		on, err := strconv.ParseBool(config.Text("data", "applicationsetcontroller.enable.progressive.syncs"))
		return err == nil && !on
	})
}

// stepsBefore reports whether the order of two Applications counts when the commit arrives. One that is there takes the commit
// before the ApplicationSet changes, so it has to have been in a later step already.
func stepsBefore(base *delivery.Cluster, from, to *delivery.Unit) bool {
	if releaseOf(base, to) == created {
		return true
	}
	wasFrom, wasTo := base.Unit(from.Name), base.Unit(to.Name)
	return wasFrom != nil && wasTo != nil && !stepsAreOff(base) && inEarlierStep(wasFrom, wasTo) && wasTo.Set.Same(to.Set)
}

// inEarlierStep reports whether two Applications are of one ApplicationSet, and the first is in an earlier step.
func inEarlierStep(from, to *delivery.Unit) bool {
	if from == to || from.Set == nil || to.Set == nil || !from.Set.Same(to.Set) || !hasSteps(to.Set) {
		return false
	}
	first, second := stepOf(from), stepOf(to)
	return first >= 0 && first < second
}

// hasSteps reports whether the Applications of an ApplicationSet are synced step by step, and by nothing else. The controller
// has to be the one that writes their spec, since it is there that it switches automated sync off.
func hasSteps(set *delivery.Object) bool {
	policy := set.Text("spec", "syncPolicy", "applicationsSync")
	return set.Text("spec", "strategy", "type") == "RollingSync" &&
		slices.Contains([]string{"", "sync", "create-update"}, policy) &&
		set.Field("spec", "ignoreApplicationDifferences") == nil
}

// stepOf is the first step that takes an Application, counted from 0; -1 if none does, and then nothing syncs it.
func stepOf(u *delivery.Unit) int {
	labels := u.By.TextMap("metadata", "labels")
	return slices.IndexFunc(u.Set.Entries("spec", "strategy", "rollingSync", "steps"), func(step *delivery.Object) bool {
		return !slices.ContainsFunc(step.Entries("matchExpressions"), func(e *delivery.Object) bool { return !matches(e, labels) })
	})
}

// matches is what the controller makes of an expression. Without the label, anything but In is true.
// https://github.com/argoproj/argo-cd/blob/v3.5.7/applicationset/progressivesync/progressive_sync.go (buildAppDependencyList)
func matches(expression *delivery.Object, labels map[string]string) bool {
	value, there := labels[expression.Text("key")]
	listed := slices.Contains(expression.Texts("values"), value)
	switch operator := expression.Text("operator"); {
	case !there:
		return operator != "In"
	case operator == "In":
		return listed
	case operator == "NotIn":
		return !listed
	}
	return false
}
