package rehearse

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/webhooks"
)

// Each fault of a webhook is found and distinguished from the others, and a real API server finds it, too.
func TestFaultsOfAWebhookAreListedApart(t *testing.T) {
	var nothing map[string]int64
	for name, c := range map[string]struct {
		fault func(*webhooks.Conversion)
		code  int
		// lost, changed and failed are what is rehearsed; nil for nothing.
		lost, changed, failed map[string]int64
		// real is what the API server says when it reads an object at v1; empty if it reads it.
		real string
		args []string
	}{
		"a clean one": {func(h *webhooks.Conversion) { h.Change(swap) }, 0, nothing, nothing, nothing, "", nil},
		"it drops a field": {func(h *webhooks.Conversion) { h.Change(remove("spec", "payload")) }, cli.ExitNotDone,
			map[string]int64{"spec.payload": 3}, nothing, nothing, "", nil},
		"it loses the status": {func(h *webhooks.Conversion) { h.Change(remove("status")) }, 0,
			map[string]int64{"status": 3}, nothing, nothing, "", nil},
		"it drops a label": {func(h *webhooks.Conversion) { h.Change(remove("metadata", "labels")) }, cli.ExitNotDone,
			map[string]int64{"metadata.labels": 3}, nothing, nothing, "", nil},
		"it rounds a number": {func(h *webhooks.Conversion) {
			h.Change(func(object *unstructured.Unstructured, _, to string) {
				if size, there, _ := unstructured.NestedInt64(object.Object, "spec", "size"); there && to == "v1" {
					_ = unstructured.SetNestedField(object.Object, int64(float64(size)), "spec", "size")
				}
			})
		}, cli.ExitNotDone, nothing, map[string]int64{"spec.size": 3}, nothing, "", nil},
		"it keeps a field in an annotation": {func(h *webhooks.Conversion) { h.Change(stash) }, 0, nothing, nothing, nothing, "", nil},
		"it changes the name": {func(h *webhooks.Conversion) {
			h.Change(func(object *unstructured.Unstructured, _, _ string) { object.SetName("other") })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"metadata": 3}, "must have the same name", nil},
		"it changes the UID": {func(h *webhooks.Conversion) {
			h.Change(func(object *unstructured.Unstructured, _, _ string) { object.SetUID("") })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"metadata": 3}, "must have the same UID", nil},
		"it changes what the API server restores": {func(h *webhooks.Conversion) {
			h.Change(func(object *unstructured.Unstructured, _, _ string) {
				object.SetFinalizers([]string{"example.com/f"})
				object.SetManagedFields(nil)
			})
		}, 0, nothing, nothing, nothing, "", nil},
		"it answers a label that is none": {func(h *webhooks.Conversion) {
			h.Change(func(object *unstructured.Unstructured, _, _ string) { object.SetLabels(map[string]string{"a b": ""}) })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"metadata": 3}, "invalid metadata", nil},
		"it answers too few": {func(h *webhooks.Conversion) {
			h.Answer(func(r *apiextensionsv1.ConversionResponse) { r.ConvertedObjects = r.ConvertedObjects[1:] })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"count": 3}, "returned 0 objects, expected 1", nil},
		"it answers too few of several": {func(h *webhooks.Conversion) {
			h.Answer(func(r *apiextensionsv1.ConversionResponse) { r.ConvertedObjects = r.ConvertedObjects[:1] })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"count": 6}, "", nil},
		"it answers in another order": {func(h *webhooks.Conversion) {
			h.Answer(func(r *apiextensionsv1.ConversionResponse) { slices.Reverse(r.ConvertedObjects) })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"order": 6}, "", nil},
		"it answers another request": {func(h *webhooks.Conversion) {
			h.Answer(func(r *apiextensionsv1.ConversionResponse) { r.UID = "other" })
		}, cli.ExitNotDone, nothing, nothing, map[string]int64{"uid": 3}, "expected response.uid", nil},
		"it fails for one":       {func(h *webhooks.Conversion) { h.RejectObject("o001") }, cli.ExitNotDone, nothing, nothing, map[string]int64{"failed": 1}, "", nil},
		"it answers garbage":     {(*webhooks.Conversion).Garbage, cli.ExitNotDone, nothing, nothing, map[string]int64{"answer": 3}, "failed", nil},
		"it answers late":        {func(h *webhooks.Conversion) { h.Slow(time.Minute) }, cli.ExitNotDone, nothing, nothing, map[string]int64{"late": 2}, "Client.Timeout exceeded", []string{"--webhook-timeout", "1s"}},
		"nobody listens":         {func(h *webhooks.Conversion) { _ = h.Down() }, cli.ExitUnknown, nothing, nothing, nothing, "failed", nil},
		"the way there is wrong": {func(*webhooks.Conversion) {}, cli.ExitUnknown, nothing, nothing, nothing, "", []string{"--webhook", "https://127.0.0.1:1/convert"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t, 3, func(*apiextensionsv1.CustomResourceDefinition) {}, func(int) map[string]any {
				return map[string]any{"color": "red", "payload": "p", "size": int64(9007199254740993)}
			})
			before := map[string]*unstructured.Unstructured{}
			for i := range 3 {
				name := fmt.Sprintf("o%03d", i)
				object, err := h.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
				h.Expect(err).NotTo(HaveOccurred())
				before[name] = object
			}
			c.fault(h.hook)
			args := c.args
			if !slices.Contains(args, "--webhook") {
				args = append(args, "--webhook", "crd")
			}
			of := h.rehearse(c.code, args...)
			h.Expect(countsOf(of.Lost)).To(Equal(c.lost))
			h.Expect(countsOf(of.Changed)).To(Equal(c.changed))
			h.Expect(countsOf(of.Failed)).To(Equal(c.failed))
			h.Expect(len(of.Unknown) > 0).To(Equal(c.code == cli.ExitUnknown || strings.Contains(name, "late")))
			if strings.Contains(name, "the way") {
				return // the API server goes another one
			}
			h.flip()
			if c.real != "" {
				h.Eventually(func() error {
					_, err := h.Objects("v1").Get(t.Context(), "o000", metav1.GetOptions{})
					return err
				}, "100s").Should(MatchError(ContainSubstring(c.real)), "the API server waits half a minute for one that is late")
				return
			}
			failing := int(c.failed["failed"])
			h.rewrite(slices.Sorted(maps.Keys(before)), failing)
			for name, was := range before {
				is, err := h.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
				h.Expect(err).NotTo(HaveOccurred())
				same := fmt.Sprint(is.Object["spec"], is.Object["status"], is.GetLabels(), is.GetAnnotations(), is.GetFinalizers()) ==
					fmt.Sprint(was.Object["spec"], was.Object["status"], was.GetLabels(), was.GetAnnotations(), was.GetFinalizers())
				h.Expect(same).To(Equal(len(c.lost)+len(c.changed) == 0), "%v, and was %v", is.Object, was.Object)
			}
		})
	}
}

// Of 1,000 objects, exactly those are named that a real API server then treats so: 3 break a new rule, 1 fails to convert, and 5
// lose a field.
func TestAmongAThousandObjectsExactlyThoseAreNamed(t *testing.T) {
	t.Parallel()
	const n = 1000
	h := newHooked(t, n, func(head *apiextensionsv1.CustomResourceDefinition) {
		spec := head.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"]
		spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "!has(oldSelf.size) || oldSelf.size < 1000", Message: "too large to be written"}}
		head.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"] = spec
	}, func(i int) map[string]any {
		spec := map[string]any{"color": "red", "size": int64(i % 100), "payload": fmt.Sprint(i)}
		if i%400 == 7 { // 7, 407 and 807
			spec["size"] = int64(1000 + i)
		}
		if i%200 == 11 { // 11, 211, 411, 611 and 811
			spec["color"] = "blue"
		}
		return spec
	})
	h.hook.RejectObject("o500")
	h.hook.Change(func(object *unstructured.Unstructured, _, to string) {
		if color, _, _ := unstructured.NestedString(object.Object, "spec", "color"); color == "blue" && to == "v1" {
			unstructured.RemoveNestedField(object.Object, "spec", "payload")
		}
	})
	of := h.rehearse(cli.ExitNotDone, "--webhook", "crd")
	h.Expect(of.Objects).To(BeEquivalentTo(n))
	h.Expect(of.Same).To(BeEquivalentTo(n - 3 - 1 - 5))
	h.Expect(of.Lost).To(ConsistOf(And(HaveField("What", "spec.payload"),
		HaveField("Examples", ConsistOf("default/o011", "default/o211", "default/o411", "default/o611", "default/o811")))))
	h.Expect(of.Refused).To(ConsistOf(And(HaveField("What", "spec: Invalid value: too large to be written"),
		HaveField("Examples", ConsistOf("default/o007", "default/o407", "default/o807")))))
	h.Expect(of.Failed).To(ConsistOf(And(HaveField("Fault", conversion.FaultFailed), HaveField("Examples", ConsistOf("default/o500")))))
	h.Expect(of.Changed).To(BeEmpty())
	h.Expect(of.Unknown).To(BeEmpty())

	was, err := h.Objects("v1alpha1").List(t.Context(), metav1.ListOptions{})
	h.Expect(err).NotTo(HaveOccurred())
	h.flip()
	h.Eventually(func() error { // until the API server has the new schema
		_, err := h.Objects("v1").Patch(t.Context(), "o007", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`), metav1.PatchOptions{DryRun: []string{"All"}})
		return err
	}, "30s").Should(MatchError(ContainSubstring("too large to be written")))
	var lost, refused, failed []string
	for i := range was.Items {
		name := was.Items[i].GetName()
		_, err := h.Objects("v1").Patch(t.Context(), name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		switch {
		case apierrors.IsInvalid(err):
			refused = append(refused, "default/"+name)
			continue
		case err != nil:
			h.Expect(err).To(MatchError(ContainSubstring("cannot be converted")), name)
			failed = append(failed, "default/"+name)
			continue
		}
		now, err := h.Objects("v1alpha1").Get(t.Context(), name, metav1.GetOptions{})
		h.Expect(err).NotTo(HaveOccurred())
		if !reflect.DeepEqual(now.Object["spec"], was.Items[i].Object["spec"]) {
			lost = append(lost, "default/"+name)
		}
	}
	h.Expect(lost).To(ConsistOf(of.Lost[0].Examples))
	h.Expect(refused).To(ConsistOf(of.Refused[0].Examples))
	h.Expect(failed).To(ConsistOf(of.Failed[0].Examples))
	h.Expect(h.Stored()).To(Equal(map[string]int{"v1": n - 4, "v1alpha1": 4}))
}
