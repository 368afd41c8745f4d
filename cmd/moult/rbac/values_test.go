package rbac

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
)

// The chart makes the same role of the values as the command prints without Helm.
func TestTheChartMakesTheSameRoleOfTheValues(t *testing.T) {
	plain := func(group, plural string) *apiextensionsv1.CustomResourceDefinition {
		crd := builders.CRD(group, plural).Versions("v1alpha1", "v1").Storage("v1").Build()
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Subresources = nil
		}
		return crd
	}
	withStatus := func(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
		}
		return crd
	}
	for name, crds := range map[string][]*apiextensionsv1.CustomResourceDefinition{
		"one without a status": {plain("a.example.com", "widgets")},
		"one with a status":    {withStatus(plain("a.example.com", "widgets"))},
		"several groups": {withStatus(plain("z.example.com", "widgets")), plain("a.example.com", "widgets"),
			withStatus(plain("a.example.com", "gadgets")), withStatus(plain("a.example.com", "gizmos"))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := manifests(t, crds...)
			role, says, code := moultRBAC(t, dir)
			g.Expect(code).To(Equal(cli.ExitDone), says)
			printed := clitest.Moult{NewCommand}.Run(t, "rbac", "-o", "values", dir)
			g.Expect(printed.Code).To(Equal(cli.ExitDone), printed.ErrOut)

			given, err := charts.ParseValues([]byte(printed.Out))
			g.Expect(err).NotTo(HaveOccurred())
			root, err := filepath.Abs("../../..")
			g.Expect(err).NotTo(HaveOccurred())
			chart, err := charts.Folder(filepath.Join(root, "clusters/chart"), root)
			g.Expect(err).NotTo(HaveOccurred())
			rendered, err := chart.Render(t.Context(), charts.Release{Name: "moult", Namespace: "moult-system", Values: given})
			g.Expect(err).NotTo(HaveOccurred())
			want, err := yaml.Marshal(role)
			g.Expect(err).NotTo(HaveOccurred())
			for _, object := range rendered.Objects {
				if object.GetName() == role.Name {
					g.Expect(builders.YAML([]interface{ UnstructuredContent() map[string]any }{object})).To(MatchYAML(want))
					return
				}
			}
			g.Expect(rendered.Objects).To(BeNil(), "the role is not there")
		})
	}
}

func TestValuesAreForTheObjectsOfCRDs(t *testing.T) {
	crd := manifests(t, builders.CRD("a.example.com", "widgets").Versions("v1").Label(v1alpha1.MigrateLabel, "true").Build())
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"another format":    {[]string{"-o", "json", crd}, "-o json is none of manifests, values"},
		"owner references":  {[]string{"-o", "values", "--repair-owners"}, "repairOwners"},
		"stashed copies":    {[]string{"-o", "values", "--migrate-stashes"}, "migrateStashes"},
		"references":        {[]string{"-o", "values", "--references"}, "references"},
		"a name":            {[]string{"-o", "values", "--name", "x", crd}, "namePrefix"},
		"a role of its own": {[]string{"-o", "values", "--aggregate-to", "x", crd}, "namePrefix"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, says, code := moultRBAC(t, c.args...)
			g.Expect(code).NotTo(Equal(cli.ExitDone))
			g.Expect(says).To(ContainSubstring(c.says))
		})
	}
}
