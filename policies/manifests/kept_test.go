package manifests_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/manifests"
)

func TestKeptIsWhatStaysAtAServedVersion(t *testing.T) {
	served := func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Deprecated = false }
	files := []manifests.File{
		{Name: "apps/garden.yaml", Content: []byte(garden)},
		{Name: "apps/gone.yaml", Content: []byte("apiVersion: example.com/v1alpha0\nkind: Widget\nmetadata: {name: v1alpha1}\n")},
		{Name: "apps/new.yaml", Content: []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: v1alpha1}\n")},
		{Name: "apps/other.yaml", Content: []byte("apiVersion: example.org/v1alpha1\nkind: Widget\n")},
		{Name: "apps/patch.yaml", Content: []byte("apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata: {name: rose}\n")},
		{Name: "apps/kustomization.yaml", Content: []byte("resources: [garden.yaml]\npatches:\n- path: patch.yaml\n- target: {kind: Widget, group: example.com, version: v1alpha1}\n  patch: '[]'\n")},
	}
	for name, c := range map[string]struct {
		plan manifests.Plan
		want []string
	}{
		"it is served":     {planFor(t, served), []string{"apps/garden.yaml:1 object Widget garden", "apps/patch.yaml:1 patch Widget rose", "apps/kustomization.yaml:4 target Widget"}},
		"it is deprecated": {planFor(t), nil},
		"it is not served": {planFor(t, served, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false }), nil},
		"it is asked for": {func() manifests.Plan {
			target, err := manifests.TargetOf(widgetCRD(t, served), "v1alpha1")
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			return manifests.Plan{target.Kind(): target}
		}(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kept := c.plan.Kept(files)
			g.Expect(said(kept)).To(Equal(c.want))
			g.Expect(kept).NotTo(BeNil(), "JSON has a list")
			for _, h := range kept {
				g.Expect(h.To).To(Equal("v1"))
			}
		})
	}
}
