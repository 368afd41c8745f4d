package preview_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/verdict"
)

// owned is a cluster in which managedFields are all that is left of v1alpha1.
func owned() *snapshot.Snapshot {
	s := proved("v1alpha1", "v1")
	s.CRDs[0].Conditions[1].Message = v1alpha1.Message(1, "every object is proved to be stored at v1: 3 of 3 objects, 0 failed")
	s.CRDs[0].Objects.OwnedAt = map[string]int64{"v1alpha1": 2}
	return s
}

// asked adds a VersionRemoval to a cluster that has not answered it yet.
func asked(s *snapshot.Snapshot) *snapshot.Snapshot {
	s.Removals = []snapshot.Removal{{
		Namespace: "ns", Name: "gate", Generation: 1, ObservedGeneration: -1,
		Spec: v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: []string{"v1alpha1"}},
	}}
	return s
}

// behind is a side whose CRD comes in a Kustomization after that of a VersionRemoval, which waits for it or does not.
func behind(wait, otherSource bool, names ...string) preview.Side {
	unit := func(name string, spec map[string]any, objects ...*delivery.Object) *delivery.Unit {
		return &delivery.Unit{Name: "flux-system/" + name, Tool: delivery.Flux, Objects: objects, By: object(1, map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
			"metadata": map[string]any{"name": name, "namespace": "flux-system"}, "spec": spec,
		})}
	}
	source := map[string]any{"kind": "GitRepository", "name": "one"}
	another := map[string]any{"kind": "GitRepository", "name": "another"}
	asks := make([]any, len(names))
	for i, name := range names {
		asks[i] = name
	}
	gate := object(1, map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "VersionRemoval", "metadata": map[string]any{"name": "gate", "namespace": "ns"},
		"spec": map[string]any{"crdName": widgets, "versions": asks},
	})
	typed := crd("v1")
	manifest := object(1, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": widgets, "labels": map[string]any{v1alpha1.MigrateLabel: v1alpha1.MigrateLabelValue}},
		"spec":     map[string]any{"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}}},
	})
	side := crds(typed)
	later := unit("crds", map[string]any{"sourceRef": source, "dependsOn": []any{map[string]any{"name": "gates"}}}, manifest)
	later.DependsOn = []string{"flux-system/gates"}
	if otherSource {
		later.By.Object["spec"].(map[string]any)["sourceRef"] = another //nolint:forcetypeassert // it is written above
	}
	side.Cluster = delivery.Cluster{Name: "one", Units: []*delivery.Unit{
		unit("gates", map[string]any{"wait": wait, "timeout": "10m", "sourceRef": source}, gate),
		later,
	}}
	return side
}

// Moult moves entries in managedFields when a VersionRemoval asks for it and not before. So waiting for that without
// one never ends, and who merges one that is sound need not wait.
func TestManagedFieldsAreMovedOnlyWhereAVersionRemovalAsks(t *testing.T) {
	unread := owned()
	unread.CRDs[0].Objects = nil
	ahead := owned()
	ahead.CRDs[0].Versions = append([]snapshot.Version{{Name: "v1alpha0", Served: true}}, ahead.CRDs[0].Versions...)
	const (
		merge = "merge: the VersionRemoval has the entries moved first, then the version goes"
		add   = "add a VersionRemoval for v1alpha1 of widgets.example.com: Moult moves the entries when one asks"
		fix   = "make the CRD wait for the VersionRemoval of this pull request; Moult then moves the entries, and the version may go afterwards"
		none  = "Moult moves such entries when a VersionRemoval asks for it, and none is seen in the cluster"
	)
	for name, c := range map[string]struct {
		snapshot *snapshot.Snapshot
		head     preview.Side
		want     preview.Verdict
		reason   string
		says     string
		action   string
	}{
		"a sound gate comes with the removal": {owned(), behind(true, false, "v1alpha1"), preview.Warned, preview.ReasonOwnershipNotRepaired,
			"every object is stored at v1, but managedFields still name v1alpha1; " + none, merge},
		"no gate": {owned(), crds(crd("v1")), preview.Blocked, preview.ReasonOwnershipNotRepaired,
			"every object is stored at v1, but managedFields still name v1alpha1; " + none, add},
		"a gate that nobody waits for": {owned(), behind(false, false, "v1alpha1"), preview.Blocked, preview.ReasonOwnershipNotRepaired, none, fix},
		"a gate that may be passed by": {owned(), behind(true, true, "v1alpha1"), preview.Warned, preview.ReasonOwnershipNotRepaired, none, fix},
		"a gate that does not name all that the cluster loses": {ahead, behind(true, false, "v1alpha1"), preview.Blocked, preview.ReasonOwnershipNotRepaired, none,
			"add a VersionRemoval for v1alpha1, v1alpha0 of widgets.example.com: Moult moves the entries when one asks"},
		"nobody has looked": {unread, crds(crd("v1")), preview.Blocked, preview.ReasonOwnershipNotRepaired,
			"every object is stored at v1, but it is not known whether managedFields name v1alpha1; " + none, add},
		"a VersionRemoval in the cluster asks": {asked(owned()), crds(crd("v1")), preview.Blocked, v1alpha1.ReasonRepairingOwnership,
			"looking for managedFields that still name v1alpha1 and moving them", "wait: the migration is running; then take another snapshot"},
		"one in the cluster asks, and the gate is sound": {asked(owned()), behind(true, false, "v1alpha1"), preview.Warned, v1alpha1.ReasonRepairingOwnership,
			"and moving them", "wait: the migration is running. If merged now, the VersionRemoval holds the removal until the migration is done"},
		"one in the cluster asks, and the gate may be passed by": {asked(owned()), behind(true, true, "v1alpha1"), preview.Warned, v1alpha1.ReasonRepairingOwnership,
			"and moving them", "wait: the migration is running; then take another snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := preview.Make(input(preview.Delivered{Name: "one", Base: crds(crd("v1alpha1", "v1")), Head: c.head, Snapshot: c.snapshot}))
			got := r.CRDs[0].Clusters[0]
			g.Expect(got.Blockers).To(HaveLen(1), "%+v", got)
			g.Expect(got.Blockers[0]).To(And(HaveField("Kind", c.reason), HaveField("Message", ContainSubstring(c.says)), HaveField("Action", c.action)))
			g.Expect(got.Verdict).To(Equal(c.want), "%+v", got)
			g.Expect(got.State).To(Equal(verdict.Progressing))
			g.Expect(got.Sentence).NotTo(HavePrefix("the API server refuses it"), "storedVersions names nothing that leaves")
			if c.reason == preview.ReasonOwnershipNotRepaired {
				g.Expect(r.Sentence + got.Sentence).NotTo(ContainSubstring("and moving them"))
			}
		})
	}
}

func TestTheVersionIsNotSaidTwice(t *testing.T) {
	served := proved("v1alpha1", "v1")
	served.CRDs[0].Conditions[1].Message = v1alpha1.Message(1, "every object is proved to be stored at v1: 3 of 3 objects, 0 failed")
	lost := crd("v1")
	lost.Spec.Versions[0].Schema = schema()
	for name, c := range map[string]struct {
		head     preview.Side
		snapshot *snapshot.Snapshot
		want     string
	}{
		"the sentence is about what leaves":    {crds(crd("v1")), nil, "v1alpha1 of widgets.example.com in one: what the cluster stores is not known"},
		"the sentence names it":                {crds(crd("v1")), stored([]string{"v1alpha1"}, "v1", "v1alpha1"), "widgets.example.com in one: the API server refuses it, because storedVersions names v1alpha1; v1alpha1 is still the storage version"},
		"the sentence is about another change": {crds(lost), served, "widgets.example.com in one: v1 spec.size: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := preview.Make(input(preview.Delivered{Name: "one", Base: crds(crd("v1alpha1", "v1")), Head: c.head, Snapshot: c.snapshot}))
			NewWithT(t).Expect(r.Sentence).To(HavePrefix(c.want))
		})
	}
}

// A cluster may store at the version that leaves, and clients must not be told to use that.
func TestClientsAreSentToTheVersionThatIsStoredAtAfterwards(t *testing.T) {
	g := NewWithT(t)
	s := stored([]string{"v1alpha1"}, "v1beta1", "v1", "v1alpha1")
	s.CRDs[0].Requests = []snapshot.Requests{{Version: "v1alpha1", Counts: map[string]int64{"GET": 1}}}
	r := preview.Make(input(preview.Delivered{
		Name: "one", Base: crds(crd("v1beta1", "v1", "v1alpha1")), Head: crds(crd("v1", "v1beta1")), Snapshot: s,
	}))
	g.Expect(r.CRDs[0].Clusters[0].Warnings).To(ContainElement(And(
		HaveField("Kind", snapshot.KindRequested), HaveField("Action", HaveSuffix("let it use v1beta1")))))
}
