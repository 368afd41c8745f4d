package manifests_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/manifests"
)

// kustomization has each way to say which objects a patch is for.
const kustomization = `resources: [garden.yaml]
patches:
  - target:
      group: example.com
      version: v1alpha1 # old
      kind: Widget
    patch: |-
      - op: replace
        path: /spec/size
        value: 4
  - patch: |
      # by name
      apiVersion: example.com/v1alpha1
      kind: Widget
      metadata: {name: garden}
      spec: {limits: {most: 2}}
  - path: size.yaml
  - target: {kind: Wid.*, version: v1alpha1}
    path: other.yaml
patchesJson6902:
  - target: {version: v1alpha1, kind: Widget, name: garden}
    path: other.yaml
patchesStrategicMerge:
  - |-
    kind: Widget
    apiVersion: "example.com/v1alpha1"
    metadata: {name: garden}
    spec: {$patch: replace, size: 1}
replacements:
  - source: {kind: Widget, version: v1alpha1, fieldPath: spec.size}
    targets:
      - select: {group: example.com, version: v1alpha1}
`

func TestRewriteMovesAPatchWithWhatItPatches(t *testing.T) {
	g := NewWithT(t)
	plan := planFor(t)
	results := manifests.Rewrite([]manifests.File{
		{Name: "garden/kustomization.yaml", Content: []byte(kustomization)},
		{Name: "garden/garden.yaml", Content: []byte(garden)},
		{Name: "garden/size.yaml", Content: []byte(garden + "spec: {limits: {most: 1}}\n")},
	}, plan)
	g.Expect(said(results[0].References)).To(Equal([]string{
		"garden/kustomization.yaml:5 target Widget",
		"garden/kustomization.yaml:13 patch Widget garden",
		"garden/kustomization.yaml:18 target Widget",
		"garden/kustomization.yaml:21 target Widget garden",
		"garden/kustomization.yaml:26 patch Widget garden",
		"garden/kustomization.yaml:30 target Widget",
		"garden/kustomization.yaml:32 target Widget",
	}))
	g.Expect(string(results[0].Changed)).To(Equal(strings.ReplaceAll(kustomization, "v1alpha1", "v1")))
	g.Expect(said(results[1].References)).To(Equal([]string{"garden/garden.yaml:1 object Widget garden"}))
	g.Expect(said(results[2].References)).To(Equal([]string{"garden/size.yaml:1 patch Widget garden"}), "a patch leaves out what it does not change, so defaults are not its matter")
}

func TestRewriteLeavesAPatchWhereItWouldMissItsObject(t *testing.T) {
	const patch = "patches:\n  - target: {kind: Widget, version: v1alpha1}\n    patch: |-\n      - {op: add, path: /spec/size, value: 4}\n"
	for name, c := range map[string]struct {
		files []manifests.File
		says  string
	}{
		"what it patches is elsewhere": {
			[]manifests.File{{Name: "kustomization.yaml", Content: []byte(patch)}},
			"kustomization.yaml:2 target Widget: what it patches is in none of these files, and has to change with it; name that folder, too, or change both by hand",
		},
		"what it patches stays": {
			[]manifests.File{{Name: "kustomization.yaml", Content: []byte(patch)}, {Name: "garden.yaml", Content: []byte(garden + "spec: {old: x}\n")}},
			"kustomization.yaml:2 target Widget: it is a patch, and Widget garden in garden.yaml:1, which it may be for, stays at v1alpha1",
		},
		"a field that would be dropped": {
			[]manifests.File{{Name: "kustomization.yaml", Content: []byte(strings.ReplaceAll(patch, "/spec/size", "/spec/old"))}, {Name: "garden.yaml", Content: []byte(garden)}},
			"kustomization.yaml:2 target Widget: v1 does not know spec.old, and would drop it without a word",
		},
		"a field that would be dropped, in a strategic merge patch": {
			[]manifests.File{{Name: "kustomization.yaml", Content: []byte("patches:\n- patch: |\n    apiVersion: example.com/v1alpha1\n    kind: Widget\n    spec: {old: x}\n")}, {Name: "garden.yaml", Content: []byte(garden)}},
			"kustomization.yaml:3 patch Widget: v1 does not know spec.old, and would drop it without a word",
		},
		"a text in quotes": {
			[]manifests.File{{Name: "kustomization.yaml", Content: []byte("patches:\n- patch: \"apiVersion: example.com/v1alpha1\\nkind: Widget\\n\"\n")}, {Name: "garden.yaml", Content: []byte(garden)}},
			"kustomization.yaml:2 patch Widget: it is inside of a text that is not a literal block (|); change it there by hand",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := manifests.Rewrite(c.files, planFor(t))[0]
			g.Expect(said(result.References)).To(Equal([]string{c.says}))
			g.Expect(result.Changed).To(BeNil())
		})
	}
}

func TestPatchesOfArgoCDAndFluxAreFound(t *testing.T) {
	for name, content := range map[string]string{
		"Flux":    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  patches:\n    - target: {kind: Widget, version: v1alpha1}\n      patch: |\n        apiVersion: example.com/v1alpha1\n        kind: Widget\n",
		"Argo CD": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source: {kustomize: {patches: [{target: {kind: Widget, version: v1alpha1}}]}}\n  sources:\n  - kustomize:\n      patches:\n      - patch: |-\n          kind: Widget\n          apiVersion: example.com/v1alpha1\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := manifests.Rewrite([]manifests.File{{Name: "a.yaml", Content: []byte(content)}, {Name: "b.yaml", Content: []byte(garden)}}, planFor(t))[0]
			g.Expect(result.References).To(HaveLen(2))
			g.Expect(string(result.Changed)).To(Equal(strings.NewReplacer("version: v1alpha1", "version: v1", "example.com/v1alpha1", "example.com/v1").Replace(content)))
		})
	}
}
