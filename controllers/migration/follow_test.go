package migration_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// What Argo CD and Flux own, they still own: behind a conversion webhook that
// calls a field by another name, too.

const (
	flux = "kustomize-controller"
	argo = "argocd-controller"
)

// renaming is a CRD whose spec.size is called spec.capacity at v1.
func renaming(t *testing.T, hook *webhooks.Conversion) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	hook.Rename("v1", "size", "capacity")
	crd := widgets(t).WithStatus().ConversionWebhook(hook.URL(), hook.CABundle()).Build()
	of := crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	of["capacity"] = of["size"]
	delete(of, "size")
	return crd
}

// renamedWorld has one object, "shared", that Flux applied at v1alpha1 and of
// which Argo CD owns the color, too. v1 is the storage version, and all is
// migrated.
func renamedWorld(t *testing.T, hook *webhooks.Conversion, opts func(*world) migration.Options) (*world, migration.Options) {
	t.Helper()
	w := newWorld(t, renaming(t, hook))
	w.Expect(w.applySpec("v1alpha1", flux, "shared", wholeSpec())).To(Succeed())
	w.Expect(w.applySpec("v1alpha1", argo, "shared", spec{"color": "green"})).To(Succeed())
	w.Flip("v1")
	o := opts(w)
	w.controller(o)
	w.eventuallyMigrated(1)
	return w, o
}

// quiet are options with a state store in which nothing is asked for yet.
func (w *world) quiet() migration.Options {
	opts := w.quick()
	opts.StateStore = migration.NewStateStore()
	return opts
}

// eventuallySurveyed waits until no object names v1alpha1 any more, as far as
// the migration knows.
func (w *world) eventuallySurveyed(opts migration.Options) {
	w.t.Helper()
	w.Eventually(func() []string {
		status, _ := opts.StateStore.Status(w.crd.Name)
		return status.Evidence.Survey.Versions
	}, soon).Should(Equal([]string{"v1alpha1"}))
}

// specOf is an object's spec at a version.
func (w *world) specOf(version, name string) spec {
	w.t.Helper()
	object, err := w.Objects(version).Get(w.ctx, name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	s, _ := object.Object["spec"].(spec)
	return s
}

func without(s spec, field string) spec {
	fewer := spec{}
	for k, v := range s {
		if k != field {
			fewer[k] = v
		}
	}
	return fewer
}

func TestOwnershipOfAFieldThatTheWebhookRenamesMovesWithTheField(t *testing.T) {
	t.Parallel()
	w, opts := renamedWorld(t, webhooks.Converting(t), (*world).quiet)
	w.request(opts.StateStore)
	w.eventuallySurveyed(opts)
	w.Expect(w.owners()).To(ConsistOf(
		`shared: kustomize-controller Apply at `+w.GR.Group+`/v1 owns {"f:spec":{"f:capacity":{},"f:color":{},"f:parts":{}}}`,
		`shared: argocd-controller Apply at `+w.GR.Group+`/v1 owns {"f:spec":{"f:color":{}}}`))

	w.Expect(builders.RemoveVersion(w.ctx, cp.Config, w.crd.Name, "v1alpha1")).To(Succeed())
	w.Expect(w.applySpec("v1", flux, "shared", spec{"parts": []any{"head", "tail"}})).To(Succeed())
	w.Expect(w.specOf("v1", "shared")).To(Equal(spec{"color": "green", "parts": []any{"head", "tail"}}),
		"what Flux no longer applies is pruned, but for what Argo CD owns as well")
}

// An API server's cache keeps what a webhook has answered. A write that changes an object is applied to that, and stores it.
func TestWhatAWebhookWasWrongAboutIsNotStoredOnceItIsMended(t *testing.T) {
	t.Parallel()
	hook, isWrong := webhooks.Converting(t), atomic.Bool{}
	w := newWorld(t, renaming(t, hook))
	hook.Change(func(o *unstructured.Unstructured, _, to string) {
		if isWrong.Load() && to == "v1" {
			unstructured.RemoveNestedField(o.Object, "spec", "capacity")
		}
	})
	w.Expect(w.applySpec("v1alpha1", flux, "shared", wholeSpec())).To(Succeed())
	isWrong.Store(true)
	w.Flip("v1")
	cached := func() []unstructured.Unstructured {
		list, err := w.Objects("v1").List(w.ctx, metav1.ListOptions{ResourceVersion: "0"})
		w.Expect(err).NotTo(HaveOccurred())
		return list.Items
	}
	w.Eventually(cached, soon).Should(ConsistOf(HaveField("Object", HaveKeyWithValue("spec", Not(HaveKey("capacity"))))))
	isWrong.Store(false)
	opts := w.quiet()
	w.request(opts.StateStore)
	w.controller(opts)
	w.eventuallySurveyed(opts)
	w.Expect(w.with(`"capacity":`)).To(Equal(1))
}

// A tenant's VersionRemoval has owners moved while everybody still uses the version. No client must notice.
func TestOwnersThatAreMovedWhileTheirVersionIsInUseDoNotNotice(t *testing.T) {
	for name, rename := range map[string]bool{"behind a webhook that renames": true, "without a webhook": false} {
		for _, version := range []string{"v1alpha1", "v1"} {
			t.Run(name+", at "+version, func(t *testing.T) {
				t.Parallel()
				size := "size"
				crd := widgets(t).WithStatus().Build()
				if rename {
					crd = renaming(t, webhooks.Converting(t))
					size = map[string]string{"v1alpha1": "size", "v1": "capacity"}[version]
				}
				w := newWorld(t, crd)
				w.Expect(w.applySpec("v1alpha1", flux, "shared", wholeSpec())).To(Succeed())
				w.Expect(w.applySpec("v1alpha1", argo, "shared", spec{"color": "green"})).To(Succeed())
				w.Flip("v1")
				opts := w.requesting()
				w.controller(opts)
				w.eventuallySurveyed(opts)

				whole := without(wholeSpec(), "size")
				whole[size] = int64(1)
				w.Expect(w.applySpec(version, "other-tool", "shared", spec{size: int64(2)})).To(MatchError(ContainSubstring(`conflict with "` + flux + `"`)))
				w.Expect(w.applySpec(version, flux, "shared", without(whole, size))).To(Succeed())
				w.Expect(w.specOf(version, "shared")).To(Equal(without(whole, size)), "what Flux drops in its next apply is pruned")
				w.Expect(w.applySpec(version, flux, "shared", whole)).To(Succeed(), "and comes back")
				w.Expect(w.specOf(version, "shared")).To(Equal(whole))
				w.Expect(w.applySpec(version, flux, "shared", spec{})).To(Succeed())
				w.Expect(w.specOf(version, "shared")).To(Equal(spec{"color": "green"}), "what Argo CD owns as well stays")
				w.Expect(w.applySpec(version, argo, "shared", spec{"payload": "x"})).To(Succeed())
				w.Expect(w.specOf(version, "shared")).To(Equal(spec{"payload": "x"}))
			})
		}
	}
}

func TestOwnershipMovesAlthoughTheOldVersionIsNotServed(t *testing.T) {
	t.Parallel()
	w, opts := renamedWorld(t, webhooks.Converting(t), (*world).quiet)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
	w.request(opts.StateStore)
	w.eventuallySurveyed(opts)
	w.Expect(w.owners()).To(ConsistOf(
		`shared: kustomize-controller Apply at `+w.GR.Group+`/v1 owns {"f:spec":{"f:capacity":{},"f:color":{},"f:parts":{}}}`,
		`shared: argocd-controller Apply at `+w.GR.Group+`/v1 owns {"f:spec":{"f:color":{}}}`))
}

// byMoult distinguishes Moult's own questions to the webhook from the API server's.
func byMoult(r *http.Request) bool { return r.UserAgent() == "moult" }

// unreachableWorld is a renamedWorld whose webhook answers the API server and not
// Moult, and in which somebody wants v1alpha1 to go.
func unreachableWorld(t *testing.T) (*webhooks.Conversion, *world, migration.Options) {
	t.Helper()
	hook := webhooks.Converting(t)
	hook.Refuse(byMoult)
	w, opts := renamedWorld(t, hook, (*world).quiet)
	w.request(opts.StateStore)
	w.Eventually(func() []plan.Loss {
		status, _ := opts.StateStore.Status(w.crd.Name)
		return status.Losses
	}, soon).ShouldNot(BeEmpty())
	status, _ := opts.StateStore.Status(w.crd.Name)
	w.Expect(status.Evidence.Survey.Versions).To(BeEmpty())
	w.Expect(status.Losses).To(ConsistOf(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
		"Waits": BeTrue(), "Field": Equal("spec.size"), "Object": Equal("default/shared"), "Why": ContainSubstring("asked by Moult: the webhook answers something else: it answers 403"),
	})))
	w.Expect(w.Reason()).To(Equal(v1alpha1.ReasonMigrated), "what is stored is another question")
	w.Expect(w.owners()).To(ContainElement(`shared: kustomize-controller Apply at `+w.GR.Group+`/v1alpha1 owns {"f:spec":{"f:color":{},"f:parts":{},"f:size":{}}}`), "it stays as it was")
	w.Expect(w.owners()).To(ContainElement(`shared: argocd-controller Apply at `+w.GR.Group+`/v1 owns {"f:spec":{"f:color":{}}}`), "nothing is lost by that one")
	return hook, w, opts
}

func TestOwnershipWaitsUntilTheWebhookAnswersMoult(t *testing.T) {
	t.Parallel()
	hook, w, opts := unreachableWorld(t)
	hook.Refuse(nil)
	w.triesAgain()
	w.eventuallySurveyed(opts)
	w.Expect(w.owners()).To(ContainElement(`shared: kustomize-controller Apply at ` + w.GR.Group + `/v1 owns {"f:spec":{"f:capacity":{},"f:color":{},"f:parts":{}}}`))
	status, _ := opts.StateStore.Status(w.crd.Name)
	w.Expect(status.Losses).To(BeEmpty())
}

func TestOwnershipWaitsUntilItsManagerHasMovedOnByItself(t *testing.T) {
	t.Parallel()
	_, w, opts := unreachableWorld(t)
	w.Expect(w.applySpec("v1", flux, "shared", spec{"color": "green", "parts": []any{"head", "tail"}})).To(Succeed(), "the API server follows the rename itself")
	w.Expect(w.specOf("v1", "shared")).To(Equal(spec{"color": "green", "parts": []any{"head", "tail"}}))
	w.triesAgain()
	w.eventuallySurveyed(opts)
}

func TestOwnershipIsLostWhereTheCRDAllowsIt(t *testing.T) {
	t.Parallel()
	_, w, opts := unreachableWorld(t)
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AllowOwnershipLossAnnotation, "v1alpha1")
	})
	w.eventuallySurveyed(opts)
	w.Expect(w.owners()).To(ContainElement(`shared: kustomize-controller Apply at ` + w.GR.Group + `/v1 owns {"f:spec":{"f:color":{},"f:parts":{}}}`))
	status, _ := opts.StateStore.Status(w.crd.Name)
	w.Expect(status.Losses).To(ConsistOf(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
		"Manager": Equal("kustomize-controller (Apply)"), "Waits": BeFalse(), "Fields": Equal(int64(1)), "Field": Equal("spec.size"), "Object": Equal("default/shared"),
	})))
}
