package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
)

const (
	withColor    = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}, parts: {type: array, items: {type: string}}, enabled: {type: boolean}, payload: {type: string}}}}}"
	withoutColor = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, parts: {type: array, items: {type: string}}, enabled: {type: boolean}, payload: {type: string}}}}}"
)

// to is a cluster that has the CRD, and where the CRD of a release lies whose v1alpha1 has the schema.
func to(t *testing.T, schema string, live func(group string) *builders.CRDBuilder) *releases {
	t.Helper()
	group := builders.UniqueGroup(t)
	r := &releases{World: suite.WorldOf(t, live(group).Label(group+"/migrate", "true")), place: filepath.Join(t.TempDir(), "release-1")}
	r.first = builders.CRD(group, "widgets").Versions("v1alpha1").Schema("v1alpha1", schema).Build()
	r.write(filepath.Join(r.place, "crd.yaml"), r.first)
	r.Expect(builders.CreateObjects(t.Context(), cp.Config, r.GR.WithVersion(crds.StorageVersion(r.CRD)), "default", 3)).To(Succeed())
	return r
}

// colors are those of all objects at a version.
func (r *releases) colors(version string) (colors []any) {
	r.T.Helper()
	list, err := r.Objects(version).List(r.T.Context(), metav1.ListOptions{})
	r.Expect(err).NotTo(HaveOccurred())
	for i := range list.Items {
		colors = append(colors, list.Items[i].Object["spec"].(map[string]any)["color"])
	}
	return colors
}

// The cluster has the version to go back to, by a schema that lacks a field of the release's. A flip would lose it, and the CRD
// between does not.
func TestTheSchemaToGoBackToIsTheReleases(t *testing.T) {
	t.Parallel()
	r := to(t, withColor, func(group string) *builders.CRDBuilder {
		return builders.CRD(group, "widgets").Versions("v1", "v1alpha1").Storage("v1").Schema("v1alpha1", withoutColor).Schema("v1", withColor)
	})
	p := r.back()
	r.Expect(p.Next).To(Equal(runbook.Serve))
	r.Expect(r.step(runbook.Rehearse)).To(And(HaveField("State", runbook.Advised), HaveField("Seen", And(
		HavePrefix("3 objects: lost: spec.color of 3 objects, for example default/object-00000"), HaveSuffix(" (by the schema of v1alpha1 that the cluster has)")))))
	r.Expect(r.step(runbook.Flip).State).To(Equal(runbook.Held))

	between := &apiextensionsv1.CustomResourceDefinition{}
	serve := r.step(runbook.Serve)
	serve.Commands[0], _, _ = strings.Cut(serve.Commands[0], " > ")
	r.Expect(yaml.UnmarshalStrict([]byte(r.prints(serve)), between)).To(Succeed())
	r.Expect(r.takes(between)).To(Succeed())
	r.Expect(builders.WaitServed(t.Context(), cp.Config, between)).To(Succeed())
	p = r.back()
	r.Expect(p.Next).To(Equal(runbook.Flip))
	r.Expect(r.step(runbook.Rehearse).State).To(Equal(runbook.Done))
	r.Flip("v1alpha1")
	r.Expect(r.colors("v1alpha1")).To(HaveEach("green"))
}

// The last commit of the way is the release's CRD. It loses what its schema lacks, wherever the objects are stored by then.
func TestTheCRDOfTheReleaseLosesWhatItsSchemaLacks(t *testing.T) {
	t.Parallel()
	lost := And(ContainSubstring("lost: spec.color of 3 objects, for example default/object-00000"), ContainSubstring(" (by the schema of v1alpha1 in "))
	stored := to(t, withoutColor, func(group string) *builders.CRDBuilder {
		return builders.CRD(group, "widgets").Versions("v1alpha1").Schema("v1alpha1", withColor)
	})
	p := stored.back()
	stored.Expect(p.Next).To(Equal(runbook.Rehearse))
	stored.Expect(stored.step(runbook.Rehearse)).To(And(HaveField("State", runbook.Held), HaveField("Seen", lost)))
	stored.Expect(p.Steps[slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == runbook.Flip })].State).To(Equal(runbook.Done))

	before := to(t, withoutColor, func(group string) *builders.CRDBuilder {
		return builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Schema("v1alpha1", withColor).Schema("v1", withColor)
	})
	before.Expect(before.back().Next).To(Equal(runbook.Flip))
	before.Expect(before.step(runbook.Flip)).To(And(HaveField("State", runbook.Held), HaveField("Seen", lost)))
}

// A release is one CRD: of two that differ, none is taken.
func TestAReleaseHasOneCRDOfTheName(t *testing.T) {
	t.Parallel()
	r := to(t, withColor, func(group string) *builders.CRDBuilder {
		return builders.CRD(group, "widgets").Versions("v1alpha1", "v1")
	})
	twice := filepath.Join(t.TempDir(), "twice.yaml")
	put := func(second *apiextensionsv1.CustomResourceDefinition) {
		var all []byte
		for _, crd := range []*apiextensionsv1.CustomResourceDefinition{r.first, second} {
			r.write(twice, crd)
			content, err := os.ReadFile(twice)
			r.Expect(err).NotTo(HaveOccurred())
			all = append(append(all, "---\n"...), content...)
		}
		r.Expect(os.WriteFile(twice, all, 0o600)).To(Succeed())
	}
	put(r.first)
	r.Expect(r.back("--release", twice).Return).To(BeTrue(), "they are equal")
	put(builders.CRD(r.CRD.Spec.Group, "widgets").Versions("v1alpha1").Schema("v1alpha1", withoutColor).Build())
	got := r.Run("plan", r.CRD.Name, "--back-to", "v1alpha1", "--release", twice)
	r.Expect(got.Code).To(Equal(cli.ExitError))
	r.Expect(got.ErrOut).To(MatchRegexp(`is in \S+twice.yaml more than once, and differs: at \S*twice.yaml:2\S* and at \S*twice.yaml:\d\d\S*; name a place that has one of them`))
}
