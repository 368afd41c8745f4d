package conversion

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// bridges is Strimzi's KafkaBridge in small: v1 knows less than v1beta2, and a rule of v1 is stricter.
const bridges = `
metadata: {name: bridges.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: bridges, singular: bridge, kind: Bridge, listKind: BridgeList}
  versions:
  - name: v1beta2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {
        replicas: {type: integer},
        monitoring: {type: object, properties: {metrics: {type: boolean, default: false}}},
        auth: {type: object, properties: {clientId: {type: string}, name: {type: string}}},
        named: {type: object, additionalProperties: {type: object, properties: {name: {type: string}, old: {type: string}}}},
        hosts: {type: array, items: {type: object, properties: {name: {type: string}, old: {type: string}}}}}},
      status: {type: object, properties: {was: {type: string}}}}}}
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, x-kubernetes-validations: [{rule: "!has(self.replicas) || self.replicas < 10", message: too many}], properties: {
        replicas: {type: integer, minimum: 1},
        monitoring: {type: object},
        auth: {type: object, properties: {name: {type: string}}},
        named: {type: object, additionalProperties: {type: object, properties: {name: {type: string}}}},
        hosts: {type: array, items: {type: object, properties: {name: {type: string}}}}}},
      status: {type: object}}}}
`

func crdOf(g *WithT, text string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict([]byte(text), crd)).To(Succeed())
	return crd
}

func objectOf(g *WithT, text string) (object map[string]any) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(raw, &object)).To(Succeed())
	return object
}

func TestRehearse(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   Outcome
	}{
		"what both versions know is kept":         {"spec: {replicas: 3, auth: {name: a}}", Outcome{}},
		"a field that v1 does not know":           {"spec: {auth: {name: a, clientId: b}}", Outcome{Lost: []string{"spec.auth.clientId"}}},
		"one in a list":                           {"spec: {hosts: [{name: a}, {name: b, old: c}]}", Outcome{Lost: []string{"spec.hosts[1].old"}}},
		"one that has its default is no loss":     {"spec: {monitoring: {metrics: false}}", Outcome{Undefaulted: []string{"spec.monitoring.metrics"}}},
		"nor is one that only has a default":      {"spec: {monitoring: {}}", Outcome{Undefaulted: []string{"spec.monitoring.metrics"}}},
		"one that has another value is":           {"spec: {monitoring: {metrics: true}}", Outcome{Lost: []string{"spec.monitoring.metrics"}}},
		"one that its own version does not know":  {"spec: {typo: 1}", Outcome{Lost: []string{"spec.typo"}}},
		"one below a key with dots":               {"spec: {named: {a.b: {old: c}}}", Outcome{Lost: []string{`spec.named["a.b"].old`}}},
		"one below a key with brackets":           {"spec: {named: {'a[0]': {old: c}}}", Outcome{Lost: []string{`spec.named["a[0]"].old`}}},
		"a field of status":                       {"status: {was: x}", Outcome{Lost: []string{"status.was"}}},
		"what breaks the schema may stay for now": {"spec: {replicas: 0}", Outcome{Ratcheted: []string{"spec.replicas: Invalid value: spec.replicas in body should be greater than or equal to 1"}}},
		"what breaks a rule may, too":             {"spec: {replicas: 20}", Outcome{Ratcheted: []string{`spec: Invalid value: too many`}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e, err := New(crdOf(g, bridges))
			g.Expect(err).NotTo(HaveOccurred())
			object := objectOf(g, "apiVersion: example.com/v1beta2\nkind: Bridge\nmetadata: {namespace: ns, name: o}\n"+c.object)
			g.Expect(e.IsOf(object)).To(BeTrue())
			c.want.Object, c.want.From = "ns/o", "v1beta2"
			g.Expect(e.Rehearse(t.Context(), object)).To(Equal(c.want))
		})
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	g := NewWithT(t)
	crd := crdOf(g, bridges)
	e, err := New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Rehearse(t.Context(), objectOf(g, "apiVersion: example.com/v1alpha1\nkind: Bridge")).Unknown).To(ContainSubstring("no version v1alpha1"))
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	e, err = New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Rehearse(t.Context(), objectOf(g, "apiVersion: example.com/v1beta2\nkind: Bridge")).Unknown).To(ContainSubstring("a webhook converts it, and is not asked; --webhook says how"))
	g.Expect(e.Rehearse(t.Context(), objectOf(g, "apiVersion: example.com/v1\nkind: Bridge")).Unknown).To(BeEmpty(), "nothing has to be converted")
}

func TestTheReportCountsObjectsByWhatIsSaid(t *testing.T) {
	g := NewWithT(t)
	e := &Engine{CRD: "bridges.example.com", Storage: "v1"}
	tally := NewTally()
	counts := tally.Begin(e, "", "")
	counts.Add(Outcome{Object: "a", Lost: []string{"spec.hosts[0].old", "spec.hosts[1].old"}})
	counts.Add(Outcome{Object: "b", Lost: []string{"spec.hosts[7].old", "status.was"}})
	counts.Add(Outcome{Object: "c"})
	r := tally.Report(nil)
	g.Expect(r.Verdict).To(Equal(NotKept))
	g.Expect(r.CRDs).To(ConsistOf(HaveField("Lost", Equal([]Group{
		{What: "spec.hosts[*].old", Objects: 2, Examples: []string{"a", "b"}},
		{What: "status.was", Objects: 1, Examples: []string{"b"}, Status: true},
	}))))
	meant := Accepted{"bridges.example.com", "spec.hosts[*].old", "nobody reads it"}
	other := Accepted{"bridges.example.com", "spec.other", "gone"}
	r = tally.Report([]Accepted{meant, other})
	g.Expect(r.Verdict).To(Equal(Kept), "status does not count")
	g.Expect(r.Unused).To(Equal([]Accepted{other}))
	counts.Add(Outcome{Object: "d", Unknown: "why"})
	g.Expect(tally.Report([]Accepted{meant}).Verdict).To(Equal(NotKnown))
	counts.Restart()
	g.Expect(tally.Report(nil)).To(And(HaveField("Verdict", Kept), HaveField("CRDs", ConsistOf(HaveField("Objects", BeZero())))))
}
