package rbac

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
)

// manifests are a folder that holds these CRDs.
func manifests(t *testing.T, crds ...*apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	dir := t.TempDir()
	for _, crd := range crds {
		NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, crd.Name+".yaml"), []byte(yamlOf(t, crd)), 0o600)).To(Succeed())
	}
	return dir
}

func yamlOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	crd.APIVersion, crd.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	raw, err := yaml.Marshal(crd)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

func moultRBAC(t *testing.T, args ...string) (role *rbacv1.ClusterRole, errOut string, code int) {
	t.Helper()
	got := clitest.Moult{NewCommand}.Run(t, append([]string{"rbac"}, args...)...)
	role = &rbacv1.ClusterRole{}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(got.Out), role)).To(Succeed())
	return role, got.ErrOut, got.Code
}

func TestRBACGrantsWhatTheCRDsNeedAndNothingElse(t *testing.T) {
	crd := func(group, plural string) *builders.CRDBuilder {
		return builders.CRD(group, plural).Versions("v1alpha1", "v1").Storage("v1")
	}
	withStatus := func(built *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinition {
		for i := range built.Spec.Versions {
			built.Spec.Versions[i].Subresources = nil
			if built.Spec.Versions[i].Name == version {
				built.Spec.Versions[i].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
			}
		}
		return built
	}
	plain := func(group, plural string) *apiextensionsv1.CustomResourceDefinition {
		return withStatus(crd(group, plural).Build(), "")
	}
	walk := []string{"get", "list", "patch"}
	for name, c := range map[string]struct {
		crds []*apiextensionsv1.CustomResourceDefinition
		args []string
		want []rbacv1.PolicyRule
	}{
		"a CRD without a status": {crds: []*apiextensionsv1.CustomResourceDefinition{plain("example.com", "widgets")},
			want: []rbacv1.PolicyRule{rule("example.com", []string{"widgets"}, walk...)}},
		"the storage version has a status": {crds: []*apiextensionsv1.CustomResourceDefinition{withStatus(crd("example.com", "widgets").Build(), "v1")},
			want: []rbacv1.PolicyRule{rule("example.com", []string{"widgets"}, walk...), rule("example.com", []string{"widgets/status"}, "patch")}},
		"only another version has one": {crds: []*apiextensionsv1.CustomResourceDefinition{withStatus(crd("example.com", "widgets").Build(), "v1alpha1")},
			want: []rbacv1.PolicyRule{rule("example.com", []string{"widgets"}, walk...)}},
		"groups and resources are sorted": {
			crds: []*apiextensionsv1.CustomResourceDefinition{plain("z.example.com", "widgets"), plain("a.example.com", "widgets"), plain("a.example.com", "gadgets")},
			want: []rbacv1.PolicyRule{rule("a.example.com", []string{"gadgets", "widgets"}, walk...), rule("z.example.com", []string{"widgets"}, walk...)}},
		"a CRD that is left out on purpose": {
			crds: []*apiextensionsv1.CustomResourceDefinition{plain("example.com", "widgets"), withStatus(crd("example.com", "gadgets").Label(v1alpha1.MigrateLabel, "false").Build(), "")},
			want: []rbacv1.PolicyRule{rule("example.com", []string{"widgets"}, walk...)}},
		"only those that are opted in": {args: []string{"--opted-in"},
			crds: []*apiextensionsv1.CustomResourceDefinition{plain("example.com", "widgets"), withStatus(crd("example.com", "gadgets").OptedIn().Build(), "")},
			want: []rbacv1.PolicyRule{rule("example.com", []string{"gadgets"}, walk...)}},
		"opted in by a label of one's own": {args: []string{"--opted-in", "--label-key", "green.example.com/migrate"},
			crds: []*apiextensionsv1.CustomResourceDefinition{
				withStatus(crd("example.com", "widgets").Label("green.example.com/migrate", "true").Build(), ""),
				withStatus(crd("example.com", "gadgets").OptedIn().Build(), "")},
			want: []rbacv1.PolicyRule{rule("example.com", []string{"widgets"}, walk...)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			role, says, code := moultRBAC(t, append(c.args, manifests(t, c.crds...))...)
			g.Expect(code).To(Equal(cli.ExitDone), says)
			g.Expect(role.Rules).To(Equal(c.want))
			g.Expect(role.Name).To(Equal("moult-controller-objects"))
			g.Expect(role.Labels).To(Equal(map[string]string{aggregateLabel: "moult-controller"}))
		})
	}
}

func TestRBACForOwnerReferencesNamesWhatMayBeOwned(t *testing.T) {
	g := NewWithT(t)
	role, says, code := moultRBAC(t, "--repair-owners")
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Name).To(Equal("moult-controller-owners"))
	g.Expect(role.Rules).To(ContainElements(rule("apps", dependents["apps"], "get", "list", "patch"), rule("apiextensions.k8s.io", others["apiextensions.k8s.io"], "list")))

	excluded := builders.CRD("example.com", "gadgets").Versions("v1").Label(v1alpha1.MigrateLabel, "false").Build() // its objects may be owned, too
	role, says, code = moultRBAC(t, "--repair-owners", manifests(t, excluded, builders.CRD("example.com", "widgets").Versions("v1").Build()))
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Rules).To(ContainElement(rule("example.com", []string{"gadgets", "widgets"}, "get", "list", "patch")))
	g.Expect(dependents).NotTo(HaveKey("example.com"))
}

func TestRBACForStashedCopiesNamesWhatTheirMovesDeclare(t *testing.T) {
	g := NewWithT(t)
	role, says, code := moultRBAC(t, "--migrate-stashes")
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Name).To(Equal("moult-controller-stashes"))
	g.Expect(role.Rules).To(ConsistOf(
		rule("apps", []string{"controllerrevisions"}, "create", "delete", "get", "list", "patch"),
		rule("kubevirt.io", []string{"kubevirts"}, "get", "list"),
		rule("kubevirt.io", []string{"virtualmachines"}, "get", "list", "patch"),
		rule("kubevirt.io", []string{"virtualmachines/status"}, "patch"),
		rule("pool.kubevirt.io", []string{"virtualmachinepools"}, "get", "list", "patch"),
		rule("snapshot.kubevirt.io", []string{"virtualmachinerestores"}, "get", "list"),
		rule("snapshot.kubevirt.io", []string{"virtualmachinesnapshotcontents"}, "get", "list", "patch"),
		rule("snapshot.kubevirt.io", []string{"virtualmachinesnapshots"}, "get", "list"),
	))
	_, _, code = moultRBAC(t, "--migrate-stashes", manifests(t))
	g.Expect(code).NotTo(Equal(cli.ExitDone))

	own := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(own, "ours.yaml"), []byte(`{name: ours, title: ours, resources: [controllerrevisions.apps], groups: [example.com],
fields: [{path: data, shape: object}], effect: losesData, consequence: it is lost, clears: moult, remediation: none, convert: crd, evidence: ["https://example.org"], tried: not,
moveBy: {successor: "{owner}-{version}", references: [{resource: gardens.example.com, paths: [spec.revision]}], evidence: ["https://example.org"]}}`), 0o600)).To(Succeed())
	role, says, code = moultRBAC(t, "--migrate-stashes", "--places", own)
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Rules).To(ContainElement(rule("example.com", []string{"gardens"}, "get", "list", "patch")))
	_, says, code = moultRBAC(t, "--places", own, manifests(t))
	g.Expect(code).NotTo(Equal(cli.ExitDone))
	g.Expect(says).To(ContainSubstring("--places is for --migrate-stashes and --references"))
}

func TestRBACReadsFilesAndFoldersTogether(t *testing.T) {
	g := NewWithT(t)
	widgets, gadgets := builders.CRD("example.com", "widgets").Versions("v1").Build(), builders.CRD("example.com", "gadgets").Versions("v1").Build()
	file := filepath.Join(manifests(t, widgets), widgets.Name+".yaml")
	role, says, code := moultRBAC(t, "--aggregate-to", "green-moult-controller", file, file, manifests(t, gadgets))
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Rules[0].Resources).To(Equal([]string{"gadgets", "widgets"}))
	g.Expect(role.Name).To(Equal("green-moult-controller-objects"))
	g.Expect(role.Labels).To(HaveKeyWithValue(aggregateLabel, "green-moult-controller"))
	role, _, _ = moultRBAC(t, "--name", "mine", file)
	g.Expect(role.Name).To(Equal("mine"))
}

func TestRBACReadsTheChartsOfAKustomization(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"k/kustomization.yaml": "helmCharts: [{name: c, includeCRDs: true}]\n", "k/charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
		"k/charts/c/crds/w.yaml": yamlOf(t, builders.CRD("example.com", "widgets").Versions("v1").Build()),
	})
	role, says, code := moultRBAC(t, "k")
	g.Expect(code).To(Equal(cli.ExitDone), says)
	g.Expect(role.Rules[0].Resources).To(Equal([]string{"widgets"}))
}

// Nothing is printed then, so that no half role is committed.
func TestRBACRefuses(t *testing.T) {
	v1beta1 := builders.CRD("example.com", "widgets").Versions("v1").Build()
	old := manifests(t, v1beta1)
	file := filepath.Join(old, v1beta1.Name+".yaml")
	raw, err := os.ReadFile(file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(os.WriteFile(file, []byte(strings.Replace(string(raw), "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1)), 0o600)).To(Succeed())
	unlabelled := manifests(t, builders.CRD("example.com", "widgets").Versions("v1").Build())
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no path":                         {nil, "name at least one PATH; see moult rbac --help"},
		"a path that is not there":        {[]string{"nowhere"}, "nowhere: there is no such file or folder; for a revision write git:REVISION:PATH"},
		"a folder without a CRD":          {[]string{"../../../examples/flux/4-removal/widgets"}, "there is no CustomResourceDefinition to grant anything for"},
		"a folder of several trees":       {[]string{"../../../examples/flux"}, "all manifests in a folder and below are taken as one, so if several things lie there, name the folders that hold the CRDs"},
		"no CRD is opted in":              {[]string{unlabelled, "--opted-in"}, "there is no CustomResourceDefinition with the label moult.dev/migrate; leave out --opted-in"},
		"a CRD of before Kubernetes 1.22": {[]string{old}, "CustomResourceDefinition widgets.example.com is written as apiextensions.k8s.io/v1beta1, which no API server since Kubernetes 1.22 reads"},
		"a label that cannot be":          {[]string{unlabelled, "--aggregate-to", "a/b"}, `--aggregate-to "a/b" cannot be a label's value`},
		"no label":                        {[]string{unlabelled, "--aggregate-to", ""}, `--aggregate-to "" cannot be a label's value; write it like moult-controller`},
		"a name that cannot be":           {[]string{unlabelled, "--name", "a/b"}, `--name "a/b" cannot be a ClusterRole's name`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			role, says, code := moultRBAC(t, c.args...)
			g.Expect(code).To(Equal(cli.ExitError))
			g.Expect(says).To(ContainSubstring(c.says))
			g.Expect(role).To(Equal(&rbacv1.ClusterRole{}))
		})
	}
}

// No API server takes these, but the role is committed and applied by a user who may escalate.
func TestRBACGrantsNothingForWhatIsNoCRD(t *testing.T) {
	for name, c := range map[string]struct {
		name, group, plural string
		says                string
	}{
		"everything":                 {"*.*", "*", "*", `spec.group "*" is no domain`},
		"everything in a group":      {"*.example.com", "example.com", "*", `spec.names.plural "*" is no name`},
		"the core group":             {"secrets.", "", "secrets", `spec.group is missing`},
		"a group without a dot":      {"deployments.apps", "apps", "deployments", `spec.group "apps" is a domain without a dot`},
		"another resource's name":    {"widgets.example.com", "example.com", "gadgets", `its name has to be "gadgets.example.com"`},
		"another group's name":       {"widgets.example.com", "example.org", "widgets", `its name has to be "widgets.example.org"`},
		"a subresource":              {"widgets/scale.example.com", "example.com", "widgets/scale", `spec.names.plural "widgets/scale" is no name`},
		"no spec":                    {"widgets.example.com", "", "", `spec.group is missing`},
		"no plural":                  {"widgets.example.com", "example.com", "", `spec.names.plural "" is no name`},
		"a group of Kubernetes":      {"clusterroles.rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "clusterroles", "the group rbac.authorization.k8s.io, which Kubernetes itself serves"},
		"CRDs themselves":            {"customresourcedefinitions.apiextensions.k8s.io", "apiextensions.k8s.io", "customresourcedefinitions", "which Kubernetes itself serves"},
		"the aggregation layer":      {"apiservices.apiregistration.k8s.io", "apiregistration.k8s.io", "apiservices", "which Kubernetes itself serves"},
		"a CRD of a Kubernetes team": {"gateways.gateway.networking.k8s.io", "gateway.networking.k8s.io", "gateways", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), "crd.yaml")
			const versions = "[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]"
			spec := fmt.Sprintf("{group: %q, names: {plural: %q, kind: Widget}, versions: %s}", c.group, c.plural, versions)
			if name == "no spec" {
				spec = "{versions: " + versions + "}"
			}
			g.Expect(os.WriteFile(file, fmt.Appendf(nil, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %q}\nspec: %s\n", c.name, spec), 0o600)).To(Succeed())
			role, says, code := moultRBAC(t, file)
			if c.says == "" {
				g.Expect(code).To(Equal(cli.ExitDone), says)
				return
			}
			g.Expect(code).To(Equal(cli.ExitError))
			g.Expect(says).To(ContainSubstring(c.says))
			g.Expect(role).To(Equal(&rbacv1.ClusterRole{}))
		})
	}
}
