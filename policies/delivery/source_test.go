package delivery

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

func parsed(t *testing.T, manifest string) *Object {
	t.Helper()
	content := map[string]any{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(manifest), &content)).To(Succeed())
	return Wrap(content)
}

func TestAnApplicationOfSeveralSourcesHasSeveralSources(t *testing.T) {
	g := NewWithT(t)
	sources := SourcesOf(parsed(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: crds}
spec:
  sources:
  - {chart: widgets, repoURL: x}
  - path: crds
    kustomize:
      components: [../opt-in]
      ignoreMissingComponents: true
      commonLabels: {team: a}
      patches:
      - {patch: "[]", target: {kind: CustomResourceDefinition}}
`))
	g.Expect(sources).To(HaveLen(2))
	g.Expect(sources[0].Path).To(BeEmpty())
	d := sources[1]
	g.Expect(d.Path).To(Equal("crds"))
	g.Expect(d.Components).To(Equal([]string{"../opt-in"}))
	g.Expect(d.IgnoreMissingComponents).To(BeTrue())
	g.Expect(d.Labels).To(Equal(map[string]string{"team": "a"}))
	g.Expect(d.PatchesField).To(Equal([]string{"spec", "sources", "1", "kustomize", "patches"}))
	g.Expect(d.Patches).To(Equal([]types.Patch{{Patch: "[]", Target: &types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "CustomResourceDefinition"}}}}}))
}
