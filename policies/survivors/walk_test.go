package survivors

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// stashes is a place with a packed copy.
func stashes(t testing.TB, packing string) Place {
	t.Helper()
	content := strings.Replace(valid, "{path: spec.ref, shape: apiVersion}", "{path: spec.copy, shape: object, packing: ["+packing+"]}", 1)
	places, err := Load(fstest.MapFS{"ours.yaml": {Data: []byte(content + "convert: crd\n")}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return places[0]
}

// aliases is a document of a few hundred bytes that stands for billions of values.
func aliases() string {
	document := "a0: &a0 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
	for i := range 9 {
		document += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return document
}

var ours = Resource{GroupResource: schema.GroupResource{Group: "example.org", Resource: "ours"}}

func TestAPayloadThatCannotBeReadIsUnknown(t *testing.T) {
	bomb := &bytes.Buffer{}
	zip := gzip.NewWriter(bomb)
	for range 17 {
		_, _ = zip.Write(make([]byte, 1<<20))
	}
	_ = zip.Close()
	for name, c := range map[string]struct {
		packing string
		copied  any
		why     string
	}{
		"no base64":                       {"base64", "?", "it cannot be unpacked by base64"},
		"no gzip":                         {"base64, gzip", "eA==", "it cannot be unpacked by gzip"},
		"gzip that is cut short":          {"base64, gzip, json", base64.StdEncoding.EncodeToString([]byte(pack("{}", []string{"gzip"}).(string)[:20])), "it cannot be unpacked by gzip"},
		"gzip that is larger than memory": {"base64, gzip", base64.StdEncoding.EncodeToString(bomb.Bytes()), "larger than what is looked at"},
		"no JSON":                         {"json", "{", "it cannot be unpacked by json"},
		"a document that is no YAML":      {"yaml", "{apiVersion: v1, kind: Pod}\n---\n{", "it cannot be unpacked by yaml"},
		"a document of many megabytes":    {"yaml", "a: " + strings.Repeat("x", 32<<20), "larger than what is looked at"},
		"aliases that multiply":           {"yaml", aliases(), "larger than what is looked at"},
		"no text":                         {"json", int64(3), "it is no text"},
		"no object":                       {"json", "3", "it is no object"},
		"no kind":                         {"json", `{"apiVersion":"","spec":"e30="}`, "the copy has no kind"},
		"no kind, and a version that stays": {"json", `{"apiVersion":"example.com/v1"}`,
			"the copy has no kind"},
		"no apiVersion":   {"json", `{"kind":"Widget"}`, `the copy's apiVersion "" is none`},
		"an item of many": {"json", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod"},{}]}`, "the copy has no kind"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := NewWalker([]Place{stashes(t, c.packing)}, []Target{targets[""]})
			got := w.Walk(ours, Content{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"copy": c.copied}}, Whole)
			g.Expect(got).To(ConsistOf(And(HaveField("State", Unknown), HaveField("Place", "ours"), HaveField("Why", ContainSubstring(c.why)))))
		})
	}
}

func TestWhatAPayloadNames(t *testing.T) {
	for name, c := range map[string]struct {
		copied string
		finds  []string // versions
	}{
		"the leaving version":                     {`{"apiVersion":"example.com/v1alpha1","kind":"Widget"}`, []string{"v1alpha1"}},
		"the leaving version, of whichever kind":  {`{"apiVersion":"example.com/v1alpha1"}`, []string{"v1alpha1"}},
		"a list of the CRD":                       {`{"apiVersion":"example.com/v1alpha1","kind":"WidgetList","items":[]}`, []string{"v1alpha1"}},
		"a kind in lower case":                    {`{"apiVersion":"example.com/v1alpha1","kind":"widget"}`, []string{"v1alpha1"}},
		"an item of a list":                       {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"example.com/v1alpha1","kind":"Widget"}]}`, []string{"v1alpha1"}},
		"objects that follow one another":         {`[{"apiVersion":"v1","kind":"Pod"},{"apiVersion":"example.com/v1alpha1","kind":"Widget"}]`, []string{"v1alpha1"}},
		"a version that stays":                    {`{"apiVersion":"example.com/v1","kind":"Widget"}`, nil},
		"another CRD of the group, at the same":   {`{"apiVersion":"example.com/v1alpha1","kind":"Gadget"}`, nil},
		"another group, at the same":              {`{"apiVersion":"example.org/v1alpha1","kind":"Widget"}`, nil},
		"a kind of the core group of that name":   {`{"apiVersion":"v1alpha1","kind":"Widget"}`, nil},
		"nothing, since there is no copy (null)":  {`null`, nil},
		"a document that is empty beside another": {"{}\n---\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			packing := "json"
			if strings.Contains(c.copied, "---") {
				packing = "yaml"
			}
			w := NewWalker([]Place{stashes(t, packing)}, []Target{targets[""]})
			var found []string
			for _, f := range w.Walk(ours, Content{"spec": map[string]any{"copy": c.copied}}, Whole) {
				if f.State == Found {
					found = append(found, f.Version)
				}
			}
			g.Expect(found).To(Equal(c.finds))
		})
	}
}

func TestLabelsSayWhatKubeVirtsPayloadDoesNot(t *testing.T) {
	const old = `{apiVersion: "", spec: eyJjcHUiOnsiZ3Vlc3QiOjZ9fQ==}`
	for name, c := range map[string]struct {
		labels, owner, revision, data string
		state                         State
		place                         string
	}{
		"no labels, no kind":                                      {"{}", "VirtualMachine", "vm-m4-1", old, Unknown, "kubevirt-vm-revisions"},
		"the leaving version in its label":                        {"{object-version: v1alpha1, object-kind: VirtualMachineInstancetype}", "VirtualMachine", "vm-m4-1", old, Found, "kubevirt-vm-revisions"},
		"another version in its label":                            {"{object-version: v1beta1, object-kind: VirtualMachineInstancetype}", "VirtualMachine", "vm-m4-1", old, "", ""},
		"a version without a kind":                                {"{object-version: v1beta1}", "VirtualMachine", "vm-m4-1", old, Unknown, "kubevirt-vm-revisions"},
		"a label, and no owner any more":                          {"{object-version: v1alpha1, object-kind: VirtualMachineInstancetype}", "", "vm-m4-1", old, Found, "kubevirt-vm-revisions"},
		"no labels, of a snapshot":                                {"{}", "VirtualMachineSnapshot", "snapshot-m4-1", old, Unknown, "kubevirt-snapshot-revisions"},
		"the VirtualMachine itself, as it was started":            {"{}", "VirtualMachine", "revision-start-vm-1-2", `{spec: {template: {}}}`, "", ""},
		"a StatefulSet's revision":                                {"{}", "StatefulSet", "web-6d4", `{spec: {template: {}}}`, "", ""},
		"the payload says another version than the label":         {"{object-version: v1alpha1, object-kind: VirtualMachineInstancetype}", "VirtualMachine", "vm-m4-1", `{apiVersion: instancetype.kubevirt.io/v1beta1, kind: VirtualMachineInstancetype}`, "", ""},
		"a preference, of which the versions are another CRD's":   {"{}", "VirtualMachine", "vm-p-1", `{apiVersion: instancetype.kubevirt.io/v1alpha1, kind: VirtualMachinePreference}`, "", ""},
		"the leaving version in the payload, whatever the labels": {"{object-version: v1beta1, object-kind: VirtualMachineInstancetype}", "VirtualMachine", "vm-m4-1", `{apiVersion: instancetype.kubevirt.io/v1alpha1, kind: VirtualMachineInstancetype}`, Found, "kubevirt-vm-revisions"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := map[string]string{"VirtualMachine": "kubevirt.io/v1", "VirtualMachineSnapshot": "snapshot.kubevirt.io/v1beta1", "StatefulSet": "apps/v1"}
			labels := strings.ReplaceAll(c.labels, "object-", "instancetype.kubevirt.io/object-")
			object := Content{}
			g.Expect(yaml.Unmarshal([]byte("metadata: {namespace: ns, name: "+c.revision+", labels: "+labels+", ownerReferences: [{apiVersion: "+group[c.owner]+", kind: '"+c.owner+"', name: o}]}\ndata: "+c.data), &object)).To(Succeed())
			w := NewWalker(Embedded(), []Target{targets["instancetypes"]})
			got := w.Walk(Resource{GroupResource: schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}}, object, Whole)
			if c.state == "" {
				g.Expect(got).To(BeEmpty())
				return
			}
			g.Expect(got).To(ConsistOf(And(HaveField("State", c.state), HaveField("Place", c.place))))
		})
	}
}

// A payload that names no version is no concern of CRDs that cannot lie there.
func TestAPlaceOfOneGroupSaysNothingOfOthers(t *testing.T) {
	g := NewWithT(t)
	w := NewWalker(Embedded(), []Target{targets[""]})
	g.Expect(names(w.Places())).NotTo(ContainElement("kubevirt-vm-revisions"))
	w = NewWalker(Embedded(), []Target{{CRD: "widgets.example.com", Group: "example.com"}})
	g.Expect(w.Places()).To(BeEmpty(), "nothing leaves")
}

func TestWhatIsNotDescribedIsPossible(t *testing.T) {
	packed := func(packing ...string) string {
		return pack(map[string]any{"of": map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget"}}, packing).(string)
	}
	for name, c := range map[string]struct {
		spec  string
		paths []string
	}{
		"a reference":                           {`{ref: {apiVersion: example.com/v1alpha1, kind: Widget}}`, []string{"spec.ref.apiVersion"}},
		"a reference of another kind":           {`{ref: {apiVersion: example.com/v1alpha1, kind: Gadget}}`, nil},
		"a list of texts":                       {`{versions: [example.com/v1, example.com/v1alpha1]}`, []string{"spec.versions[1]"}},
		"side by side":                          {`{ref: {group: example.com, version: v1alpha1}}`, []string{"spec.ref"}},
		"side by side, in lists":                {`{rule: {apiGroups: [example.com], apiVersions: [v1, v1alpha1]}}`, []string{"spec.rule"}},
		"side by side, another version":         {`{ref: {group: example.com, version: v1}}`, nil},
		"a text that has it in it":              {`{script: "kubectl get example.com/v1alpha1 and more"}`, nil},
		"YAML in a text":                        {`{text: "a: 1\n---\nof:\n  apiVersion: example.com/v1alpha1\n"}`, []string{"spec.text|yaml[1].of.apiVersion"}},
		"JSON in a text":                        {`{text: '` + packed("json") + `'}`, []string{"spec.text|json.of.apiVersion"}},
		"JSON in base64":                        {`{text: '` + packed("base64", "json") + `'}`, []string{"spec.text|base64|json.of.apiVersion"}},
		"JSON in gzip in base64":                {`{text: '` + packed("base64", "gzip", "json") + `'}`, []string{"spec.text|base64|gzip|json.of.apiVersion"}},
		"YAML in base64":                        {`{text: '` + packed("base64", "yaml") + `'}`, []string{"spec.text|base64|yaml[0].of.apiVersion"}},
		"what looks like gzip, and is none":     {`{text: "H4sIAAAAAAAAAAAAAAAAAA=="}`, nil},
		"what looks like JSON, and is none":     {`{text: "{example.com"}`, nil},
		"the name of a group in a longer text:": {`{text: "see https://example.com: v1alpha1"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			spec := map[string]any{}
			g.Expect(yaml.Unmarshal([]byte(c.spec), &spec)).To(Succeed())
			var paths []string
			for _, f := range NewWalker(Embedded(), []Target{targets[""]}).Walk(ours, Content{"apiVersion": "example.com/v1alpha1", "spec": spec}, Whole) {
				g.Expect(f.State).To(Equal(Possible))
				paths = append(paths, f.Path)
			}
			g.Expect(paths).To(Equal(c.paths))
		})
	}
}

// What a declared place has found is not possible as well, nor is what it is declared not to be about.
func TestNothingIsFoundTwice(t *testing.T) {
	for _, place := range names(Embedded()) {
		t.Run(place, func(t *testing.T) {
			g := NewWithT(t)
			e := exampleOf(g, place)
			w := NewWalker(Embedded(), []Target{targets[e.Target]})
			for _, f := range w.Walk(e.resource(), e.Object, Whole) {
				g.Expect(f.Place).NotTo(BeEmpty(), "%+v", f)
			}
		})
	}
	g := NewWithT(t)
	managed := Content{"metadata": map[string]any{"name": "v1alpha1.example.com", "labels": map[string]any{"kube-aggregator.kubernetes.io/automanaged": "onstart"}},
		"spec": map[string]any{"group": "example.com", "version": "v1alpha1"}}
	w := NewWalker(Embedded(), []Target{targets[""]})
	g.Expect(w.Walk(Resource{GroupResource: schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}}, managed, Whole)).To(BeEmpty())
}

// Who owns fields at a version is looked for where managedFields are read.
func TestManagedFieldsAreNotLookedAt(t *testing.T) {
	g := NewWithT(t)
	got := NewWalker(Embedded(), []Target{targets[""]}).Walk(ours, Content{"metadata": map[string]any{
		"annotations": map[string]any{"note": "example.com/v1alpha1"}, "managedFields": []any{map[string]any{"apiVersion": "example.com/v1alpha1"}},
	}}, Whole)
	g.Expect(got).To(HaveExactElements(HaveField("Path", "metadata.annotations.note")))
}

// What a place is declared to be about is reported by it, but nothing in it matters where the place does not.
func TestNothingInACosmeticPlaceIsPossible(t *testing.T) {
	for effect, want := range map[Effect]int{BreaksAtUse: 1, Cosmetic: 0} {
		t.Run(string(effect), func(t *testing.T) {
			g := NewWithT(t)
			place := strings.NewReplacer("shape: apiVersion", "shape: groupVersion", "effect: breaksAtUse", "effect: "+string(effect)).Replace(valid)
			places, err := Load(fstest.MapFS{"ours.yaml": {Data: []byte(place)}})
			g.Expect(err).NotTo(HaveOccurred())
			got := NewWalker(places, []Target{targets[""]}).Walk(ours, Content{"spec": map[string]any{"ref": map[string]any{
				"group": "example.org", "version": "v1", "inside": map[string]any{"apiVersion": "example.com/v1alpha1"},
			}}}, Whole)
			g.Expect(got).To(HaveLen(want))
			for _, r := range got {
				g.Expect(r.State).To(Equal(Possible))
			}
		})
	}
}

// A version that stays and is not served keeps a rule matching. It does not if the rule matches only requests at the
// versions that it names.
func TestRulesThatMatchExactly(t *testing.T) {
	for name, c := range map[string]struct {
		policy, versions string
		want             Effect
	}{
		"exact, beside one that is not served":        {"Exact", `["v1alpha1", "v1beta1"]`, StopsSilently},
		"exact, beside one that is served":            {"Exact", `["v1alpha1", "v1"]`, Cosmetic},
		"exact, beside both":                          {"Exact", `["v1alpha1", "v1beta1", "v1"]`, Cosmetic},
		"exact, beside any":                           {"Exact", `["v1alpha1", "*"]`, Cosmetic},
		"equivalent, beside one that is not served":   {"Equivalent", `["v1alpha1", "v1beta1"]`, Cosmetic},
		"nothing said, beside one that is not served": {"", `["v1alpha1", "v1beta1"]`, Cosmetic},
	} {
		t.Run(name, func(t *testing.T) {
			rule := `{apiGroups: [example.com], apiVersions: ` + c.versions + `, resources: [widgets]}`
			webhook := `{rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments]}, ` + rule + `], matchPolicy: "` + c.policy + `"}`
			for resource, object := range map[string]string{
				"validatingwebhookconfigurations": `{webhooks: [{matchPolicy: Exact}, ` + webhook + `, {matchPolicy: Exact}]}`,
				"validatingadmissionpolicies":     `{spec: {matchConstraints: {resourceRules: [` + rule + `], matchPolicy: "` + c.policy + `"}}}`,
			} {
				g, content := NewWithT(t), map[string]any{}
				g.Expect(yaml.Unmarshal([]byte(object), &content)).To(Succeed())
				target := targets[""]
				target.Staying, target.Served = []string{"v1beta1", "v1"}, []string{"v1"}
				of := Resource{GroupResource: schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: resource}}
				g.Expect(NewWalker(Embedded(), []Target{target}).Walk(of, content, Whole)).To(ConsistOf(HaveField("Effect", c.want)), resource)
			}
		})
	}
}

// What Kyverno matches with wildcards; a version that stays and matches, too, goes on matching.
func TestKindsWithWildcards(t *testing.T) {
	place := strings.Replace(valid, "shape: apiVersion", "shape: groupVersionKind", 1)
	places, err := Load(fstest.MapFS{"ours.yaml": {Data: []byte(place)}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for kind, want := range map[string]Effect{
		"example.com/v1alpha1/Widget": BreaksAtUse, "example.com/v1alpha*/Widget": BreaksAtUse, "example.com/v1alpha1/Wid*": BreaksAtUse, "example.com/v1alpha?/W?dget": BreaksAtUse,
		"*.com/v1alpha1/Widget": BreaksAtUse, "v1alpha1/Wid*": BreaksAtUse, "example.com/v1alpha1/*": BreaksAtUse, "example.com/v1*/Widget": Cosmetic,
		"example.com/v1/Widget": "", "example.com/v1alpha1/Gad*": "", "*.org/v1alpha1/Widget": "", "example.com/*/Widget": "", "Widget": "", "v1alpha1/*": "",
	} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			found := NewWalker(places, []Target{targets[""]}).Walk(ours, Content{"spec": map[string]any{"ref": kind}}, Whole)
			if found = slices.DeleteFunc(found, func(r Reference) bool { return r.State != Found }); want == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(ConsistOf(HaveField("Effect", want)))
		})
	}
}
