package faults_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

type hook = webhooks.Conversion

// converted has a webhook convert the widgets.
func converted(w *world, crd *builders.CRDBuilder) {
	var err error
	w.hook, err = webhooks.NewConversion()
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = w.hook.Close() })
	crd.ConversionWebhook(w.hook.URL(), w.hook.CABundle())
}

func garbage(h *hook) error { h.Garbage(); return nil }

// healHook ends what the webhook suffers from. Its port may be taken for a moment.
func (w *world) healHook() { w.Eventually(w.hook.Heal, soon).Should(Succeed()) }

// hookBreaks breaks the conversion webhook in mid-pass.
func hookBreaks(how func(*hook) error) func(*world) {
	return func(w *world) {
		w.flip()
		w.begin()
		w.midPass(func() { w.start() })
		w.Expect(how(w.hook)).To(Succeed())
		w.atTheEnd(w.healHook)
	}
}

func hookIsSlow(by time.Duration) func(*world) {
	return func(w *world) {
		w.flip()
		w.begin()
		w.hook.Slow(by)
		w.atTheEnd(w.healHook)
		calls := w.hook.Calls()
		w.start()
		w.until("the webhook is asked", func() bool { return w.hook.Calls() >= calls+3 })
	}
}

// hookFlaps takes the webhook down and up again, five times a second.
func hookFlaps(w *world) {
	ctx, stop := context.WithCancel(w.ctx)
	var flapping sync.WaitGroup
	w.atTheEnd(func() {
		stop()
		flapping.Wait()
		w.healHook()
	})
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	flapping.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if i%2 == 0 {
				_ = w.hook.Down()
			} else {
				_ = w.hook.Up() // if the port is taken for a moment, then the next time
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	w.until("it has flapped for a while", func() bool { return time.Since(w.began) > 8*time.Second })
}

func (w *world) admission() *webhooks.Admission {
	w.t.Helper()
	admission, err := webhooks.NewAdmission()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(admission.Install(w.ctx, w.cp.Config, w.widget().WithVersion("v1"), "status")).To(Succeed())
	w.t.Cleanup(func() {
		_ = admission.Uninstall(context.Background(), w.cp.Config, w.widget())
		_ = admission.Close()
	})
	return admission
}

func rejecting(w *world) {
	admission := w.admission()
	admission.RejectUpdates("the freezer is locked", name(7), name(8))
	w.atTheEnd(func() { admission.Allow(name(7), name(8)) })
	w.flip()
	w.begin()
	w.start()
}

func admissionDown(w *world) {
	admission := w.admission()
	w.flip()
	w.begin()
	w.midPass(func() { w.start() })
	w.Expect(admission.Down()).To(Succeed())
	w.atTheEnd(func() { w.Eventually(admission.Up, soon).Should(Succeed()) })
}

// spec is the schema of spec at v1.
func spec(crd *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.JSONSchemaProps)) {
	for _, v := range crd.Spec.Versions {
		if v.Name == "v1" {
			props := v.Schema.OpenAPIV3Schema.Properties["spec"]
			change(&props)
			v.Schema.OpenAPIV3Schema.Properties["spec"] = props
		}
	}
}

// stricter comes with the flip. Objects that break the new rules pass as long as nobody changes what breaks them.
func stricter(w *world) {
	w.flip(func(crd *apiextensionsv1.CustomResourceDefinition) {
		spec(crd, func(s *apiextensionsv1.JSONSchemaProps) {
			s.Required = []string{"owner"}
			s.Properties["owner"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			s.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.size > 1000", Message: "too small"}}
		})
	})
	w.begin()
	w.start()
}

// impossible is a rule about changes, which the API server asks whatever has changed.
func impossible(w *world) {
	w.flip(func(crd *apiextensionsv1.CustomResourceDefinition) {
		spec(crd, func(s *apiextensionsv1.JSONSchemaProps) {
			s.XValidations = apiextensionsv1.ValidationRules{{Rule: "!(oldSelf.size in [7, 8])", Message: "this one is frozen"}}
		})
	})
	w.begin()
	w.start()
	w.atTheEnd(func() {
		w.judge.Flips(w.settle) // a new generation needs a new proof
		w.Expect(builders.Update(w.ctx, w.cp.Config, "widgets."+w.group, func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec(crd, func(s *apiextensionsv1.JSONSchemaProps) { s.XValidations = nil })
		})).To(Succeed())
	})
}
