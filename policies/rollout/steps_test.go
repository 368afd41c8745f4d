package rollout

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/delivery"
)

const (
	mayBeMissed = "GateMayBeMissed warning entry/crds/metadata.name"
	independent = "GateNotEarlier error argocd/gates/gone"
)

// stepCases are about Applications in the steps of a RollingSync.
var stepCases = map[string]ruleCase{
	"in steps, both are there":             {world: "steps", want: []string{mayBeMissed}, why: "only if Argo CD compares argocd/gates with the new commit no later than it"},
	"in steps, the later one is new":       {world: "steps", base: newInSteps, want: []string{mayBeMissed}, why: "compares argocd/gates with the new commit"},
	"in steps, both are new":               {world: "steps", base: with(newInSteps, newGates), want: []string{mayBeMissed}, why: "argocd/crds may not wait for VersionRemoval widgets/gone: argocd/gates is in an earlier step of the RollingSync of ApplicationSet two, which counts only if the controller of ApplicationSets runs with --enable-progressive-syncs", notWhy: "compares"},
	"in steps, only the gate's is new":     {world: "steps", base: newGates, want: []string{independent}, why: "applied independently of one another"},
	"in steps, renamed":                    {world: "steps", base: renamed, want: []string{independent}},
	"in steps, both follow a tag":          {world: "steps", base: atRevision("one"), head: atRevision("two"), want: []string{mayBeMissed, "SourceMoved warning", "SourceMoved warning"}},
	"in one step":                          {world: "steps", head: []string{"step: second}", "step: first}"}, want: []string{independent}},
	"in the steps the wrong way round":     {world: "steps", head: []string{"[first]", "[x]", "[second]", "[first]", "[x]", "[second]"}, want: []string{independent}},
	"the gate is in no step":               {world: "steps", head: []string{"step: first}", "step: third}"}, want: []string{independent}},
	"the CRD is in no step":                {world: "steps", head: []string{"step: second}", "step: third}"}, want: []string{independent}},
	"the steps come with the commit":       {world: "steps", base: []string{"RollingSync", "AllAtOnce"}, want: []string{independent}},
	"the order comes with the commit":      {world: "steps", base: []string{"step: second}", "step: first}"}, want: []string{independent}},
	"the ApplicationSet is another one":    {world: "steps", base: []string{"name: two", "name: old", "set: two", "set: old"}, want: []string{independent}},
	"they are of no ApplicationSet":        {world: "steps", base: []string{"set: two", "set: none"}, head: []string{"set: two", "set: none"}, want: []string{independent}},
	"another strategy":                     {world: "steps", base: newInSteps, head: []string{"RollingSync", "AllAtOnce"}, want: []string{independent}},
	"its Applications are not updated":     {world: "steps", base: newInSteps, head: []string{"  strategy:", "  syncPolicy: {applicationsSync: create-only}\n  strategy:"}, want: []string{independent}},
	"its Applications are not deleted":     {world: "steps", base: newInSteps, head: []string{"  strategy:", "  syncPolicy: {applicationsSync: create-update}\n  strategy:"}, want: []string{mayBeMissed}},
	"automated sync may stay":              {world: "steps", base: newInSteps, head: []string{"  strategy:", "  ignoreApplicationDifferences: [{jsonPointers: [/spec/syncPolicy]}]\n  strategy:"}, want: []string{independent}},
	"the controller does no steps":         {world: "steps", base: newInSteps, head: stepsOff, want: []string{independent}},
	"the controller did no steps":          {world: "steps", base: stepsOff, want: []string{independent}},
	"the controller does steps":            {world: "steps", base: stepsOn, head: stepsOn, want: []string{mayBeMissed}},
	"in steps, the gate is beside the CRD": {world: "steps", head: []string{"=== argocd/gates" + theGate + "=== argocd/crds", "=== argocd/gates\n=== argocd/crds" + theGate + "---"}},
}

var (
	newInSteps = slices.Concat(renamed, []string{"path: crds}", "path: old}"})
	newGates   = []string{"name: gates,", "name: older,", "/gates\n", "/older\n", "path: gates}", "path: older}"}
	stepsOff   = []string{`seconds: "3600"`, `seconds: "3600", applicationsetcontroller.enable.progressive.syncs: "false"`}
	stepsOn    = []string{`seconds: "3600"`, `seconds: "3600", applicationsetcontroller.enable.progressive.syncs: "true"`}
)

func TestAnApplicationIsInTheFirstStepThatTakesIt(t *testing.T) {
	expression := func(key, operator string, values ...any) any {
		return map[string]any{"key": key, "operator": operator, "values": values}
	}
	for name, c := range map[string]struct {
		steps [][]any
		want  int
	}{
		"the one with its label":       {[][]any{{expression("env", "In", "prod")}, {expression("env", "In", "qa", "dev")}}, 1},
		"the first of several":         {[][]any{{expression("env", "In", "dev")}, {expression("env", "In", "dev")}}, 0},
		"none":                         {[][]any{{expression("env", "In", "prod")}}, -1},
		"all expressions have to hold": {[][]any{{expression("env", "In", "dev"), expression("zone", "In", "b")}}, -1},
		"without expressions, all":     {[][]any{{}}, 0},
		"a label that it has not":      {[][]any{{expression("other", "In", "dev")}}, -1},
		"not in":                       {[][]any{{expression("env", "NotIn", "dev")}, {expression("env", "NotIn", "prod")}}, 1},
		"not in, without the label":    {[][]any{{expression("other", "NotIn", "dev")}}, 0},
		"Exists is no operator here":   {[][]any{{expression("env", "Exists")}}, -1},
		"and true without the label":   {[][]any{{expression("other", "Exists")}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []any
			for _, expressions := range c.steps {
				steps = append(steps, map[string]any{"matchExpressions": expressions})
			}
			u := &delivery.Unit{
				By:  delivery.Wrap(map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": "dev", "zone": "a"}}}),
				Set: delivery.Wrap(map[string]any{"spec": map[string]any{"strategy": map[string]any{"rollingSync": map[string]any{"steps": steps}}}}),
			}
			NewWithT(t).Expect(stepOf(u)).To(Equal(c.want))
		})
	}
}
