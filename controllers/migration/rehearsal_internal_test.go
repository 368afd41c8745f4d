package migration

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
)

// slowly is a webhook that takes a second, and counts how often it is asked at a time.
type slowly struct{ now, most *atomic.Int64 }

func (s slowly) Convert(_ context.Context, objects []map[string]any, apiVersion string) (converted []map[string]any, err error) {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	time.Sleep(time.Second)
	s.now.Add(-1)
	for _, object := range objects {
		is := maps.Clone(object)
		is["apiVersion"] = apiVersion
		converted = append(converted, is)
	}
	return converted, nil
}

// What is held of objects while a webhook is asked about them is held for one CRD at a time.
func TestWebhooksAreRehearsedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		webhook := slowly{new(atomic.Int64), new(atomic.Int64)}
		r := &Reconciler{opts: Options{
			NewConverter: func(*apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) { return webhook, nil },
		}}
		answers := make(chan error)
		for range 3 {
			crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").ConversionWebhook("https://127.0.0.1:1/convert", nil).Build()
			one, err := r.newRehearsal(crd)
			g.Expect(err).NotTo(HaveOccurred())
			go func() {
				_, err := one.Lost(t.Context(), []map[string]any{{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "one"}}})
				answers <- err
			}()
		}
		for range 3 {
			g.Expect(<-answers).To(Succeed())
		}
		g.Expect(webhook.most.Load()).To(BeEquivalentTo(1))
	})
}

// What does not fit into the memory four times is not asked about, and is no loss.
func TestAnObjectThatIsTooLargeToRehearseIsNamed(t *testing.T) {
	g := NewWithT(t)
	object := map[string]any{"metadata": map[string]any{"namespace": "ns", "name": "large"}, "spec": slices.Repeat([]any{map[string]any{"": 0}}, 90_000)}
	g.Expect(fits([]map[string]any{object})).To(Succeed())
	object["spec"] = slices.Repeat([]any{map[string]any{"": 0}}, 150_000)
	g.Expect(fits([]map[string]any{object})).To(MatchError(HavePrefix("ns/large takes 51 MiB when it is decoded, and the controller has memory for 32; ")))
}

// grows is a webhook whose answers take a third of the room for each object, and all of it for one.
type grows struct{ asked []int }

func (w *grows) Convert(ctx context.Context, objects []map[string]any, apiVersion string) (converted []map[string]any, err error) {
	w.asked = append(w.asked, len(objects))
	room := conversion.Room(ctx)
	for _, object := range objects {
		takes := int64(mostRehearsed / 3)
		if (&unstructured.Unstructured{Object: object}).GetName() == "large" {
			takes = mostRehearsed + 1
		}
		if room -= takes; room < 0 {
			return nil, conversion.Failure{Fault: conversion.FaultTooLarge, Says: "it grows"}
		}
		is := maps.Clone(object)
		is["apiVersion"] = apiVersion
		converted = append(converted, is)
	}
	return converted, nil
}

// A webhook may answer more than it is sent, and all that is held of an object has a bound.
func TestARehearsalAsksAboutFewerObjectsWhereAnswersAreTooLarge(t *testing.T) {
	g := NewWithT(t)
	webhook := &grows{}
	r := &Reconciler{opts: Options{NewConverter: func(*apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) { return webhook, nil }}}
	rehearsal, err := r.newRehearsal(builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Storage("v1").ConversionWebhook("https://127.0.0.1:1/convert", nil).Build())
	g.Expect(err).NotTo(HaveOccurred())
	object := func(name string) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": map[string]any{"namespace": "garden", "name": name}}
	}
	lost, err := rehearsal.Lost(t.Context(), []map[string]any{object("a"), object("b"), object("c"), object("d")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(HaveLen(4))
	g.Expect(webhook.asked).To(Equal([]int{4, 2, 2, 2, 2}), "there, and there and back with half of them each")

	_, err = rehearsal.Lost(t.Context(), []map[string]any{object("a"), object("large")})
	g.Expect(err).To(MatchError(ContainSubstring("garden/large cannot be converted to v1: the object would be too large: it grows; run `moult rehearse`, and then ")))
}
