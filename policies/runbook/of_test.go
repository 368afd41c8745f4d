package runbook_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
)

// observed is a CRD that is opted in, of these versions, of which the last one is stored, and what is changed of it.
func observed(versions []string, change ...func(*runbook.Observation)) runbook.Observation {
	o := runbook.Observation{
		CRD:      builders.CRD("example.com", "widgets").Versions(versions...).Storage(versions[len(versions)-1]).OptedIn().Build(),
		LabelKey: v1alpha1.MigrateLabel, Program: "moult", Folder: "config/crd",
	}
	o.CRD.Status.StoredVersions = versions
	for _, c := range change {
		c(&o)
	}
	return o
}

// says gives the CRD the condition.
func says(status apiextensionsv1.ConditionStatus, reason string) func(*runbook.Observation) {
	return func(o *runbook.Observation) {
		o.CRD.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{
			Type: v1alpha1.StorageMigrated, Status: status, Reason: reason, Message: v1alpha1.Message(o.CRD.Generation, "said"),
		}}
	}
}

// answered adds a VersionRemoval of v1alpha1 with an answer.
func answered(ready metav1.ConditionStatus, reason string, stalled bool, require ...v1alpha1.Requirement) func(*runbook.Observation) {
	return func(o *runbook.Observation) {
		r := v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", Generation: 1}}
		r.Spec = v1alpha1.VersionRemovalSpec{CRDName: o.CRD.Name, Versions: []string{"v1alpha1"}, Require: require}
		r.Status.ObservedGeneration = 1
		r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: ready, Reason: reason, Message: "said"}}
		if stalled {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue, Reason: reason})
		}
		o.Removals = append(o.Removals, r)
	}
}

func unserved(o *runbook.Observation) { o.CRD.Spec.Versions[0].Served = false }

func TestWhatIsNext(t *testing.T) {
	two, migrated := []string{"v1alpha1", "v1"}, says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated)
	all := []v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.NoReferences, v1alpha1.NoStashes}
	for name, c := range map[string]struct {
		versions []string
		change   []func(*runbook.Observation)
		next     runbook.Name
		state    runbook.State
	}{
		"the new version is not served":       {two, []func(*runbook.Observation){func(o *runbook.Observation) { o.To, o.Leaving = "v2", []string{"v1"} }}, runbook.Serve, runbook.Next},
		"the label is not there":              {two, []func(*runbook.Observation){func(o *runbook.Observation) { o.CRD.Labels = nil }}, runbook.OptIn, runbook.Next},
		"the old version is stored":           {[]string{"v1", "v1alpha1"}, nil, runbook.Flip, runbook.Next},
		"nobody has looked yet":               {two, nil, runbook.Migrate, runbook.Waiting},
		"the walk is under way":               {two, []func(*runbook.Observation){says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating)}, runbook.Migrate, runbook.Waiting},
		"fields would be lost":                {two, []func(*runbook.Observation){says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonFieldsWouldBeLost)}, runbook.Migrate, runbook.Held},
		"the CRD is paused":                   {two, []func(*runbook.Observation){says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonPaused)}, runbook.Migrate, runbook.Held},
		"it is migrated":                      {two, []func(*runbook.Observation){migrated}, runbook.Unserve, runbook.Next},
		"it is unserved and nobody has asked": {two, []func(*runbook.Observation){migrated, unserved}, runbook.Ask, runbook.Next},
		"VersionRemovals cannot be read":      {two, []func(*runbook.Observation){migrated, unserved, func(o *runbook.Observation) { o.NoRemovals = "forbidden" }}, runbook.Ask, runbook.Unknown},
		"something names the version": {two, []func(*runbook.Observation){migrated, answered(metav1.ConditionFalse, v1alpha1.ReasonStillReferenced, true, all...)},
			runbook.Look, runbook.Held},
		"the version is served": {two, []func(*runbook.Observation){migrated, answered(metav1.ConditionFalse, v1alpha1.ReasonStillServed, true, all...)},
			runbook.Unserve, runbook.Next},
		"Moult has not answered": {two, []func(*runbook.Observation){migrated, unserved, answered(metav1.ConditionFalse, v1alpha1.ReasonSafeToRemove, false),
			func(o *runbook.Observation) { o.Removals[0].Generation = 2 }}, runbook.Wait, runbook.Waiting},
		"one of two gates is open": {two, []func(*runbook.Observation){migrated, unserved, answered(metav1.ConditionTrue, v1alpha1.ReasonSafeToRemove, false, all...),
			answered(metav1.ConditionFalse, v1alpha1.ReasonMigrating, false, all...)}, runbook.Wait, runbook.Waiting},
		"the gate is open": {two, []func(*runbook.Observation){migrated, unserved, answered(metav1.ConditionTrue, v1alpha1.ReasonSafeToRemove, false, all...)},
			runbook.Remove, runbook.Next},
		"one version has no gate": {[]string{"v1alpha1", "v1beta1", "v1"}, []func(*runbook.Observation){migrated, func(o *runbook.Observation) {
			o.Leaving = []string{"v1alpha1", "v1beta1"}
			o.CRD.Spec.Versions[0].Served, o.CRD.Spec.Versions[1].Served = false, false
		}, answered(metav1.ConditionTrue, v1alpha1.ReasonSafeToRemove, false, all...)}, runbook.Ask, runbook.Next},
		"the version is gone": {[]string{"v1"}, []func(*runbook.Observation){migrated, answered(metav1.ConditionTrue, v1alpha1.ReasonAlreadyRemoved, false, all...)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := runbook.Of(observed(c.versions, c.change...))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Next).To(Equal(c.next), "%+v", p.Steps)
			for _, s := range p.Steps {
				if s.Name == c.next {
					g.Expect(s.State).To(Equal(c.state))
				}
			}
		})
	}
}

// Secrets have owners, which the garbage collector looks for at the version, and hold Helm's releases.
func TestTheLookReadsSecrets(t *testing.T) {
	g := NewWithT(t)
	p, err := runbook.Of(observed([]string{"v1alpha1", "v1"}))
	g.Expect(err).NotTo(HaveOccurred())
	look := slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == runbook.Look })
	g.Expect(p.Steps[look].Commands[0]).To(Equal("moult survivors widgets.example.com --version v1alpha1 --secrets"))
}

// Whatever the cluster shows, a plan has one next step at the most, and never says to remove what is not proved and asked for.
func TestNoStepIsNamedTooSoon(t *testing.T) {
	reasons := []string{v1alpha1.ReasonMigrated, v1alpha1.ReasonMigrating, v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonSafeToRemove, v1alpha1.ReasonStillServed, v1alpha1.ReasonStillStashed}
	rapid.Check(t, func(rt *rapid.T) {
		versions := rapid.SampledFrom([][]string{{"v1alpha1", "v1"}, {"v1", "v1alpha1"}, {"v1alpha1", "v1beta1", "v1"}, {"v1"}}).Draw(rt, "versions")
		o := observed(versions)
		for i := range o.CRD.Spec.Versions {
			o.CRD.Spec.Versions[i].Served = rapid.Bool().Draw(rt, "served")
		}
		o.CRD.Generation = rapid.Int64Range(1, 2).Draw(rt, "generation")
		if rapid.Bool().Draw(rt, "labelled") {
			o.CRD.Labels = nil
		}
		if rapid.Bool().Draw(rt, "condition") {
			says(rapid.SampledFrom([]apiextensionsv1.ConditionStatus{"True", "False", "Unknown"}).Draw(rt, "status"), rapid.SampledFrom(reasons).Draw(rt, "reason"))(&o)
		}
		for range rapid.IntRange(0, 2).Draw(rt, "removals") {
			answered(rapid.SampledFrom([]metav1.ConditionStatus{"True", "False", "Unknown"}).Draw(rt, "ready"), rapid.SampledFrom(reasons).Draw(rt, "why"), rapid.Bool().Draw(rt, "stalled"),
				rapid.SliceOf(rapid.SampledFrom([]v1alpha1.Requirement{v1alpha1.Unserved, v1alpha1.NoReferences, v1alpha1.NoStashes})).Draw(rt, "require")...)(&o)
		}
		if rapid.Bool().Draw(rt, "forbidden") {
			o.NoRemovals = "forbidden"
		}
		if rapid.Bool().Draw(rt, "deleted") {
			o.CRD.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		p, err := runbook.Of(o)
		if err != nil {
			return
		}
		states := map[runbook.Name]runbook.State{}
		next := 0
		for _, s := range p.Steps {
			states[s.Name] = s.State
			if s.State == runbook.Next {
				next++
			}
		}
		if next > 1 {
			rt.Fatalf("%d steps are next: %v", next, states)
		}
		there := slices.ContainsFunc(o.CRD.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return slices.Contains(p.Leaving, v.Name)
		})
		if states[runbook.Remove] == runbook.Next && (states[runbook.Migrate] != runbook.Done || states[runbook.Wait] != runbook.Done) {
			rt.Fatalf("%v", states)
		}
		if p.Next == "" && there {
			rt.Fatalf("nothing is next, and the versions are there: %v", states)
		}
	})
}
