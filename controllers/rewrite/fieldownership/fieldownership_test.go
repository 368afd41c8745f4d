package fieldownership

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/unpacking"
)

const (
	old     = "example.com/v1alpha1"
	current = "example.com/v1"
)

func TestFollow(t *testing.T) {
	for name, c := range map[string]struct {
		spec     string // at v1alpha1
		webhook  *webhook
		unserved bool
		owned    string
		want     string
		lost     string // empty for nothing
		why      string
		unasked  bool // the webhook is not called
	}{
		"a field that is the same at both versions stays": {
			spec: `{size: 1, color: red}`, webhook: &webhook{}, owned: `{"f:spec":{"f:size":{}}}`, want: `{"f:spec":{"f:size":{}}}`, unasked: true},
		"metadata is not looked for": {
			spec: `{size: 1}`, webhook: renaming("spec.size", "spec.limit"), unasked: true,
			owned: `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`, want: `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`},
		"a field that is called otherwise": {
			spec: `{size: 1, color: red}`, webhook: renaming("spec.size", "spec.limit"),
			owned: `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:color":{},"f:size":{}}}`,
			want:  `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:color":{},"f:limit":{}}}`},
		"a field that is called otherwise, where the old version is not served": {
			spec: `{size: 1, color: red}`, webhook: renaming("spec.size", "spec.limit"), unserved: true,
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:color":{},"f:limit":{}}}`},
		"another's field beside it is none of the manager's": {
			spec: `{size: 1, unit: Gi}`, webhook: renaming("spec.size", "spec.limit"),
			owned: `{"f:spec":{"f:unit":{}}}`, want: `{"f:spec":{"f:unit":{}}}`, unasked: true},
		"an updater's entry names what holds its fields, too": {
			spec: `{size: 1, color: red}`, webhook: renaming("spec.size", "spec.limit"),
			owned: `{"f:spec":{".":{},"f:size":{}}}`, want: `{"f:spec":{".":{},"f:limit":{}}}`},
		"a field that is elsewhere": {
			spec: `{size: 1}`, webhook: renaming("spec.color", "status.state"), owned: `{"f:spec":{"f:size":{}}}`, want: `{"f:spec":{"f:size":{}}}`, unasked: true},
		"two names that change places": {
			spec: `{capacity: a, unit: b}`, webhook: &webhook{
				there: all(rename("spec.capacity", "x"), rename("spec.unit", "spec.capacity"), rename("x", "spec.unit")),
				back:  all(rename("spec.capacity", "x"), rename("spec.unit", "spec.capacity"), rename("x", "spec.unit"))},
			owned: `{"f:spec":{"f:capacity":{}}}`, want: `{"f:spec":{"f:unit":{}}}`},
		"a field that the object has no longer needs no owner": {
			spec: `{size: 1}`, webhook: renaming("spec.size", "spec.limit"), owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:limit":{}}}`},
		"an empty list is a value": {
			spec: `{args: [], parts: []}`, webhook: renaming("spec.size", "spec.limit"),
			owned: `{"f:spec":{"f:args":{},"f:parts":{}}}`, want: `{"f:spec":{"f:args":{},"f:parts":{}}}`, unasked: true},
		"a list that is one value": {
			spec: `{args: [a, b]}`, webhook: renaming("spec.args", "spec.tags"), owned: `{"f:spec":{"f:args":{}}}`,
			want: `{"f:spec":{"f:tags":{"v:\"a\"":{},"v:\"b\"":{}}}}`},
		"items of a set": {
			spec: `{tags: [a, b]}`, webhook: renaming("spec.tags", "spec.marks"), owned: `{"f:spec":{"f:tags":{"v:\"a\"":{}}}}`, want: `{"f:spec":{"f:marks":{"v:\"a\"":{}}}}`},
		"an item by its key": {
			spec: `{parts: [{name: head, size: 1}, {name: tail}]}`, webhook: renaming("spec.parts", "spec.pieces"),
			owned: `{"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{},"f:size":{}}}}}`,
			want:  `{"f:spec":{"f:pieces":{"k:{\"name\":\"head\"}":{".":{},"f:name":{},"f:size":{}}}}}`},
		"a field of an item": {
			spec: `{parts: [{name: head, size: 1}]}`, webhook: &webhook{there: renamePart("size", "capacity"), back: renamePart("capacity", "size")},
			owned: `{"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{"f:size":{}}}}}`, want: `{"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{"f:capacity":{}}}}}`},
		"an item of which somebody else owns a field": {
			spec: `{parts: [{name: head, size: 1}]}`, webhook: &webhook{there: renamePart("size", "capacity"), back: renamePart("capacity", "size")},
			owned: `{"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{}}}}}`, want: `{"f:spec":{"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{}}}}}`, unasked: true},
		"an item of which somebody else owns a field, beside a field that is called otherwise": {
			spec: `{parts: [{name: head, size: 1}], color: red}`, webhook: renaming("spec.color", "spec.capacity"),
			owned: `{"f:spec":{"f:color":{},"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{}}}}}`,
			want:  `{"f:spec":{"f:capacity":{},"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{}}}}}`},
		"an item of which somebody else owns a field, in a list that is called otherwise": {
			spec: `{parts: [{name: head, size: 1}], color: red}`, webhook: renaming("spec.parts", "spec.pieces"),
			owned: `{"f:spec":{"f:color":{},"f:parts":{"k:{\"name\":\"head\"}":{".":{},"f:name":{}}}}}`,
			want:  `{"f:spec":{"f:color":{}}}`, lost: `.spec.parts[name="head"] .spec.parts[name="head"].name`, why: errNoCounterpart.Error()},
		"keys of a map": {
			spec: `{sizes: {a: {width: 1}, b: {width: 2}}}`, webhook: renaming("spec.sizes", "spec.template"),
			owned: `{"f:spec":{"f:sizes":{"f:a":{".":{},"f:width":{}}}}}`, want: `{"f:spec":{"f:template":{"f:a":{".":{},"f:width":{}}}}}`},
		"an embedded resource": {
			spec: `{template: {apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}, spec: {x: 1}}, size: 1}`, webhook: renaming("spec.size", "spec.limit"),
			owned: `{"f:spec":{"f:size":{},"f:template":{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:x":{}}}}}`,
			want:  `{"f:spec":{"f:limit":{},"f:template":{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:x":{}}}}}`},
		"two fields that become one, and the manager owns both": {
			spec: `{size: 5, unit: Gi}`, webhook: &webhook{there: measure, back: unmeasure},
			owned: `{"f:spec":{"f:size":{},"f:unit":{}}}`, want: `{"f:spec":{"f:capacity":{}}}`},
		"two fields that become one, and another owns the other": {
			spec: `{size: 5, unit: Gi, color: red}`, webhook: &webhook{there: measure, back: unmeasure},
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:color":{}}}`, lost: ".spec.size", why: errShared.Error()},
		"one field that becomes two": {
			spec: `{capacity: 5Gi}`, webhook: &webhook{there: unmeasure, back: measure}, owned: `{"f:spec":{"f:capacity":{}}}`, want: `{"f:spec":{"f:size":{},"f:unit":{}}}`},
		"values that every conversion adds are not the manager's": {
			spec: `{size: 1, color: red}`, webhook: &webhook{there: all(rename("spec.size", "spec.limit"), zeros), back: all(rename("spec.limit", "spec.size"), dropZeros)},
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:color":{},"f:limit":{}}}`},
		"a field that v1 keeps in an annotation": {
			spec: `{size: 1, color: red}`, webhook: &webhook{there: stash, back: unstash},
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:size":{}}}`, lost: ".spec.color", why: errNoCounterpart.Error()},
		"a field that v1 keeps in an annotation, where nobody can see it any more": {
			spec: `{size: 1, color: red}`, webhook: &webhook{there: stash, back: unstash}, unserved: true,
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:size":{}}}`},
		"a webhook that fails": {
			spec: `{size: 1, color: red}`, webhook: &webhook{there: rename("spec.size", "spec.limit"), back: rename("spec.limit", "spec.size"), err: errors.New("no route to host")},
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:color":{}}}`, lost: ".spec.size", why: "no route to host"},
		"a webhook that fails, where nothing is called otherwise": {
			spec: `{size: 1, color: red}`, webhook: &webhook{err: errors.New("no route to host")}, unasked: true,
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:color":{},"f:size":{}}}`},
		"a webhook that fails, where the old version is not served": {
			spec: `{size: 1, color: red}`, webhook: &webhook{err: errors.New("no route to host")}, unserved: true,
			owned: `{"f:spec":{"f:color":{},"f:size":{}}}`, want: `{"f:spec":{"f:color":{},"f:size":{}}}`, lost: ".spec.color .spec.size", why: "no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &unstructured.Unstructured{Object: content{"apiVersion": old, "kind": "Widget", "metadata": content{"name": "w"}, "spec": content{}}}
			s := content{}
			g.Expect(yaml.Unmarshal([]byte(c.spec), &s)).To(Succeed())
			object.Object["spec"] = s
			raw, err := json.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(object.UnmarshalJSON(raw)).To(Succeed(), "numbers as a client reads them")

			server := &webhook{there: c.webhook.there, back: c.webhook.back}
			f := New(NewTypes(widgets(t)), func() conversion.Converter { return c.webhook }, &objects{read: func(ctx context.Context, apiVersion string) ([]byte, error) {
				if apiVersion == old {
					if c.unserved {
						return nil, nil
					}
					return raw, nil
				}
				converted, err := server.Convert(ctx, []content{object.Object}, apiVersion)
				g.Expect(err).NotTo(HaveOccurred())
				return json.Marshal(converted[0])
			}})
			owned := fieldpath.NewSet()
			g.Expect(owned.FromJSON(strings.NewReader(c.owned))).To(Succeed())
			followed, err := f.Follow(t.Context(), types.NamespacedName{Name: "w"}, old, current, []*fieldpath.Set{owned})
			g.Expect(err).NotTo(HaveOccurred())
			got, err := followed[0].Fields.ToJSON()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(MatchJSON(c.want), "lost %s: %v", followed[0].Lost, followed[0].Why)
			g.Expect(strings.ReplaceAll(followed[0].Lost.String(), "\n", " ")).To(Equal(c.lost))
			if c.why == "" {
				g.Expect(followed[0].Why).NotTo(HaveOccurred())
			} else {
				g.Expect(followed[0].Why).To(MatchError(ContainSubstring(c.why)))
			}
			g.Expect(c.webhook.calls == 0).To(Equal(c.unasked), "whether the webhook is asked")
		})
	}
}

// objects are read by a function, and count how often there was room for them.
type objects struct {
	read        func(ctx context.Context, apiVersion string) ([]byte, error)
	taken, held int
	bytes       int64
}

func (o *objects) Whole(ctx context.Context, _ types.NamespacedName, apiVersion string) ([]byte, error) {
	return o.read(ctx, apiVersion)
}

func (o *objects) Room(_ context.Context, bytes int64) (done func(), err error) {
	o.bytes = bytes
	o.taken++
	o.held++
	return func() { o.held-- }, nil
}

// Decoded, an object may take a hundred times what it takes on the wire, and there are several of it here.
func TestAnObjectIsDecodedOnlyWhereThereIsRoom(t *testing.T) {
	g := NewWithT(t)
	raw := []byte(`{"apiVersion": "` + old + `", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "1"}, "spec": {"size": 1}}`)
	read := &objects{read: func(_ context.Context, apiVersion string) ([]byte, error) {
		if apiVersion == current {
			return []byte(strings.NewReplacer(old, current, "size", "limit").Replace(string(raw))), nil
		}
		return raw, nil
	}}
	renaming := &webhook{there: rename("spec.size", "spec.limit"), back: rename("spec.limit", "spec.size")}
	asked := converter(func(ctx context.Context, of []content, apiVersion string) ([]content, error) {
		g.Expect(read.held).To(Equal(1), "while the webhook is asked")
		return renaming.Convert(ctx, of, apiVersion)
	})
	_, err := New(NewTypes(widgets(t)), func() conversion.Converter { return asked }, read).Follow(t.Context(), types.NamespacedName{Name: "w"}, old, current,
		[]*fieldpath.Set{fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "size"))})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.taken).To(Equal(1), "who has room asks for no more")
	cost, _ := unpacking.CostOfJSON(strings.NewReplacer(old, current, "size", "limit").Replace(string(raw)))
	g.Expect(read.bytes).To(BeEquivalentTo(5*(4*cost+64<<10)), "both versions, there and back, and sets of fields, as large as the webhook may make them")
	g.Expect(read.held).To(BeZero())
	g.Expect(renaming.calls).To(BeNumerically(">", 0))
}

// The API server's code, which makes the requests, holds several times what is in one.
func TestALargeObjectIsConvertedInRequestsOfItsOwn(t *testing.T) {
	for size, most := range map[int]int{1: 2, 2 << 20: 1} {
		g := NewWithT(t)
		raw := `{"apiVersion": "` + old + `", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "1"}, "spec": {"size": 1, "color": "` + strings.Repeat("r", size) + `"}}`
		read := &objects{read: func(_ context.Context, apiVersion string) ([]byte, error) {
			if apiVersion == current {
				return []byte(strings.NewReplacer(old, current, "size", "limit").Replace(raw)), nil
			}
			return []byte(raw), nil
		}}
		renaming := &webhook{there: rename("spec.size", "spec.limit"), back: rename("spec.limit", "spec.size")}
		together := 0
		asked := converter(func(ctx context.Context, of []content, apiVersion string) ([]content, error) {
			together = max(together, len(of))
			return renaming.Convert(ctx, of, apiVersion)
		})
		followed, err := New(NewTypes(widgets(t)), func() conversion.Converter { return asked }, read).Follow(t.Context(), types.NamespacedName{Name: "w"}, old, current,
			[]*fieldpath.Set{fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "size"))})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(followed[0].Fields.String()).To(Equal(".spec.limit"))
		g.Expect(together).To(Equal(most), "%d bytes", size)
	}
}

// A tenant decides what an object takes when it is decoded. As a trial it is held several times, there and back.
func TestAnObjectThatTakesTooMuchIsNotSentToTheWebhook(t *testing.T) {
	for name, both := range map[string]bool{"where both versions are served": true, "where only one is": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			raw := `{"apiVersion": "` + old + `", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "1"}, "spec": {"size": 1, "color": "red", "template": {"a": [` + strings.Repeat("{},", 100_000) + `{}]}}}`
			read := &objects{read: func(_ context.Context, apiVersion string) ([]byte, error) {
				switch {
				case apiVersion == current:
					return []byte(strings.NewReplacer(old, current, "size", "limit").Replace(raw)), nil
				case both:
					return []byte(raw), nil
				default:
					return nil, nil
				}
			}}
			unasked := converter(func(context.Context, []content, string) ([]content, error) {
				return nil, errors.New("asked")
			})
			followed, err := New(NewTypes(widgets(t)), func() conversion.Converter { return unasked }, read).Follow(t.Context(), types.NamespacedName{Name: "w"}, old, current,
				[]*fieldpath.Set{fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "size"), fieldpath.MakePathOrDie("spec", "color"))})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(followed[0].Why).To(MatchError("the object is too large to be converted as a trial: its values would take more than 8 MiB"))
			g.Expect(followed[0].Lost.Has(fieldpath.MakePathOrDie("spec", "size"))).To(BeTrue())
			g.Expect(followed[0].Fields.Has(fieldpath.MakePathOrDie("spec", "color"))).To(BeTrue(), "a field that is there at both needs no webhook")
		})
	}
}

// A tenant's webhook knows Moult by its User-Agent, or the version that only Moult asks for. The sets of the fields of 213,000 keys take a
// minute.
func TestAnAnswerThatTakesFarMoreThanTheObjectIsRefused(t *testing.T) {
	more := content{}
	for i := range 20_000 {
		more[strconv.Itoa(i)] = int64(1)
	}
	inflate := func(o content) { o["spec"] = content{"size": int64(1), "color": "red", "widths": more} }
	raw := `{"apiVersion": "` + old + `", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "1"}, "spec": {"size": 1, "color": "red"}}`
	for name, c := range map[string]struct {
		webhook  *webhook
		byServer bool
		says     string
	}{
		"there":                   {webhook: &webhook{there: all(rename("spec.size", "spec.limit"), inflate), back: rename("spec.limit", "spec.size")}, says: "an answer of the conversion webhook of widgets.example.com is refused: at example.com/v1, the object's values take"},
		"on the way back":         {webhook: &webhook{there: rename("spec.size", "spec.limit"), back: all(rename("spec.limit", "spec.size"), inflate)}, says: "an answer of the conversion webhook of widgets.example.com is refused: at example.com/v1alpha1, the object's values take"},
		"as the API server reads": {webhook: &webhook{}, byServer: true, says: "w at example.com/v1alpha1: the object's values take"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read := &objects{read: func(_ context.Context, apiVersion string) ([]byte, error) {
				if apiVersion == current {
					return []byte(strings.NewReplacer(old, current, "size", "limit").Replace(raw)), nil
				}
				object := content{}
				g.Expect(json.Unmarshal([]byte(raw), &object)).To(Succeed())
				if c.byServer {
					inflate(object)
				}
				return json.Marshal(object)
			}}
			followed, err := New(NewTypes(widgets(t)), func() conversion.Converter { return c.webhook }, read).Follow(t.Context(), types.NamespacedName{Name: "w"}, old, current,
				[]*fieldpath.Set{fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "size"), fieldpath.MakePathOrDie("spec", "color"))})
			if c.byServer {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(followed[0].Why).To(MatchError(HavePrefix(c.says)))
			g.Expect(followed[0].Lost.String()).To(Equal(".spec.size"))
			g.Expect(followed[0].Fields.String()).To(Equal(".spec.color"))
		})
	}
}

type converter func(ctx context.Context, objects []content, apiVersion string) ([]content, error)

func (c converter) Convert(ctx context.Context, objects []content, apiVersion string) ([]content, error) {
	return c(ctx, objects, apiVersion)
}
