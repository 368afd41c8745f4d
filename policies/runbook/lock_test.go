package runbook_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/runbook"
)

// follower does what a plan says, behind a tool that applies the CRD only while every VersionRemoval of the commit is open, as
// Flux's dependsOn and Argo CD's waves do. referenced is what else names v1alpha1, in a manifest beside the CRD.
type follower struct {
	*WithT
	o          runbook.Observation
	referenced bool
}

// opens judges a VersionRemoval by the CRD as it is in the cluster.
func (f *follower) opens(r *v1alpha1.VersionRemoval) (reason string, open bool) {
	old := f.o.CRD.Spec.Versions[0]
	switch {
	case old.Storage:
		return v1alpha1.ReasonIntermediateRevisionRequired, false
	case f.o.CRD.Labels[v1alpha1.MigrateLabel] != v1alpha1.MigrateLabelValue:
		return v1alpha1.ReasonNotOptedIn, false
	case old.Served && slices.Contains(r.Spec.Require, v1alpha1.Unserved):
		return v1alpha1.ReasonStillServed, false
	case f.referenced && slices.Contains(r.Spec.Require, v1alpha1.NoReferences):
		return v1alpha1.ReasonStillReferenced, false
	}
	return v1alpha1.ReasonSafeToRemove, true
}

// judge has every VersionRemoval answered.
func (f *follower) judge() {
	for i := range f.o.Removals {
		r := &f.o.Removals[i]
		reason, open := f.opens(r)
		r.Status.ObservedGeneration = r.Generation
		r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason}}
		if !open {
			r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason}, {Type: "Stalled", Status: metav1.ConditionTrue}}
		}
	}
}

// applies is a commit: it has the VersionRemovals that the step's commit brings or leaves, and changes the CRD if they are open.
func (f *follower) applies(s runbook.Step, change func()) {
	if strings.Contains(s.Commit, "in the same commit take out") {
		f.o.Removals = nil
	}
	if _, manifest, brings := strings.Cut(s.Commit, "\napiVersion: "); brings {
		r := v1alpha1.VersionRemoval{}
		f.Expect(yaml.UnmarshalStrict([]byte("apiVersion: "+manifest), &r)).To(Succeed())
		f.o.Removals = append(f.o.Removals, r)
	}
	f.judge()
	for _, r := range f.o.Removals {
		f.Expect(r.Status.Conditions[0].Status).To(Equal(metav1.ConditionTrue), "%s: the commit waits for VersionRemoval %s, which says %s", s.Name, r.Name, r.Status.Conditions[0].Reason)
	}
	change()
}

func (f *follower) remove() { f.o.CRD.Spec.Versions = f.o.CRD.Spec.Versions[1:] }

// follow takes one step.
func (f *follower) follow(s runbook.Step) {
	old := &f.o.CRD.Spec.Versions[0]
	switch s.Name {
	case runbook.OptIn:
		f.applies(s, func() { f.o.CRD.Labels = map[string]string{v1alpha1.MigrateLabel: v1alpha1.MigrateLabelValue} })
	case runbook.Flip:
		f.applies(s, func() { old.Storage, f.o.CRD.Spec.Versions[1].Storage = false, true })
	case runbook.Migrate:
		says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated)(&f.o)
	case runbook.Look:
		f.applies(s, func() { f.referenced = false })
	case runbook.Unserve:
		f.applies(s, func() { old.Served = false })
	case runbook.Ask:
		f.Expect(s.Commit).To(HavePrefix("one commit, with spec.versions without v1alpha1, and with this in an earlier sync wave"))
		f.applies(s, f.remove)
	case runbook.Remove:
		f.applies(s, f.remove)
	case runbook.Serve, runbook.Rehearse, runbook.BackUp, runbook.BackUpAgain, runbook.Wait:
	}
}

// The plan gets from two versions to one: no commit of it is held back by a VersionRemoval that waits for that commit.
func TestThePlanDoesNotLockItself(t *testing.T) {
	gate := func(o *runbook.Observation) {
		answered(metav1.ConditionFalse, v1alpha1.ReasonStillServed, true, v1alpha1.Unserved, v1alpha1.NoReferences)(o)
	}
	unlabelled := func(o *runbook.Observation) { o.CRD.Labels = nil }
	for name, c := range map[string]struct {
		versions []string
		change   []func(*runbook.Observation)
	}{
		"from the beginning":                          {[]string{"v1", "v1alpha1"}, []func(*runbook.Observation){unlabelled}},
		"with a gate before the label":                {[]string{"v1", "v1alpha1"}, []func(*runbook.Observation){unlabelled, gate}},
		"with a gate before the flip":                 {[]string{"v1", "v1alpha1"}, []func(*runbook.Observation){gate}},
		"with a gate before the version is unserved":  {[]string{"v1alpha1", "v1"}, []func(*runbook.Observation){gate}},
		"with a gate, the version being unserved now": {[]string{"v1alpha1", "v1"}, []func(*runbook.Observation){unserved, gate}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &follower{WithT: NewWithT(t), o: observed(c.versions, c.change...), referenced: true}
			f.o.To, f.o.Leaving = "v1", []string{"v1alpha1"}
			slices.SortFunc(f.o.CRD.Spec.Versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
				return -strings.Compare(a.Name, b.Name)
			})
			for range 20 {
				f.judge()
				p, err := runbook.Of(f.o)
				f.Expect(err).NotTo(HaveOccurred())
				if p.Next == "" {
					break
				}
				for _, s := range p.Steps { // what is advised comes before what is next
					if s.State == runbook.Advised || s.Name == p.Next {
						f.follow(s)
					}
				}
			}
			f.Expect(crds.Versions(f.o.CRD)).To(Equal([]string{"v1"}))
		})
	}
}
