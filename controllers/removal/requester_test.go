package removal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/running"
)

const requestedAt = "reconcile.fluxcd.io/requestedAt"

func requesting(_ *migration.Options, r *removal.Options) { r.RequestReconcile = true }

func TestAnOpenedGateWakesTheKustomizationAndThenItsDependents(t *testing.T) {
	g := flipped(t, 5)
	g.installKind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations")
	ns := g.Name.Namespace
	owner := g.create("kustomize.toolkit.fluxcd.io/v1", "Kustomization", ns, "crd-gate", nil)
	dependent := g.create("kustomize.toolkit.fluxcd.io/v1", "Kustomization", ns, "crds",
		map[string]any{"dependsOn": []any{map[string]any{"name": "crd-gate"}}})
	stranger := g.create("kustomize.toolkit.fluxcd.io/v1", "Kustomization", ns, "apps",
		map[string]any{"dependsOn": []any{map[string]any{"name": "crd-gate", "namespace": "elsewhere"}}})
	g.Ask(func(r *v1alpha1.VersionRemoval) {
		r.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "crd-gate", "kustomize.toolkit.fluxcd.io/namespace": ns}
	})
	g.moult(requesting)
	g.Eventually(g.annotation(owner, requestedAt), soon, "20ms").ShouldNot(BeEmpty())
	g.Expect(g.Verdict()).To(Equal("True SafeToRemove"), "nobody is woken before the gate is open")
	g.Consistently(g.annotation(dependent, requestedAt), "1s").Should(BeEmpty(), "its dependency is not ready yet")

	answer := fmt.Sprintf(`{"status":{"lastHandledReconcileAt":%q,"conditions":[{"type":"Ready","status":"True"}]}}`, g.annotation(owner, requestedAt)())
	g.Expect(g.client.Status().Patch(g.ctx, owner, mergePatch(answer))).To(Succeed())
	g.Eventually(g.annotation(dependent, requestedAt), soon, "20ms").ShouldNot(BeEmpty())
	g.Expect(g.annotation(stranger, requestedAt)()).To(BeEmpty())
}

func TestAnOpenedGateWakesTheApplication(t *testing.T) {
	for name, c := range map[string]struct {
		namespace, app string
		track          func(*v1alpha1.VersionRemoval)
	}{
		"found by the tracking annotation": {"argocd", "by-annotation", func(r *v1alpha1.VersionRemoval) {
			r.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "by-annotation:moult.dev/VersionRemoval:x/y"}
		}},
		"found by the tracking annotation, in a namespace of its own": {"team-a", "apps-anywhere", func(r *v1alpha1.VersionRemoval) {
			r.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "team-a_apps-anywhere:moult.dev/VersionRemoval:x/y"}
		}},
		"found by the label": {"argocd", "by-label", func(r *v1alpha1.VersionRemoval) {
			r.Labels = map[string]string{"app.kubernetes.io/instance": "by-label"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := widgets(t)
			g.installKind("argoproj.io", "v1alpha1", "Application", "applications")
			g.namespace(c.namespace)
			app := g.create("argoproj.io/v1alpha1", "Application", c.namespace, c.app, nil)
			g.Ask(c.track)
			g.moult(requesting)
			g.Eventually(g.annotation(app, "argocd.argoproj.io/refresh"), soon, "20ms").Should(Equal("normal"))
		})
	}
}

func TestTheNudgeNeedsNoMoreThanItsComponentGrants(t *testing.T) {
	g, _ := widgets(t)
	g.installKind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations")
	owner := g.create("kustomize.toolkit.fluxcd.io/v1", "Kustomization", g.Name.Namespace, "crd-gate", nil)
	g.Ask(func(r *v1alpha1.VersionRemoval) {
		r.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "crd-gate", "kustomize.toolkit.fluxcd.io/namespace": g.Name.Namespace}
	})
	g.moultAt(g.requester(), requesting)
	g.Eventually(g.annotation(owner, requestedAt), soon, "20ms").ShouldNot(BeEmpty())
}

// requester is a user with what SetupWithManager says is needed, and the nudge
// component's role.
func (g *gate) requester() *rest.Config {
	g.t.Helper()
	raw, err := os.ReadFile("../../clusters/components/nudge/role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	nudge := &rbacv1.ClusterRole{}
	g.Expect(yaml.Unmarshal(bytes.SplitN(raw, []byte("\n---\n"), 2)[0], nudge)).To(Succeed())
	return running.User(g.t, cp.Config, "requester-"+g.GR.Group, running.MoultRules(nudge.Rules...)...)
}

// installKind installs a CRD that takes any object, in place of another
// project's.
func (g *gate) installKind(group, version, kind, plural string) {
	g.t.Helper()
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything}},
			}},
		},
	}
	g.Expect(client.IgnoreAlreadyExists(g.client.Create(g.ctx, crd))).To(Succeed())
	g.Eventually(func() error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(group + "/" + version)
		list.SetKind(kind + "List")
		return g.client.List(g.ctx, list)
	}, soon, 50*time.Millisecond).Should(Succeed())
}

func (g *gate) create(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	g.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	g.Expect(g.client.Create(g.ctx, o)).To(Succeed())
	g.t.Cleanup(func() { _ = g.client.Delete(context.Background(), o) })
	return o
}

func (g *gate) namespace(name string) {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(name)
	g.Expect(client.IgnoreAlreadyExists(g.client.Create(g.ctx, ns))).To(Succeed())
}

// annotation reads an object's annotation anew each time.
func (g *gate) annotation(o *unstructured.Unstructured, key string) func() string {
	return func() string {
		g.Expect(g.client.Get(g.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		return o.GetAnnotations()[key]
	}
}
