package runbook_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
)

// backFrom is a CRD of these versions, the last of which is stored, on the way back to v1alpha1.
func backFrom(versions []string, release *apiextensionsv1.CustomResourceDefinition, change ...func(*runbook.Observation)) runbook.Observation {
	o := observed(versions)
	o.CRD.Status.StoredVersions = versions[len(versions)-1:]
	o.To, o.Return = "v1alpha1", &runbook.Return{Release: release, Place: "git:v1:crds", Context: "production"}
	for _, c := range change {
		c(&o)
	}
	return o
}

func release(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	return builders.CRD("example.com", "widgets").Versions(versions...).Build()
}

func renamed(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd.Spec.Names.Kind = "Gadget"
	return crd
}

// rehearsed is what objects would lose.
func rehearsed(of conversion.CRDReport, verdict conversion.Verdict) func(*runbook.Observation) {
	return func(o *runbook.Observation) {
		o.Rehearsed = &conversion.Report{Verdict: verdict, CRDs: []conversion.CRDReport{of}}
	}
}

var (
	kept = rehearsed(conversion.CRDReport{Objects: 7, Same: 7}, conversion.Kept)
	lost = rehearsed(conversion.CRDReport{
		Objects: 7, Lost: []conversion.Group{{What: "spec.extra", Objects: 3, Examples: []string{"a/b", "a/c", "a/d"}}, {What: "status.x", Status: true, Objects: 7}},
	}, conversion.NotKept)
	refused = rehearsed(conversion.CRDReport{Objects: 7, Refused: []conversion.Group{{What: "spec.size: Invalid value", Objects: 1, Examples: []string{"a/b"}}}}, conversion.NotKept)
)

func TestWhatIsNextOnTheWayBack(t *testing.T) {
	lets := func(field string) func(*runbook.Observation) {
		return func(o *runbook.Observation) {
			o.CRD.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: field}
		}
	}
	asked := func(o *runbook.Observation) {
		answered(metav1.ConditionTrue, v1alpha1.ReasonSafeToRemove, false, v1alpha1.Unserved, v1alpha1.NoReferences, v1alpha1.NoStashes)(o)
		o.Removals[0].Spec.Versions = []string{"v1"}
	}
	migrated := says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated)
	for name, c := range map[string]struct {
		o     runbook.Observation
		next  runbook.Name
		state runbook.State
		says  string // in what is seen, what is risked, what is committed, or the commands
	}{
		"the version has left":                 {backFrom([]string{"v1"}, release("v1alpha1"), kept), runbook.Serve, runbook.Next, "the CRD does not know v1alpha1 any more, and git:v1:crds has it"},
		"it is printed":                        {backFrom([]string{"v1"}, release("v1alpha1")), runbook.Serve, runbook.Next, "moult bridge --live --head git:v1:crds --crd widgets.example.com --keep-storage --context production > widgets.example.com-between.yaml"},
		"the version is not served":            {backFrom([]string{"v1alpha1", "v1"}, nil, unserved), runbook.Serve, runbook.Next, "served: true at v1alpha1"},
		"the gate of the upgrade is there":     {backFrom([]string{"v1"}, release("v1alpha1"), answered(metav1.ConditionTrue, v1alpha1.ReasonAlreadyRemoved, false)), runbook.Serve, runbook.Next, "in the same commit take out VersionRemoval ns/r of the upgrade, which wants v1alpha1 gone"},
		"both are served":                      {backFrom([]string{"v1alpha1", "v1"}, release("v1alpha1"), kept), runbook.Flip, runbook.Next, "storage: true at v1alpha1"},
		"both are served, without a release":   {backFrom([]string{"v1alpha1", "v1"}, nil), runbook.Flip, runbook.Next, "storage: true at v1alpha1"},
		"a field would be lost":                {backFrom([]string{"v1alpha1", "v1"}, nil, lost), runbook.Flip, runbook.Held, "lost: spec.extra of 3 objects, for example a/b, a/c, a/d"},
		"and it may be let go":                 {backFrom([]string{"v1alpha1", "v1"}, nil, lost), runbook.Flip, runbook.Held, "metadata.annotations: {moult.dev/allow-field-loss: \"spec.extra\"}\nstorage: true at v1alpha1"},
		"it is let go":                         {backFrom([]string{"v1alpha1", "v1"}, nil, lost, lets("spec.extra")), runbook.Flip, runbook.Next, "stored at v1"},
		"another one is let go":                {backFrom([]string{"v1alpha1", "v1"}, nil, lost, lets("spec.other")), runbook.Flip, runbook.Held, "spec.extra"},
		"an object would be refused":           {backFrom([]string{"v1alpha1", "v1"}, nil, refused), runbook.Flip, runbook.Held, "refused: spec.size: Invalid value of 1 object, for example a/b"},
		"it is flipped":                        {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1")), runbook.Migrate, runbook.Waiting, ""},
		"the pass is held":                     {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1"), says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonFieldsWouldBeLost)), runbook.Migrate, runbook.Held, "FieldsWouldBeLost"},
		"it is migrated":                       {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1"), migrated), runbook.Unserve, runbook.Next, "served: false at v1"},
		"the newer version is not served":      {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1"), migrated, unserved), runbook.Ask, runbook.Next, "one commit, with spec.versions without v1, as the CRD of git:v1:crds has it, and with this"},
		"the label leaves":                     {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1"), migrated, unserved), runbook.Ask, runbook.Next, "; the label moult.dev/migrate leaves with the CRD of git:v1:crds, which does not have it"},
		"the gate is open":                     {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1"), migrated, unserved, asked), runbook.Remove, runbook.Next, "spec.versions without v1"},
		"the older CRD is there":               {backFrom([]string{"v1alpha1"}, release("v1alpha1"), asked, func(o *runbook.Observation) { o.CRD.Labels = nil }), "", "", ""},
		"the older release has both, and left": {backFrom([]string{"v1"}, release("v1", "v1alpha1")), runbook.Serve, runbook.Next, "--keep-storage"},
		"the gate is taken out, too":           {backFrom([]string{"v1alpha1"}, release("v1alpha1"), func(o *runbook.Observation) { o.CRD.Labels = nil }), "", "", ""},
		"the older release has both":           {backFrom([]string{"v1", "v1alpha1"}, release("v1", "v1alpha1"), migrated), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := runbook.Of(c.o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Return).To(BeTrue())
			g.Expect(p.Next).To(Equal(c.next), "%+v", p.Steps)
			for _, s := range p.Steps {
				if s.Name == c.next {
					g.Expect(s.State).To(Equal(c.state))
					g.Expect(s.Seen + "\n" + s.Risk + "\n" + strings.Join(append(s.First, s.Commit), "\n") + "\n" + strings.Join(s.Commands, "\n")).To(ContainSubstring(c.says))
				}
			}
		})
	}
}

// What would be lost comes first, and is not asked after the flip.
func TestWhatWouldBeLostOnTheWayBack(t *testing.T) {
	for name, c := range map[string]struct {
		o     runbook.Observation
		state runbook.State
		seen  string
	}{
		"nothing":         {backFrom([]string{"v1"}, release("v1alpha1"), kept), runbook.Done, "7 objects: nothing would be lost, and nothing refused"},
		"a field":         {backFrom([]string{"v1"}, release("v1alpha1"), lost), runbook.Advised, "7 objects: lost: spec.extra of 3 objects, for example a/b, a/c, a/d"},
		"a value":         {backFrom([]string{"v1"}, release("v1alpha1"), refused), runbook.Advised, "7 objects: refused: spec.size: Invalid value of 1 object, for example a/b"},
		"it is not asked": {backFrom([]string{"v1"}, release("v1alpha1")), runbook.Advised, "nothing in the cluster shows whether this was done"},
		"it is not known": {backFrom([]string{"v1"}, release("v1alpha1"), rehearsed(conversion.CRDReport{Unknown: []conversion.Group{{What: "no list"}}}, conversion.NotKnown)), runbook.Advised, "0 objects: not known: no list"},
		"it is too late":  {backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1"), lost), runbook.Over, "v1alpha1 is stored; nothing in the cluster shows whether this was done before"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := runbook.Of(c.o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Steps[0].Name).To(Equal(runbook.Rehearse))
			g.Expect(p.Steps[0].State).To(Equal(c.state))
			g.Expect(p.Steps[0].Seen).To(Equal(c.seen))
		})
	}
}

func TestThereMayBeNoWayBack(t *testing.T) {
	for name, c := range map[string]struct {
		o    runbook.Observation
		says string
	}{
		"the CRD does not have the version, and no release is named": {backFrom([]string{"v1"}, nil),
			"widgets.example.com has no version v1alpha1, it has v1; if a release had it, name its manifests or a backup with --release, for example --release git:v1.2.0:config/crd"},
		"the release does not have the version": {backFrom([]string{"v1"}, release("v1beta1")),
			"widgets.example.com has no version v1alpha1 in git:v1:crds, which has v1beta1; name the manifests of a release that had it, or an older backup"},
		"the release did not store at it": {backFrom([]string{"v1"}, release("v1alpha1", "v1beta1")),
			"widgets.example.com in git:v1:crds stores at v1beta1 and not at v1alpha1; name a release that stored at v1alpha1, or go back to v1beta1"},
		"the version is newer": {backFrom([]string{"v2", "v1"}, nil, func(o *runbook.Observation) { o.To = "v2" }),
			"widgets.example.com stores at v1, and v2 is newer, so that is no way back; plan it with --to v2, or name the release that stored at it with --release"},
		"the version is stored": {backFrom([]string{"v1alpha1"}, nil), "widgets.example.com stores at v1alpha1 already, and no newer version is there to leave; if one is, name it with --version"},
		"storedVersions names it behind the one that is stored": {backFrom([]string{"v1", "v2beta1"}, nil, func(o *runbook.Observation) { o.To, o.CRD.Status.StoredVersions = "v1", []string{"v2beta1", "v1"} }),
			"widgets.example.com stores at v2beta1, and v1 is newer, so that is no way back; plan it with --to v1, or name the release that stored at it with --release"},
		"the release is of another scope": {backFrom([]string{"v1alpha1", "v1"}, builders.CRD("example.com", "widgets").Versions("v1alpha1").ClusterScoped().Build()),
			"widgets.example.com would change its scope from Namespaced to Cluster, which no API server allows; it has to be another CRD"},
		"the release is of another kind": {backFrom([]string{"v1alpha1", "v1"}, renamed(release("v1alpha1"))),
			"widgets.example.com would change its kind from Widget to Gadget, which no API server allows; it has to be another CRD"},
		"the version leaves": {backFrom([]string{"v1alpha1", "v1"}, nil, func(o *runbook.Observation) { o.Leaving = []string{"v1alpha1"} }),
			"v1alpha1 is to be stored and is to be removed; name another with --to or --version"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runbook.Of(c.o)
			NewWithT(t).Expect(err).To(MatchError(c.says))
			_, err = runbook.Returned(c.o)
			NewWithT(t).Expect(err).To(MatchError(c.says))
		})
	}
}

func TestAWayBackNamesWhatItAssumes(t *testing.T) {
	g := NewWithT(t)
	p, err := runbook.Of(backFrom([]string{"v1alpha1", "v1"}, nil))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Notes).To(ConsistOf("nothing shows that objects were ever stored at v1alpha1: status.storedVersions does not name it, and no --release shows a CRD that stored at it"))
	p, err = runbook.Of(backFrom([]string{"v1alpha1", "v1"}, nil, func(o *runbook.Observation) { o.CRD.Status.StoredVersions = []string{"v1alpha1", "v1"} }))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Notes).To(ConsistOf("the upgrade is in the middle: status.storedVersions names v1alpha1, v1, so objects may be stored at each of them; the steps are the same, and the walk looks at every object"))
}

// The objects are rehearsed with the CRD as it is after the flip.
func TestTheCRDAfterTheFlipBackHasBothVersions(t *testing.T) {
	for name, o := range map[string]runbook.Observation{
		"the version has left":              backFrom([]string{"v1"}, release("v1alpha1")),
		"the release has both":              backFrom([]string{"v1"}, release("v1", "v1alpha1")),
		"the CRD has both":                  backFrom([]string{"v1alpha1", "v1"}, nil),
		"the CRD has both, and is released": backFrom([]string{"v1alpha1", "v1"}, release("v1alpha1")),
		"the flip is done":                  backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1")),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			crd, err := runbook.Returned(o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(crd.Spec.Versions).To(ConsistOf(
				And(HaveField("Name", "v1alpha1"), HaveField("Storage", true)), And(HaveField("Name", "v1"), HaveField("Storage", false))))
		})
	}
}
