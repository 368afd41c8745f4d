package main

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	controlplane.Run(m, &cp, controlplane.Own("CRDs are installed and deleted under names that are not the test's own"))
}

func TestWhatTheAPIServerSaysOfAnUpgrade(t *testing.T) {
	for name, c := range map[string]struct {
		folder string
		change func(base, head *apiextensionsv1.CustomResourceDefinition)
		// before, fresh and aged are words of the refusals, empty where it accepts.
		before, fresh, aged string
	}{
		"nothing leaves": {folder: "the-storage-version-flips"},
		"a version leaves that was stored once": {
			folder: "a-removed-version-has-a-field-that-the-storage-version-lacks", aged: "storedVersions[0]: Invalid value: \"v1alpha1\"",
		},
		"the version leaves that is stored": {
			folder: "the-storage-version-flips-and-the-old-one-is-removed", fresh: "storedVersions", aged: "storedVersions",
		},
		"the CRD has a fault": {
			folder: "a-field-is-removed", fresh: "must be object at the root", aged: "must be object at the root",
			change: func(_, head *apiextensionsv1.CustomResourceDefinition) {
				head.Spec.Versions[0].Schema.OpenAPIV3Schema.Type = "string"
			},
		},
		"the CRD had a fault": {
			folder: "a-field-is-removed", before: "spec.scope",
			change: func(base, _ *apiextensionsv1.CustomResourceDefinition) { base.Spec.Scope = "Galaxy" },
		},
		"labels are templates": {
			folder: "a-field-is-removed",
			change: func(base, head *apiextensionsv1.CustomResourceDefinition) {
				base.Labels = map[string]string{"app": "{{ .Release.Name }}"}
				head.Labels = base.Labels
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := states(t, c.folder)
			if c.change != nil {
				c.change(base, head)
			}
			r := ruledOn(t, []*apiextensionsv1.CustomResourceDefinition{base}, head)
			g.Expect(words(r.before)).To(ContainSubstring(c.before))
			g.Expect(words(r.fresh)).To(ContainSubstring(c.fresh))
			g.Expect(words(r.aged)).To(ContainSubstring(c.aged))
			g.Expect([]bool{r.before == nil, r.fresh == nil, r.aged == nil}).To(Equal([]bool{c.before == "", c.fresh == "", c.aged == ""}))
		})
	}
}

func TestACRDThatIsNewIsAskedAboutAlone(t *testing.T) {
	_, head := states(t, "a-field-is-removed")
	NewWithT(t).Expect(ruledOn(t, nil, head)).To(Equal(ruling{name: head.Name}))
	head.Spec.Scope = "Galaxy"
	NewWithT(t).Expect(words(ruledOn(t, nil, head).fresh)).To(ContainSubstring("spec.scope"))
}

func TestWhichVersionsHaveBeenStored(t *testing.T) {
	g := NewWithT(t)
	of := &apiextensionsv1.CustomResourceDefinition{}
	for _, name := range []string{"v1", "v2alpha1", "v1beta1", "v1alpha1", "v2"} {
		of.Spec.Versions = append(of.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Storage: name == "v1"})
	}
	g.Expect(everStored(of)).To(Equal([]string{"v1alpha1", "v2alpha1", "v1beta1", "v1"}))
}

// ruledOn is what the API server says of one CRD.
func ruledOn(t *testing.T, base []*apiextensionsv1.CustomResourceDefinition, head *apiextensionsv1.CustomResourceDefinition) ruling {
	t.Helper()
	g := NewWithT(t)
	j, err := newJudge(cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	rulings, err := j.rule(t.Context(), base, []*apiextensionsv1.CustomResourceDefinition{head})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rulings).To(HaveLen(1))
	return rulings[0]
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
