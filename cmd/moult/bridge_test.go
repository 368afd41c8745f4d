package main

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestBridgePrintsWhatCanBeCommitted(t *testing.T) {
	g := inRepository(t, map[string]string{
		"base/widgets.yaml": strings.ReplaceAll(widgetsV1, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": widgetsV1,
		"base/gadgets.yaml": strings.ReplaceAll(widgetsV1, "idget", "adget"), "head/gadgets.yaml": strings.ReplaceAll(widgetsV1, "idget", "adget"),
		"head/new.yaml": strings.ReplaceAll(widgetsV1, "idget", "ew"),
	})
	got := alone(t, newBridgeCommand, "--base", "base", "--head", "head")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(HavePrefix("# widgets.example.com on the way from base to head: the new CRD, with v1alpha1 put back.\n#\n# 1. Commit this"))
	g.Expect(strings.Count(got.out, "kind: CustomResourceDefinition")).To(Equal(1), "the others need none")
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict([]byte(got.out), crd)).To(Succeed())
	g.Expect(crd.Labels).To(Equal(map[string]string{"moult.dev/migrate": "true"}))
	g.Expect(crd.Spec.Versions).To(HaveLen(2))
	g.Expect(got.out).NotTo(ContainSubstring("status:"))
	g.Expect(got.out).NotTo(ContainSubstring("creationTimestamp"))
}

// The version that is put back is served and not deprecated, so a plain rewrite would leave it alone.
func TestBridgePrintsTheRewriteThatTurnsManifests(t *testing.T) {
	g := inRepository(t, map[string]string{
		"base/widgets.yaml": strings.ReplaceAll(widgetsV1, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": widgetsV1, "apps/rose.yaml": rose,
	})
	got := alone(t, newBridgeCommand, "--base", "base", "--head", "head")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(os.WriteFile("bridge.yaml", []byte(got.out), 0o600)).To(Succeed())
	_, command, found := strings.Cut(got.out, "#        moult rewrite ")
	g.Expect(found).To(BeTrue(), got.out)
	command, _, _ = strings.Cut(command, "\n")
	got = alone(t, newRewriteCommand, strings.Fields(strings.Replace(command, "FILE", "bridge.yaml", 1))...)
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(Equal("apps/rose.yaml:2: Widget rose: v1alpha1 -> v1\n1 place changed, 0 left for a person\n"))
}

func TestBridgeTakesEitherStateFromStandardInput(t *testing.T) {
	g := inRepository(t, map[string]string{"base/widgets.yaml": strings.ReplaceAll(widgetsV1, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": widgetsV1})
	got := piped(t, newBridgeCommand, read(g, "head/widgets.yaml"), "--base", "base", "--head", "-")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(HavePrefix("# widgets.example.com on the way from base to standard input: the new CRD, with v1alpha1 put back.\n"))
	got = piped(t, newBridgeCommand, read(g, "base/widgets.yaml"), "--base", "-", "--head", "head")
	g.Expect(got.code).To(Equal(exitDone), got.errOut)
	g.Expect(got.out).To(HavePrefix("# widgets.example.com on the way from standard input to head"))
	got = piped(t, newBridgeCommand, "a: b\n", "--base", "-", "--head", "head")
	g.Expect(got.errOut).To(ContainSubstring("--base: there is no CustomResourceDefinition in standard input"))
}

func TestBridgeSaysWhenThereIsNothingToBridge(t *testing.T) {
	g := inRepository(t, map[string]string{"base/widgets.yaml": widgetsV1, "head/widgets.yaml": widgetsV1, "head/new.yaml": strings.ReplaceAll(widgetsV1, "idget", "ew")})
	got := alone(t, newBridgeCommand, "--base", "base", "--head", "head")
	g.Expect(got.code).To(Equal(exitNotDone))
	g.Expect(got.out).To(BeEmpty())
	g.Expect(got.errOut).To(Equal("moult: there is nothing to bridge\n  wews.example.com is not in base: it is new\n" +
		"  widgets.example.com needs no intermediate CRD: the new one has every version of the old one, so it can be applied as it is\n"))
}

// A CRD that no API server takes is neither printed nor called fit to be applied.
func TestBridgeAsksWhatTheAPIServerWouldRefuse(t *testing.T) {
	broken := strings.ReplaceAll(widgetsV1, "  scope: Namespaced\n", "  scope: Namespaced\n  conversion: {strategy: Magic}\n")
	g := inRepository(t, map[string]string{
		"base/widgets.yaml": widgetsV1, "older/widgets.yaml": strings.ReplaceAll(widgetsV1, "name: v1\n", "name: v1alpha1\n"), "head/widgets.yaml": broken,
	})
	got := alone(t, newBridgeCommand, "--base", "base", "--head", "head")
	g.Expect(got.code).To(Equal(exitNotDone), got.errOut)
	g.Expect(got.errOut).To(ContainSubstring("widgets.example.com needs no intermediate CRD, but the API server would refuse the new one: spec.conversion.strategy: Unsupported value"))
	g.Expect(got.errOut).NotTo(ContainSubstring("can be applied as it is"))
	got = alone(t, newBridgeCommand, "--base", "older", "--head", "head")
	g.Expect(got.code).To(Equal(exitError), got.errOut)
	g.Expect(got.errOut).To(ContainSubstring("the API server would refuse the intermediate CRD of widgets.example.com: spec.conversion.strategy: "))
	g.Expect(got.out).To(BeEmpty())
}

func TestBridgeRefuses(t *testing.T) {
	inRepository(t, map[string]string{"base/widgets.yaml": widgetsV1, "head/widgets.yaml": strings.ReplaceAll(widgetsV1, "Namespaced", "Cluster")})
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
			got := alone(t, newBridgeCommand, c.args...)
			g.Expect(got.code).To(Equal(exitError), got.errOut)
			g.Expect(got.errOut).To(ContainSubstring(c.says))
			g.Expect(got.out).To(BeEmpty())
		})
	}
}
