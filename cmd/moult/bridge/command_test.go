package bridge

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
)

func run(t *testing.T, args ...string) clitest.Answer {
	t.Helper()
	return moult.Run(t, append([]string{"bridge"}, args...)...)
}

func TestBridgePrintsWhatCanBeCommitted(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"base/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": clitest.Widgets,
		"base/gadgets.yaml": strings.ReplaceAll(clitest.Widgets, "idget", "adget"), "head/gadgets.yaml": strings.ReplaceAll(clitest.Widgets, "idget", "adget"),
		"head/new.yaml": strings.ReplaceAll(clitest.Widgets, "idget", "ew"),
	})
	got := run(t, "--base", "base", "--head", "head")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(HavePrefix("# widgets.example.com on the way from base to head: the new CRD, with v1alpha1 put back.\n#\n# 1. Commit this"))
	g.Expect(strings.Count(got.Out, "kind: CustomResourceDefinition")).To(Equal(1), "the others need none")
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict([]byte(got.Out), crd)).To(Succeed())
	g.Expect(crd.Labels).To(Equal(map[string]string{"moult.dev/migrate": "true"}))
	g.Expect(crd.Spec.Versions).To(HaveLen(2))
	g.Expect(got.Out).NotTo(ContainSubstring("status:"))
	g.Expect(got.Out).NotTo(ContainSubstring("creationTimestamp"))
}

// The version that is put back is served and not deprecated, so a plain rewrite would leave it alone.
func TestBridgePrintsTheRewriteThatTurnsManifests(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"base/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": clitest.Widgets, "apps/rose.yaml": clitest.Rose,
	})
	got := run(t, "--base", "base", "--head", "head")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(os.WriteFile("bridge.yaml", []byte(got.Out), 0o600)).To(Succeed())
	_, command, found := strings.Cut(got.Out, "#        moult rewrite ")
	g.Expect(found).To(BeTrue(), got.Out)
	command, _, _ = strings.Cut(command, "\n")
	got = moult.Run(t, append([]string{"rewrite"}, strings.Fields(strings.Replace(command, "FILE", "bridge.yaml", 1))...)...)
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(Equal("apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place changed, 0 left for a person\n"))
}

func TestBridgeKeepsWhereObjectsAreStored(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{
		"base/widgets.yaml": clitest.Widgets, "head/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "name: v1\n", "name: v1alpha1\n"),
	})
	got := run(t, "--base", "base", "--head", "head", "--keep-storage")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict([]byte(got.Out), crd)).To(Succeed())
	g.Expect(crds.StorageVersion(crd)).To(Equal("v1"))
	g.Expect(crds.ServedBeside(crd, "v1")).To(Equal([]string{"v1alpha1"}))
}

func TestBridgeTakesEitherStateFromStandardInput(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"base/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": clitest.Widgets})
	got := moult.Piped(t, clitest.Read(g, "head/widgets.yaml"), "bridge", "--base", "base", "--head", "-")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(HavePrefix("# widgets.example.com on the way from base to standard input: the new CRD, with v1alpha1 put back.\n"))
	got = moult.Piped(t, clitest.Read(g, "base/widgets.yaml"), "bridge", "--base", "-", "--head", "head")
	g.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	g.Expect(got.Out).To(HavePrefix("# widgets.example.com on the way from standard input to head"))
	got = moult.Piped(t, "a: b\n", "bridge", "--base", "-", "--head", "head")
	g.Expect(got.ErrOut).To(ContainSubstring("--base: there is no CustomResourceDefinition in standard input"))
}

func TestBridgeSaysWhenThereIsNothingToBridge(t *testing.T) {
	g := clitest.InRepository(t, map[string]string{"base/widgets.yaml": clitest.Widgets, "head/widgets.yaml": clitest.Widgets, "head/new.yaml": strings.ReplaceAll(clitest.Widgets, "idget", "ew")})
	got := run(t, "--base", "base", "--head", "head")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone))
	g.Expect(got.Out).To(BeEmpty())
	g.Expect(got.ErrOut).To(Equal("moult: there is nothing to bridge\n  wews.example.com is not in base: it is new\n" +
		"  widgets.example.com needs no intermediate CRD: the new one has every version of the old one, so it can be applied as it is\n"))
}

// A CRD that no API server takes is neither printed nor called fit to be applied.
func TestBridgeAsksWhatTheAPIServerWouldRefuse(t *testing.T) {
	broken := strings.ReplaceAll(clitest.Widgets, "  scope: Namespaced\n", "  scope: Namespaced\n  conversion: {strategy: Magic}\n")
	g := clitest.InRepository(t, map[string]string{
		"base/widgets.yaml": clitest.Widgets, "older/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": broken,
	})
	got := run(t, "--base", "base", "--head", "head")
	g.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	g.Expect(got.ErrOut).To(ContainSubstring("widgets.example.com needs no intermediate CRD, but the API server would refuse the new one: spec.conversion.strategy: Unsupported value"))
	g.Expect(got.ErrOut).NotTo(ContainSubstring("can be applied as it is"))
	got = run(t, "--base", "older", "--head", "head")
	g.Expect(got.Code).To(Equal(cli.ExitError), got.ErrOut)
	g.Expect(got.ErrOut).To(ContainSubstring("the API server would refuse the intermediate CRD of widgets.example.com: spec.conversion.strategy: "))
	g.Expect(got.Out).To(BeEmpty())
}

func TestBridgeRefuses(t *testing.T) {
	clitest.InRepository(t, map[string]string{"base/widgets.yaml": clitest.Widgets, "head/widgets.yaml": strings.ReplaceAll(clitest.Widgets, "Namespaced", "Cluster")})
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no new state":           {[]string{"--base", "base"}, "name the new state with --head"},
		"no old state":           {[]string{"--head", "head"}, "name the old state with either --base or --live"},
		"two old states":         {[]string{"--head", "head", "--base", "base", "--live"}, "name the old state with either --base or --live"},
		"a cluster without name": {[]string{"--head", "head", "--live"}, "--live asks for a --context"},
		"standard input twice":   {[]string{"--head", "-", "--base", "-"}, "only one of --base and --head can be standard input"},
		"an argument":            {[]string{"--head", "head", "--base", "base", "widgets"}, "takes no argument"},
		"another scope":          {[]string{"--head", "head", "--base", "base"}, "widgets.example.com would change its scope"},
		"no such CRD":            {[]string{"--head", "head", "--base", "base", "--crd", "x"}, "there is no x in head"},
		"no such old state":      {[]string{"--head", "head", "--base", "nowhere"}, "nowhere: there is no such file or folder"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := run(t, c.args...)
			g.Expect(got.Code).To(Equal(cli.ExitError), got.ErrOut)
			g.Expect(got.ErrOut).To(ContainSubstring(c.says))
			g.Expect(got.Out).To(BeEmpty())
		})
	}
}
