package manifests

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/test/running"
)

// TestTheAPIServerAcceptsEverything applies what every folder builds, server-side and dry. The CRDs of Flux, Argo CD and
// the Prometheus Operator are theirs; what is not checked is what only a running controller of theirs would refuse.
func TestTheAPIServerAcceptsEverything(t *testing.T) {
	installForeign(t)
	running.InstallGate(t, cp.Config)
	all := built(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := running.Client(t, cp.Config)
			for _, object := range all[name].Objects {
				if isCRD(object) {
					g.Eventually(func() error { return dryRun(t, c, object) }, running.Soon).Should(Succeed(), object.GetName())
				}
			}
			for _, crd := range neededBy(g, name, all) {
				install(t, crd)
				t.Cleanup(func() { remove(g, c, crd) })
			}
			for _, object := range all[name].Objects {
				if !isCRD(object) {
					makeNamespace(t, c, object.GetNamespace())
					g.Eventually(func() error { return dryRun(t, c, object) }, running.Soon).Should(Succeed(), "%s %s", object.GetKind(), object.GetName())
				}
			}
		})
	}
}

func isCRD(object *delivery.Object) bool { return object.GetKind() == "CustomResourceDefinition" }

// dryRun applies an object as kubectl would, in the namespace default if it names none. What the API server refuses for
// good is not asked for again.
func dryRun(t *testing.T, c client.Client, object *delivery.Object) error {
	t.Helper()
	applied := object.DeepCopy()
	namespaced, err := c.IsObjectNamespaced(applied)
	if err != nil {
		return err // its CRD is not served yet
	}
	if namespaced && applied.GetNamespace() == "" {
		applied.SetNamespace("default")
	}
	err = c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.DryRunAll, client.ForceOwnership, client.FieldOwner("manifests-test"))
	if err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) && !apierrors.IsServerTimeout(err) {
		return StopTrying(err.Error())
	}
	return err
}

func makeNamespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	if name != "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		NewWithT(t).Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), namespace))).To(Succeed())
	}
}

// neededBy are the CRDs of a folder's custom resources that no other project has: from the folder that lies nearest.
func neededBy(g Gomega, name string, all map[string]*render.Rendering) map[string]*apiextensionsv1.CustomResourceDefinition {
	needed := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, object := range all[name].Objects {
		nearest := -1
		for other, rendering := range all {
			for _, candidate := range rendering.Objects {
				crd := crdOf(g, candidate)
				if crd == nil || crd.Spec.Group == "moult.dev" || !defines(crd, object) || shared(name, other) <= nearest {
					continue
				}
				nearest, needed[crd.Name] = shared(name, other), crd
			}
		}
	}
	return needed
}

func crdOf(g Gomega, object *delivery.Object) *apiextensionsv1.CustomResourceDefinition {
	if !isCRD(object) {
		return nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.DeepCopy().Object, crd)).To(Succeed())
	return crd
}

func defines(crd *apiextensionsv1.CustomResourceDefinition, object *delivery.Object) bool {
	gvk := object.GroupVersionKind()
	return gvk.Group == crd.Spec.Group && gvk.Kind == crd.Spec.Names.Kind &&
		slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == gvk.Version && v.Served })
}

// shared is how many folders two paths have in common at their beginnings.
func shared(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return n
}

// remove waits until a CRD is gone, so that another folder can bring it in another shape.
func remove(g Gomega, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	ctx := context.Background() // the test's own is over
	g.Expect(c.Delete(ctx, crd)).To(Succeed())
	g.Eventually(func() bool { return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(crd), crd)) }, running.Soon).Should(BeTrue())
}
