package snapshot

import (
	"cmp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/survivors"
)

// How many objects have a field is known only where all were counted, at a version that the cluster has. What is not
// among the fields at a version is not among those that the storage version lacks.
func TestHowManyObjectsHaveAFieldIsKnownOnlyIfCounted(t *testing.T) {
	const field = "spec.size"
	counted := func(version string, objects int64) change {
		return crd(func(c *CRD) {
			c.Fields = append(c.Fields, FieldsAt{Version: version, Used: []crdschema.Used{{Field: field, Objects: objects, Examples: []string{"ns/o"}}}})
		})
	}
	for name, c := range map[string]struct {
		snapshot     *Snapshot
		crd, version string
		field        string
		known        bool
		objects      int64
	}{
		"counted at the version":            {snapshot: with(counted("v1", 5), counted("v1alpha1", 3)), known: true, objects: 3},
		"counted at the storage version":    {snapshot: with(counted("v1", 5)), known: true, objects: 5},
		"counted, and no object has it":     {snapshot: with(counted("v1alpha1", 3)), field: "spec.other", known: true},
		"counted at a third version":        {snapshot: with(counted("v2", 5))},
		"nobody has counted":                {snapshot: safe()},
		"not all could be seen":             {snapshot: with(counted("v1alpha1", 3), func(s *Snapshot) { s.NotRead = []NotRead{{What: FieldsOfCRD, CRD: widgets, Why: "late"}} })},
		"not all of another CRD":            {snapshot: with(counted("v1alpha1", 3), func(s *Snapshot) { s.NotRead = []NotRead{{What: FieldsOfCRD, CRD: "gadgets.example.com", Why: "late"}} }), known: true, objects: 3},
		"the cluster has no such version":   {snapshot: with(counted("v1", 5)), version: "v0"},
		"the cluster does not have the CRD": {snapshot: with(counted("v1", 5)), crd: "gadgets.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects, named, known := c.snapshot.Uses(cmp.Or(c.crd, widgets), cmp.Or(c.version, "v1alpha1"), cmp.Or(c.field, field))
			g.Expect(known).To(Equal(c.known))
			g.Expect(objects).To(Equal(c.objects))
			g.Expect(named).To(HaveLen(min(1, int(c.objects))))
		})
	}
}

// Only a cluster that was looked at lacks what it does not show.
func TestACRDIsLackedOnlyWhereItWasLookedFor(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot *Snapshot
		crd      string
		want     bool
	}{
		"it is there":            {safe(), widgets, false},
		"it is not":              {safe(), "gadgets.example.com", true},
		"no CRD could be read":   {with(unread(CRDs, "", "forbidden")), widgets, false},
		"it could not be read":   {with(unread(OneCRD, widgets, "forbidden")), widgets, false},
		"only others were to be": {with(func(s *Snapshot) { s.Named = []string{widgets} }), "gadgets.example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.snapshot.Lacks(c.crd)).To(Equal(c.want))
			clients := c.snapshot.Clients(Ask{CRD: c.crd, Versions: []string{"v1alpha1"}})
			g.Expect(clients).To(BeEmpty())
		})
	}
	writing := with(ownedBy("old-tool", time.Hour)).Clients(ask)
	NewWithT(t).Expect(writing).To(HaveExactElements(HaveField("Kind", KindOwned)))
	owning := with(crd(func(c *CRD) {
		c.References = &survivors.Report{Found: []survivors.Group{
			{Place: "owner-references", Effect: survivors.LosesData, Clears: survivors.ByMoult, Title: "ownerReferences", CRD: widgets, Version: "v1alpha1", Count: 2, Remediation: "run it"},
			{Place: "webhook-configurations", Effect: survivors.StopsSilently, Clears: survivors.ByCommit, CRD: widgets, Version: "v1alpha1", Count: 1}, // it still matches
		}}
	})).Clients(ask)
	NewWithT(t).Expect(owning).To(HaveExactElements(v1alpha1.Blocker{Kind: "owner-references", Message: "2 fields of ownerReferences name v1alpha1, at which the owner is looked for", Action: "run it"}))
}
