package migration

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/test/builders"
)

// portions has a default of about a KiB in each item of a list, at the storage version.
func portions(change ...func(*builders.CRDBuilder)) *apiextensionsv1.CustomResourceDefinition {
	const list = `{type: object, properties: {spec: {type: object, properties: {%s items: {type: array, items: {type: object, properties: {a: {type: string}%s}}}}}}}`
	limits := `, limits: {type: object, default: {cpu: {limit: a, request: a}, memory: {limit: a, request: a}}, x-kubernetes-preserve-unknown-fields: true}`
	builder := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1").
		Schema("v1alpha1", fmt.Sprintf(list, "old: {type: string},", "")).Schema("v1", fmt.Sprintf(list, "", limits))
	for _, c := range change {
		c(builder)
	}
	return builder.Build()
}

// What the defaults of the storage version add to an object is not made where there is no memory for it.
func TestAnObjectThatDefaultsMakeTooLargeHoldsItsCRDAndIsNamed(t *testing.T) {
	g := NewWithT(t)
	object := `{"apiVersion":"example.com/v1alpha1","kind":"Widget","metadata":{"name":"big","namespace":"garden","resourceVersion":"7"},"spec":{"items":[` + strings.Repeat("{},", 60_000) + `{}]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/big") {
			_, _ = fmt.Fprint(w, object)
			return
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"example.com/v1alpha1","items":[%s],"kind":"WidgetList","metadata":{"resourceVersion":"7"}}`, object)
	}))
	t.Cleanup(server.Close)
	client, err := rewrite.NewClient(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	r := &Reconciler{objects: client, opts: Options{Clock: clock.RealClock{}}}
	f, err := r.fieldsIn(portions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.sights).To(HaveLen(1))

	_, err = f.look(t.Context(), r, f.sights[0], "", func(_, _ int64) {})
	held := failureOf(nil, rewrite.Result{}, err)
	g.Expect(held.Reason).To(Equal(v1alpha1.ReasonObjectsFailed))
	g.Expect(held.Public).NotTo(ContainSubstring("garden"))
	g.Expect(held.Message).To(ContainSubstring("garden/big: the defaults of v1 would make the object larger by more than 16 MiB"))

	lost, err := f.lostBy(t.Context(), types.NamespacedName{Namespace: "garden", Name: "big"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(ConsistOf(ContainSubstring("the defaults of v1 would make the object larger")))
}

// renames is a webhook that changes nothing but the version, and notes how much it is asked about at a time.
type renames struct{ most int64 }

func (r *renames) Convert(_ context.Context, objects []map[string]any, apiVersion string) (converted []map[string]any, err error) {
	size := int64(0)
	for _, object := range objects {
		size += unpacking.SizeOf(object)
		is := maps.Clone(object)
		is["apiVersion"] = apiVersion
		converted = append(converted, is)
	}
	r.most = max(r.most, size)
	return converted, nil
}

// Objects that a webhook converts are held with the defaults of the storage version, too.
func TestARehearsalHoldsOnlySoMuchOfDefaults(t *testing.T) {
	g := NewWithT(t)
	webhook := &renames{}
	r := &Reconciler{opts: Options{NewConverter: func(*apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) { return webhook, nil }}}
	rehearsal, err := r.newRehearsal(portions(func(b *builders.CRDBuilder) { b.ConversionWebhook("https://127.0.0.1:1/convert", nil) }))
	g.Expect(err).NotTo(HaveOccurred())
	object := func(name string, n int) map[string]any {
		items := make([]any, n)
		for i := range items {
			items[i] = map[string]any{}
		}
		return map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": name, "namespace": "garden"}, "spec": map[string]any{"items": items}}
	}
	objects := []map[string]any{}
	for i := range 8 {
		objects = append(objects, object(fmt.Sprint("o", i), 8_000))
	}
	lost, err := rehearsal.Lost(t.Context(), objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(HaveLen(8))
	g.Expect(webhook.most).To(And(BeNumerically(">", mostRehearsed/4), BeNumerically("<=", mostRehearsed+mostRehearsed/8)))

	_, err = rehearsal.Lost(t.Context(), []map[string]any{object("small", 1), object("big", 60_000)})
	g.Expect(err).To(MatchError(ContainSubstring("garden/big cannot be converted to v1: the object would be too large: the defaults of v1 would make the object larger by more than 16 MiB")))
}
