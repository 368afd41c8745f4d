package preview_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/snapshot"
)

// flip moves the storage to v1, which does not have the field of v1alpha1.
func flip(annotation string) (base, head *apiextensionsv1.CustomResourceDefinition) {
	base, head = crd("v1", "v1alpha1"), crd("v1alpha1", "v1")
	base.Spec.Versions[0].Schema, head.Spec.Versions[1].Schema = schema(), schema()
	if annotation != "" {
		head.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: annotation}
	}
	return base, head
}

func TestAFieldThatGoesMattersAsFarAsObjectsHaveIt(t *testing.T) {
	const field = "spec.size"
	counted := func(version string, used ...crdschema.Used) *snapshot.Snapshot {
		s := stored([]string{"v1alpha1"}, "v1", "v1alpha1")
		s.CRDs[0].Fields = []snapshot.FieldsAt{{Version: version, Used: used}}
		return s
	}
	notAll := counted("v1alpha1")
	notAll.NotRead = []snapshot.NotRead{{What: snapshot.FieldsOfCRD, CRD: widgets, Why: "it was late"}}
	another := counted("v1alpha1")
	another.CRDs[0].Versions[1].Name = "v1beta1"
	for name, c := range map[string]struct {
		allowed  string
		snapshot *snapshot.Snapshot
		want     preview.Verdict
		sentence string
	}{
		"nobody has counted":                    {snapshot: stored([]string{"v1alpha1"}, "v1", "v1alpha1"), want: preview.Blocked, sentence: "nothing converts, so every object that is rewritten at v1 loses it"},
		"no object has it":                      {snapshot: counted("v1alpha1", crdschema.Used{Field: "spec.other", Objects: 3}), want: preview.Safe},
		"some have it":                          {snapshot: counted("v1alpha1", crdschema.Used{Field: field, Objects: 12, Examples: []string{"a/b", "c/d"}}), want: preview.Blocked, sentence: "12 objects have it, for example a/b, c/d"},
		"some have it, and it may go":           {allowed: field, snapshot: counted("v1alpha1", crdschema.Used{Field: field, Objects: 1}), want: preview.Warned, sentence: "the CRD lets it go (moult.dev/allow-field-loss); 1 object has it"},
		"it may go by another name":             {allowed: `spec["size"]`, snapshot: counted("v1alpha1", crdschema.Used{Field: field, Objects: 1}), want: preview.Blocked, sentence: "has one that allows nothing: \"spec[\\\"size\\\"]\" is no path of a field as it is written here; write spec.size"},
		"not all objects could be read":         {snapshot: notAll, want: preview.Blocked, sentence: "loses it"},
		"the cluster does not have the version": {snapshot: another, want: preview.Blocked},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := flip(c.allowed)
			r := preview.Make(input(preview.Delivered{Name: "one", Base: crds(base), Head: crds(head), Snapshot: c.snapshot}))
			got := r.CRDs[0].Clusters[0]
			g.Expect(got.Verdict).To(Equal(c.want), "%+v", got)
			blocks := ContainElement(HaveField("Rule", string(crddiff.FieldLost)))
			if c.want == preview.Blocked {
				g.Expect(r.Findings).To(blocks)
			} else {
				g.Expect(r.Findings).NotTo(blocks)
			}
			if c.sentence != "" {
				g.Expect(got.Sentence).To(ContainSubstring(c.sentence))
			}
		})
	}
}

// A revert takes the newer version out, and with it the fields that only it has.
func TestWhatIsLostOnTheWayBackIsNamedForEachCluster(t *testing.T) {
	counted := func(objects int64) *snapshot.Snapshot {
		s := stored([]string{"v1"}, "v1")
		s.CRDs[0].Fields = []snapshot.FieldsAt{{Version: "v1", Used: []crdschema.Used{{Field: "spec.size", Objects: objects, Examples: []string{"a/b"}}}}}
		return s
	}
	for name, c := range map[string]struct {
		snapshot *snapshot.Snapshot
		says     string // empty: nothing
	}{
		"objects have it":      {counted(3), "on the way back from v1 to v1alpha1, objects of this cluster lose spec.size; 3 objects have it, for example a/b"},
		"no object has it":     {counted(0), ""},
		"nobody has counted":   {stored([]string{"v1"}, "v1"), "on the way back from v1 to v1alpha1, what objects of this cluster lose is not known; v1alpha1 does not have spec.size"},
		"there is no snapshot": {nil, "on the way back from v1 to v1alpha1, what objects of this cluster lose is not known; v1alpha1 does not have spec.size"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := crd("v1"), crd("v1alpha1")
			head.Spec.Versions[0].Schema = schema()
			r := preview.Make(input(preview.Delivered{Name: "one", Base: crds(base), Head: crds(head), Snapshot: c.snapshot}))
			g.Expect(r.Verdict).NotTo(Equal(preview.Safe))
			found := ContainElement(And(HaveField("Rule", preview.LostOnTheWayBack), HaveField("Cluster", "one"), HaveField("Why", c.says)))
			if c.says == "" {
				found = Not(ContainElement(HaveField("Rule", preview.LostOnTheWayBack)))
			}
			g.Expect(r.Findings).To(found, "%+v", r.Findings)
		})
	}
}
