package migration_test

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/webhooks"
)

// held is a conversion that changes nothing but the version. The second request for objects waits until it is let go.
type held struct {
	mu    sync.Mutex
	calls int
	let   chan struct{}
}

// Convert is a conversion.Converter's.
func (h *held) Convert(ctx context.Context, objects []map[string]any, apiVersion string) ([]map[string]any, error) {
	h.mu.Lock()
	h.calls++
	second := h.calls == 3 // after the first, there and back
	h.mu.Unlock()
	if second {
		select {
		case <-h.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	converted := make([]map[string]any, len(objects))
	for i, o := range objects {
		converted[i] = runtime.DeepCopyJSON(o)
		converted[i]["apiVersion"] = apiVersion
	}
	return converted, nil
}

// What looks at every object before any is written says how far it is, in the condition, to the command and in a dry run.
func TestALookAtEveryObjectSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	hook, err := webhooks.NewConversion()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	for name, start := range map[string]func(*world, migration.Options, func(migration.Update)){
		"a controller": func(w *world, opts migration.Options, _ func(migration.Update)) { w.controller(opts) },
		"a command": func(w *world, opts migration.Options, tell func(migration.Update)) {
			_ = migration.Run(w.ctx, cp.Config, w.crd.Name, opts, tell)
		},
		"a dry run": func(w *world, opts migration.Options, tell func(migration.Update)) {
			_, _ = migration.Trial(w.ctx, cp.Config, w.crd.Name, opts, tell)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, widgets(t).ConversionWebhook(hook.URL(), hook.CABundle()).Build())
			w.Create(120)
			w.Flip("v1")
			webhook := &held{let: make(chan struct{})}
			opts := w.quick()
			opts.Rehearse, opts.NewConverter = true, func(*apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) { return webhook, nil }
			told := make(chan migration.Update, 1)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				start(w, opts, func(u migration.Update) {
					if u.Looking {
						select {
						case told <- u:
						default:
						}
					}
				})
			}()
			if name == "a controller" {
				w.Eventually(func() string { return w.Condition().Message }, soon).Should(
					ContainSubstring("looking at every object first, for fields that it would lose at v1: 50 of 120 objects, 0 failed"))
			} else {
				w.Eventually(func() v1alpha1.Progress {
					u := <-told
					return v1alpha1.Progress{Done: u.Progress.Done, Total: u.Progress.Total}
				}, soon).Should(Equal(v1alpha1.Progress{Done: 50, Total: 120}))
			}
			w.Expect(w.Writes()).To(BeZero())
			close(webhook.let)
			w.Eventually(ended, soon).Should(BeClosed())
			if name != "a dry run" {
				w.eventuallyMigrated(120)
			}
		})
	}
}
