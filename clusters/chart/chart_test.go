package chart

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/test/builders"
)

const root = "../.."

type values = map[string]any

// rendered is what Helm makes of the chart, as objects by their kinds, namespaces and names.
func rendered(t *testing.T, r charts.Release) (map[string]*delivery.Object, error) {
	t.Helper()
	g := NewWithT(t)
	here, err := filepath.Abs(".")
	g.Expect(err).NotTo(HaveOccurred())
	chart, err := charts.Folder(here, filepath.Join(here, root))
	g.Expect(err).NotTo(HaveOccurred())
	got, err := chart.Render(t.Context(), r)
	if err != nil {
		return nil, err
	}
	g.Expect(got.CRDs).To(BeEmpty(), "an upgrade would leave those in crds/ as they are")
	return named(g, got.Objects), nil
}

func named(g Gomega, objects []*delivery.Object) map[string]*delivery.Object {
	all := map[string]*delivery.Object{}
	for _, object := range objects {
		name := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		g.Expect(all).NotTo(HaveKey(name), "it is there twice")
		all[name] = object
	}
	return all
}

// build is what Kustomize makes of folders. What a deletion must not take with it is kept from Helm, which is all that the
// chart adds.
func build(g Gomega, o render.Options, folders ...string) map[string]*delivery.Object {
	var objects []*delivery.Object
	for _, folder := range folders {
		built, err := render.Folder(root+"/"+folder, o)
		g.Expect(err).NotTo(HaveOccurred())
		objects = append(objects, built.Objects...)
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition", "Namespace":
			annotations := map[string]string{"helm.sh/resource-policy": "keep"}
			maps.Copy(annotations, object.GetAnnotations())
			object.SetAnnotations(annotations)
		case "FlowSchema", "PriorityLevelConfiguration":
			object.SetNamespace("") // Kustomize gives them one that the API server drops
		}
	}
	return named(g, objects)
}

// image is what the controller's container gets.
func image(name string) types.Patch {
	return onDeployment(`{op: replace, path: /spec/template/spec/containers/0/image, value: "` + name + `"}`)
}

func argument(text string) types.Patch {
	return onDeployment(`{op: add, path: /spec/template/spec/containers/0/args/-, value: "` + text + `"}`)
}

func onDeployment(operation string) types.Patch {
	return types.Patch{Patch: "- " + operation, Target: &types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "Deployment"}}}}
}

func onStatusPolicy(user string) types.Patch {
	return types.Patch{Patch: `- {op: replace, path: /spec/variables/0/expression, value: "'` + user + `'"}`,
		Target: &types.Selector{ResId: resid.ResId{Gvk: resid.Gvk{Kind: "ValidatingAdmissionPolicy"}, Name: "moult-status"}}}
}

const (
	base   = "clusters/base"
	digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// components are the values that stand for a Component.
var components = map[string]string{
	"allCustomResources": "all-custom-resources", "dashboard": "dashboard", "inTreeMigrator": "in-tree-migrator",
	"migrateStashes": "migrate-stashes", "monitoring": "monitoring", "nudge": "nudge", "references": "references",
	"repairOwners": "repair-owners",
}

func TestTheChartGivesWhatTheKustomizationsGive(t *testing.T) {
	second := values{"namespace": "green-moult", "namePrefix": "green-", "labelKey": "green.example.com/migrate",
		"gateNamespaces": []any{"team-green"}, "crds": values{"enabled": false},
		"image": values{"repository": "registry.example.com/moult-controller", "tag": "v0.1.0"}}
	everything, secondEverything := values{}, maps.Clone(second)
	var all []string
	for _, value := range slices.Sorted(maps.Keys(components)) {
		everything[value], secondEverything[value] = true, true
		all = append(all, "../components/"+components[value])
	}
	type install struct {
		values  values
		folders []string
		options render.Options
	}
	cases := map[string]install{
		"by default":         {nil, []string{base}, render.Options{}},
		"warning":            {values{"admission": values{"mode": "warn"}}, []string{base, "policies/admission/warn"}, render.Options{}},
		"denying":            {values{"admission": values{"mode": "deny"}}, []string{base, "policies/admission/deny"}, render.Options{}},
		"keeping the label":  {values{"admission": values{"keepLabel": true}}, []string{base, "policies/admission/keep-label"}, render.Options{}},
		"every Component":    {everything, []string{base}, render.Options{Components: all}},
		"a second one":       {second, []string{"clusters/second-install"}, render.Options{}},
		"a second with all":  {secondEverything, []string{"clusters/second-install"}, render.Options{Components: all}},
		"a tag":              {values{"image": values{"repository": "r.example.com/m", "tag": "v1"}}, []string{base}, render.Options{Patches: []types.Patch{image("r.example.com/m:v1")}}},
		"a digest":           {values{"image": values{"repository": "r.example.com/m", "digest": digest}}, []string{base}, render.Options{Patches: []types.Patch{image("r.example.com/m@" + digest)}}},
		"a tag and a digest": {values{"image": values{"repository": "r.example.com/m", "tag": "v1", "digest": digest}}, []string{base}, render.Options{Patches: []types.Patch{image("r.example.com/m:v1@" + digest)}}},
		"two namespaces":     {values{"gateNamespaces": []any{"a", "b"}}, []string{base}, render.Options{Patches: []types.Patch{argument("--gate-namespaces=a,b")}}},
		"a flag":             {values{"args": []any{"--settle=2m"}}, []string{base}, render.Options{Patches: []types.Patch{argument("--settle=2m")}}},
		"a registry's secret": {values{"imagePullSecrets": []any{values{"name": "registry"}}}, []string{base},
			render.Options{Patches: []types.Patch{onDeployment(`{op: add, path: /spec/template/spec/imagePullSecrets, value: [{name: registry}]}`)}}},
	}
	for value, component := range components {
		cases[value] = install{values{value: true}, []string{base}, render.Options{Components: []string{"../components/" + component}}}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := rendered(t, charts.Release{Name: "moult", Namespace: "default", Values: c.values})
			g.Expect(err).NotTo(HaveOccurred())
			expectSame(g, got, build(g, c.options, c.folders...))
		})
	}
}

func expectSame(g Gomega, got, want map[string]*delivery.Object) {
	g.Expect(slices.Sorted(maps.Keys(got))).To(Equal(slices.Sorted(maps.Keys(want))))
	for name, object := range want {
		g.Expect(text(got[name])).To(Equal(text(object)), name)
	}
}

// The policies are for the whole cluster, so they keep their names. They know the controller by its own.
func TestThePoliciesKnowAControllerOfAnotherName(t *testing.T) {
	g := NewWithT(t)
	got, err := rendered(t, charts.Release{Name: "ours", Namespace: "platform", Values: values{
		"namespace": "", "namePrefix": "our-", "admission": values{"mode": "deny", "keepLabel": true}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(HaveKey("ServiceAccount platform/our-moult-controller"))
	maps.DeleteFunc(got, func(name string, _ *delivery.Object) bool { return !strings.Contains(name, "Admission") })
	patches := []types.Patch{onStatusPolicy("system:serviceaccount:platform:our-moult-controller")}
	expectSame(g, got, build(g, render.Options{Patches: patches}, "policies/admission/deny", "policies/admission/keep-label"))
}

// Helm has its release lie in a namespace that is there before. The chart takes no such Namespace over.
func TestTheNamespaceOfTheReleaseIsNotTheCharts(t *testing.T) {
	for name, c := range map[string]struct {
		release string
		values  values
	}{
		"as the base names it": {"moult-system", nil},
		"another one":          {"platform", values{"namespace": "platform"}},
		"whichever it is":      {"platform", values{"namespace": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := rendered(t, charts.Release{Name: "moult", Namespace: c.release, Values: c.values})
			g.Expect(err).NotTo(HaveOccurred())
			want := build(g, render.Options{Namespace: c.release}, base)
			delete(want, "Namespace /"+c.release)
			expectSame(g, got, want)
		})
	}
}

func text(object *delivery.Object) string { return builders.YAML([]*delivery.Object{object}) }
