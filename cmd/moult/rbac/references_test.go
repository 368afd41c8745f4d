package rbac

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
)

// The Component is what is printed, so that a place that is added to the registry is granted, too.
func TestTheComponentHasWhatIsPrinted(t *testing.T) {
	g := NewWithT(t)
	got := clitest.Moult{NewCommand}.Run(t, "rbac", "--references")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	committed, err := os.ReadFile("../../../clusters/components/references/role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(committed)).To(Equal(got.Out), "write it anew with `moult rbac --references`")
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(committed, role)).To(Succeed())
	for _, rule := range role.Rules {
		g.Expect(rule.Verbs).To(Equal([]string{"get", "list"}), "nothing is written")
	}
}

func TestReferencesInTheObjectsOfCRDs(t *testing.T) {
	g := NewWithT(t)
	folder := manifests(t, builders.CRD("example.com", "widgets").Versions("v1").Build(), builders.CRD("example.com", "gadgets").Versions("v1").Build())
	role, says, code := moultRBAC(t, "--references", folder)
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Name).To(Equal("moult-controller-references-objects"))
	g.Expect(role.Labels).To(Equal(map[string]string{aggregateLabel: "moult-controller"}))
	g.Expect(role.Rules).To(Equal([]rbacv1.PolicyRule{rule("example.com", []string{"gadgets", "widgets"}, "get", "list")}))
}
