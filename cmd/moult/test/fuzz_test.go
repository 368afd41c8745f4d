package test

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/roundtrip"
	"github.com/moult-dev/moult/test/webhooks"
)

// nested is a schema with a field far down.
const nested = `{type: object, properties: {
  status: {type: object, properties: {phase: {type: string, enum: [Ready, Failed]}}},
  spec: {type: object, required: [class], x-kubernetes-validations: [{rule: "!has(self.min) || !has(self.max) || self.min <= self.max"}], properties: {
    class: {type: string, enum: [gold, silver]}, min: {type: integer, minimum: 0}, max: {type: integer, minimum: 0}, replicas: {type: integer, default: 1},
    hosts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {
      name: {type: string, pattern: '^[a-z]{1,8}$'}, port: {x-kubernetes-int-or-string: true},
      auth: {type: object, properties: {realm: {type: string}, tokens: {type: array, items: {type: object, properties: {id: {type: string}, scope: {type: string, enum: [r, w]}}}}}}}}},
    labels: {type: object, additionalProperties: {type: string}}}}}}`

// withNested is the CRD of a webhook, both of whose versions have that schema.
func withNested(t *testing.T, hook *webhooks.Conversion, text string) string {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g := NewWithT(t)
	g.Expect(yaml.Unmarshal([]byte(hooked(t, hook)), crd)).To(Succeed())
	for i := range crd.Spec.Versions {
		schema := &apiextensionsv1.JSONSchemaProps{}
		g.Expect(yaml.UnmarshalStrict([]byte(text), schema)).To(Succeed())
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = schema
	}
	raw, err := yaml.Marshal(crd)
	g.Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

// dropScope has v1 lose the scope of tokens that are not the first of their host.
func dropScope(object *unstructured.Unstructured, _, to string) {
	hosts, _, _ := unstructured.NestedSlice(object.Object, "spec", "hosts")
	for _, host := range hosts {
		tokens, _, _ := unstructured.NestedSlice(host.(map[string]any), "auth", "tokens")
		for i, token := range tokens {
			if i > 0 && to == "v1" {
				delete(token.(map[string]any), "scope")
			}
		}
		if len(tokens) > 1 {
			_ = unstructured.SetNestedSlice(host.(map[string]any), tokens, "auth", "tokens")
		}
	}
	if len(hosts) > 0 {
		_ = unstructured.SetNestedSlice(object.Object, hosts, "spec", "hosts")
	}
}

func TestADroppedFieldIsFoundWithinAThousandObjectsAndShownByTheSmallest(t *testing.T) {
	hook := webhooks.Converting(t)
	g := inFolder(t, withNested(t, hook, nested), nil)
	report, code := tested(t, g, "--webhook", "crd", "--fuzz", "100")
	g.Expect(report.CRDs[0].Findings).To(BeEmpty(), "it is clean")
	g.Expect(code).To(Equal(0))
	g.Expect(report.CRDs[0].Generated).To(BeEquivalentTo(200))

	hook.Change(dropScope)
	report, code = tested(t, g, "--webhook", "crd", "--fuzz", "300")
	g.Expect(code).To(Equal(cli.ExitNotDone))
	g.Expect(report.CRDs[0].Findings).To(HaveLen(2), "v1alpha1 loses it on the way, and v1 on the way back again")
	f := report.CRDs[0].Findings[1]
	g.Expect(f).To(And(HaveField("Kind", roundtrip.Lost), HaveField("From", "v1alpha1"), HaveField("Via", "v1"), HaveField("What", "spec.hosts[*].auth.tokens[*].scope")))
	spec := f.Smallest["spec"].(map[string]any)
	host := spec["hosts"].([]any)[0].(map[string]any)
	g.Expect(spec).To(And(HaveLen(2), HaveKey("class"), HaveKeyWithValue("hosts", HaveLen(1))), "class has to be there")
	g.Expect(host).To(And(HaveLen(2), HaveKey("name"), HaveKeyWithValue("auth", HaveLen(1))))
	g.Expect(host["auth"].(map[string]any)["tokens"]).To(ConsistOf(BeEmpty(), And(HaveLen(1), HaveKey("scope"))))

	again := moult.Run(t, "test", "conversion", "--crds", "crd.yaml", "--webhook", "crd", "--fuzz", "60", "--seed", "5")
	g.Expect(moult.Run(t, "test", "conversion", "--crds", "crd.yaml", "--webhook", "crd", "--fuzz", "60", "--seed", "5")).To(Equal(again))
	g.Expect(again.Out).To(And(ContainSubstring("the smallest:\n      apiVersion: example.com/v1"), ContainSubstring("lost, v1alpha1 → v1 → v1alpha1: spec.hosts[*].auth.tokens[*].scope (was \"")), again.Out)
}

func TestASchemaWithoutValidObjectsIsNotAPass(t *testing.T) {
	hook := webhooks.Converting(t)
	g := inFolder(t, withNested(t, hook, `{type: object, required: [spec], properties: {spec: {type: object, x-kubernetes-validations: [{rule: "false", message: "never"}], properties: {a: {type: string}}}}}`), nil)
	report, code := tested(t, g, "--webhook", "crd", "--fuzz", "50")
	g.Expect(code).To(Equal(cli.ExitUnknown))
	g.Expect(report.CRDs[0].Unknown).To(ContainElement(HaveField("What", And(ContainSubstring("of 50 objects, only 0 could be made"), ContainSubstring("never")))))
}

func TestFieldsThatChanceDoesNotMakeAreNamed(t *testing.T) {
	const rare = `{type: object, properties: {spec: {type: object, properties: {a: {type: string}, rare: {type: string, x-kubernetes-validations: [{rule: "self == 'xyzzy'"}]}}}}}`
	hook := webhooks.Converting(t)
	g := inFolder(t, withNested(t, hook, rare), map[string]string{"given/moult-test.yaml": "values: [{crd: widgets.example.com, path: spec.rare, values: [xyzzy]}]\n"})
	report, _ := tested(t, g, "--webhook", "crd", "--fuzz", "50")
	g.Expect(report.CRDs[0].Missed).To(Equal(map[string][]string{"v1alpha1": {"spec.rare"}, "v1": {"spec.rare"}}))
	report, code := tested(t, g, "given", "--webhook", "crd", "--fuzz", "50")
	g.Expect(code).To(Equal(0))
	g.Expect(report.CRDs[0].Missed).To(BeEmpty())
}

func TestACommandThatEndsInTheMiddleIsReportedWithWhatItPrints(t *testing.T) {
	g := inFolder(t, withNested(t, webhooks.Converting(t), nested), nil)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	report, code := tested(t, g, "--fuzz", "300", "--webhook-command", program+"=none "+crashes+"=20 '"+self+"'")
	g.Expect(code).To(Equal(cli.ExitUnknown), "%v", report.CRDs[0].Findings)
	g.Expect(report.Unknown).To(ConsistOf(And(ContainSubstring("has ended while it was asked"), ContainSubstring("no more of this"))))
	g.Expect(report.CRDs[0].Unknown).NotTo(BeEmpty())
}

func TestMarkdownShowsTheSmallestInABlockThatItDoesNotLeave(t *testing.T) {
	g := NewWithT(t)
	content := findings(roundtrip.Report{CRDs: []roundtrip.CRDReport{{CRD: "a", Findings: []roundtrip.Group{
		{Kind: roundtrip.Lost, What: "spec.a", From: "v1", Via: "v2", Objects: 1, Smallest: map[string]any{"spec": map[string]any{"a": "```\n<script>"}}},
	}, Missed: map[string][]string{}}}}).Markdown()
	g.Expect(content).To(ContainSubstring("```yaml\nspec:\n"))
	g.Expect(strings.Count(content, "```")).To(Equal(2))
}

// A webhook that goes away in the middle leaves the rest unknown.
func TestAWebhookThatGoesAwayInTheMiddle(t *testing.T) {
	hook := webhooks.Converting(t)
	g := inFolder(t, withNested(t, hook, nested), nil)
	calls := atomic.Int64{}
	hook.Refuse(func(*http.Request) bool {
		if calls.Add(1) == 50 {
			go func() { _ = hook.Close() }()
		}
		return false
	})
	report, code := tested(t, g, "--webhook", "crd", "--fuzz", "1000")
	g.Expect(code).To(Or(Equal(cli.ExitUnknown), Equal(cli.ExitNotDone)), "an answer may be cut off")
	g.Expect(report.CRDs[0].Unknown).NotTo(BeEmpty())
}
