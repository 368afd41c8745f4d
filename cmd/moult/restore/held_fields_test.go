package restore

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/restore"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// An item of a list without keys is known by its place alone. If the list is no longer as it was, the place says nothing.
func TestNoFieldIsPutBackByThePlaceInAListThatHasChanged(t *testing.T) {
	const item = `items: {type: object, properties: {name: {type: string}, note: {type: string}, size: {type: integer, default: 1}}}`
	schema := `{type: object, properties: {spec: {type: object, properties: {parts: {type: array, ` + item + `}, atoms: {type: array, x-kubernetes-list-type: atomic, ` + item + `},
		keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, note: {type: string}}}}}}}}`
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Schema("v1alpha1", schema).Schema("v1", schema))
	bare := func(names ...string) (items []any) {
		for _, name := range names {
			items = append(items, map[string]any{"name": name})
		}
		return items
	}
	noted := func(names ...string) []any {
		items := bare(names...)
		items[0] = part(names[0], "deep")
		return items
	}
	cases := map[string]struct {
		list     string
		was, is  []any
		putsBack bool
	}{
		"same":           {"parts", noted("a", "b"), bare("a", "b"), true},
		"longer":         {"parts", noted("a", "a"), bare("a", "a", "a"), false},
		"shorter":        {"parts", noted("a", "a"), bare("a"), false},
		"moved":          {"parts", noted("a", "b", "c"), bare("a", "c", "b"), false},
		"first-moved":    {"parts", noted("a", "b"), bare("b", "a"), false},
		"atomic":         {"atoms", noted("a", "b"), bare("a", "b", "c"), false},
		"with-keys":      {"keyed", noted("a", "b"), bare("a", "b", "c"), true},
		"keys-elsewhere": {"keyed", noted("a", "b"), bare("c", "a"), false},
	}
	for name, c := range cases {
		w.apply("v1", name, map[string]any{c.list: c.was})
	}
	w.backup()
	for name, c := range cases {
		w.apply("v1", name, map[string]any{c.list: c.is})
	}
	before := w.specs()
	of, code := w.restore("--fields", "spec.parts[*].note,spec.atoms[*].note,spec.keyed[*].note")
	w.Expect(code).To(Equal(1))
	after := w.specs()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if c.putsBack {
				g.Expect(after[name].(map[string]any)[c.list].([]any)[0]).To(HaveKeyWithValue("note", "deep"))
				return
			}
			g.Expect(of.Results).To(ContainElement(And(HaveField("Object", "default/"+name), HaveField("Outcome", restore.Differs),
				HaveField("Paths", ContainElement("spec."+c.list+"[0].note")), HaveField("Why", HavePrefix("what these fields lay in has changed, ")))))
			g.Expect(after[name]).To(Equal(before[name]))
		})
	}
}

// What only another version has, the live object keeps.
func TestAFieldIsNotPutBackAtTheExpenseOfAnother(t *testing.T) {
	group := builders.UniqueGroup(t)
	w := newWorld(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Schema("v1alpha1", olderSchema).Schema("v1", newerSchema))
	w.apply("v1", "rose", map[string]any{"size": int64(1), "color": "red", "extra": "thorns"})
	w.apply("v1", "plain", map[string]any{"size": int64(1), "color": "red"})
	w.backup()
	w.apply("v1", "rose", map[string]any{"size": int64(1), "extra": "thorns"})
	w.apply("v1", "plain", map[string]any{"size": int64(1)})
	holds := func(why string, args ...string) {
		t.Helper()
		of, code := w.restore(append(args, "--fields", "spec.color")...)
		w.Expect(code).To(Equal(1), "%+v", of)
		w.Expect(of.Results).To(ContainElement(And(HaveField("Object", "default/rose"), HaveField("Outcome", restore.Differs), HaveField("Paths", ContainElement("spec.extra")), HaveField("Why", HavePrefix(why)))))
		w.Expect(w.raw("rose")).To(ContainSubstring("thorns"))
	}
	holds("a write at v1alpha1 would drop what the object has, or may have, at v1; serve a version with", "--version", "v1alpha1")
	w.Expect(w.get("v1alpha1", "plain").Object["spec"]).To(HaveKeyWithValue("color", "red"), "this one has nothing to lose")
	w.unserves("v1")
	holds("a write at v1alpha1 would drop what the object has, or may have, at v1")
	w.Flip("v1alpha1")
	holds("a write at v1alpha1 would drop what the object has, or may have, at v1", "--dry-run")
	w.Flip("v1")
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crds.Version(crd, "v1").Served = true })
	w.Expect(builders.WaitServed(t.Context(), cp.Config, w.Live())).To(Succeed())
	of, code := w.restore("--fields", "spec.color")
	w.Expect(code).To(BeZero(), "%+v", of)
	w.Expect(w.specs()["rose"]).To(Equal(map[string]any{"size": int64(1), "color": "red", "extra": "thorns"}))
}

// What a webhook drops, no schema shows.
func TestAFieldIsPutBackWhereNoWebhookConvertsIt(t *testing.T) {
	hook := webhooks.Converting(t)
	w := newWorld(t, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		Schema("v1alpha1", newerSchema).Schema("v1", newerSchema).ConversionWebhook(hook.URL(), hook.CABundle()))
	w.make("v1alpha1", "rose", map[string]any{"size": int64(1), "color": "red"})
	w.backup()
	w.Flip("v1")
	w.patch("v1", "rose", "hand", map[string]any{"spec": map[string]any{"color": nil}})
	of, code := w.restore("--fields", "spec.color", "--version", "v1alpha1")
	w.Expect(code).To(Equal(1))
	w.Expect(of.Results).To(ConsistOf(HaveField("Why", "objects are stored at v1, and a webhook converts what is written at v1alpha1, so what only v1 has may be dropped; name v1 with --version")))
	of, code = w.restore("--fields", "spec.color")
	w.Expect(code).To(BeZero(), "%+v", of)
	w.Expect(w.get("v1", "rose").Object["spec"]).To(HaveKeyWithValue("color", "red"))
}
