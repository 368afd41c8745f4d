package removal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
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

// byFlux is a VersionRemoval that says that a Kustomization applies it.
func byFlux(namespace, name string) func(*v1alpha1.VersionRemoval) {
	return func(r *v1alpha1.VersionRemoval) {
		r.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": namespace}
	}
}

// tracked is one that says that an Application does, by the annotation.
func tracked(app string) func(*v1alpha1.VersionRemoval) {
	return func(r *v1alpha1.VersionRemoval) {
		r.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": app + ":moult.dev/VersionRemoval:x/y"}
	}
}

// labelled is one that does so by the label.
func labelled(app string) func(*v1alpha1.VersionRemoval) {
	return func(r *v1alpha1.VersionRemoval) { r.Labels = map[string]string{"app.kubernetes.io/instance": app} }
}

// kustomization is one whose inventory has VersionRemovals.
func (g *gate) kustomization(name string, spec map[string]any, inventory ...client.ObjectKey) *unstructured.Unstructured {
	g.t.Helper()
	g.installKind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations")
	entries := []any{map[string]any{"id": "default_settings__ConfigMap", "v": "v1"}}
	for _, key := range inventory {
		entries = append(entries, map[string]any{"id": key.Namespace + "_" + key.Name + "_moult.dev_VersionRemoval", "v": "v1alpha1"})
	}
	o := g.create("kustomize.toolkit.fluxcd.io/v1", "Kustomization", g.Name.Namespace, name, spec)
	g.status(o, map[string]any{"inventory": map[string]any{"entries": entries}})
	return o
}

// application is one whose status has VersionRemovals.
func (g *gate) application(namespace, name string, resources ...client.ObjectKey) *unstructured.Unstructured {
	g.t.Helper()
	g.installKind("argoproj.io", "v1alpha1", "Application", "applications")
	g.namespace(namespace)
	all := []any{map[string]any{"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings", "status": "Synced"}}
	for _, key := range resources {
		all = append(all, map[string]any{"group": "moult.dev", "version": "v1alpha1", "kind": "VersionRemoval", "namespace": key.Namespace, "name": key.Name, "status": "Synced"})
	}
	o := g.create("argoproj.io/v1alpha1", "Application", namespace, name, nil)
	g.status(o, map[string]any{"resources": all})
	return o
}

// status writes an object's status, as its tool does.
func (g *gate) status(o *unstructured.Unstructured, status map[string]any) {
	g.t.Helper()
	body, err := json.Marshal(map[string]any{"status": status})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(g.client.Status().Patch(g.ctx, o, mergePatch(string(body)))).To(Succeed())
}

func TestAnOpenedGateWakesTheKustomizationAndThenItsDependents(t *testing.T) {
	g := flipped(t, 5)
	ns := g.Name.Namespace
	owner := g.kustomization("crd-gate", nil, g.Name)
	dependent := g.kustomization("crds", map[string]any{"dependsOn": []any{map[string]any{"name": "crd-gate"}}})
	stranger := g.kustomization("apps", map[string]any{"dependsOn": []any{map[string]any{"name": "crd-gate", "namespace": "elsewhere"}}})
	g.Ask(byFlux(ns, "crd-gate"))
	g.moult(requesting)
	g.Eventually(g.annotation(owner, requestedAt), soon).ShouldNot(BeEmpty())
	g.Expect(g.Verdict()).To(Equal("True SafeToRemove"), "nobody is woken before the gate is open")
	g.Consistently(g.annotation(dependent, requestedAt), "1s").Should(BeEmpty(), "its dependency is not ready yet")

	g.status(owner, map[string]any{"lastHandledReconcileAt": g.annotation(owner, requestedAt)(), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}})
	g.Eventually(g.annotation(dependent, requestedAt), soon).ShouldNot(BeEmpty())
	g.Expect(g.annotation(stranger, requestedAt)()).To(BeEmpty())
}

func TestAnOpenedGateWakesTheApplication(t *testing.T) {
	for name, c := range map[string]struct {
		namespace, app string
		track          func(*v1alpha1.VersionRemoval)
	}{
		"found by the tracking annotation":                            {"argocd", "by-annotation", tracked("by-annotation")},
		"found by the tracking annotation, in a namespace of its own": {"team-a", "apps-anywhere", tracked("team-a_apps-anywhere")},
		"found by the label":                                          {"argocd", "by-label", labelled("by-label")},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := widgets(t)
			app := g.application(c.namespace, c.app, g.Name)
			g.Ask(c.track)
			g.moult(requesting)
			g.Eventually(g.annotation(app, "argocd.argoproj.io/refresh"), soon).Should(Equal("normal"))
		})
	}
}

// Who may create a VersionRemoval may write its labels, and would make the platform's tools work, as often as they like.
func TestLabelsOfAVersionRemovalWakeNoReconciler(t *testing.T) {
	other := func(g *gate) client.ObjectKey { return client.ObjectKey{Namespace: g.Name.Namespace, Name: "another"} }
	elsewhere := func(g *gate) client.ObjectKey { return client.ObjectKey{Namespace: "elsewhere", Name: g.Name.Name} }
	const refresh = "argocd.argoproj.io/refresh"
	for name, c := range map[string]struct {
		claims     func(g *gate) func(*v1alpha1.VersionRemoval)
		object     func(g *gate) *unstructured.Unstructured
		annotation string
	}{
		"a Kustomization that applies another": {
			func(g *gate) func(*v1alpha1.VersionRemoval) { return byFlux(g.Name.Namespace, "platform") },
			func(g *gate) *unstructured.Unstructured {
				return g.kustomization("platform", nil, other(g), elsewhere(g))
			}, requestedAt},
		"a Kustomization that applies one of its name to another cluster": {
			func(g *gate) func(*v1alpha1.VersionRemoval) { return byFlux(g.Name.Namespace, "remote") },
			func(g *gate) *unstructured.Unstructured {
				return g.kustomization("remote", map[string]any{"kubeConfig": map[string]any{"secretRef": map[string]any{"name": "x"}}}, g.Name)
			}, requestedAt},
		"an Application that applies another, by the annotation": {
			func(*gate) func(*v1alpha1.VersionRemoval) { return tracked("claimed") },
			func(g *gate) *unstructured.Unstructured {
				return g.application("argocd", "claimed", other(g), elsewhere(g))
			}, refresh},
		"an Application that applies another, by the label": {
			func(*gate) func(*v1alpha1.VersionRemoval) { return labelled("claimed-by-label") },
			func(g *gate) *unstructured.Unstructured {
				return g.application("argocd", "claimed-by-label", other(g), elsewhere(g))
			}, refresh},
		"an Application that applies one of its name to another cluster": {
			func(*gate) func(*v1alpha1.VersionRemoval) { return labelled("to-another-cluster") },
			func(g *gate) *unstructured.Unstructured {
				app := g.application("argocd", "to-another-cluster", g.Name)
				g.Expect(g.client.Patch(g.ctx, app, mergePatch(`{"spec":{"destination":{"name":"edge"}}}`))).To(Succeed())
				return app
			}, refresh},
		"an object of another kind, by a name that is a path": {
			func(g *gate) func(*v1alpha1.VersionRemoval) {
				return tracked("argocd_../../../../../../apis/forges.example.com/v1/namespaces/" + g.Name.Namespace + "/forges/forged")
			},
			func(g *gate) *unstructured.Unstructured {
				g.installKind("forges.example.com", "v1", "Forge", "forges")
				g.application("argocd", "any") // so that there are Applications
				forged := g.create("forges.example.com/v1", "Forge", g.Name.Namespace, "forged", nil)
				g.status(forged, map[string]any{"resources": []any{map[string]any{"group": "moult.dev", "kind": "VersionRemoval", "namespace": g.Name.Namespace, "name": g.Name.Name}}})
				return forged
			}, refresh},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := widgets(t)
			object := c.object(g)
			g.Ask(c.claims(g))
			g.moult(requesting)
			g.opensWithoutProof(g.Name)
			g.Consistently(g.annotation(object, c.annotation), "2s", "50ms").Should(BeEmpty())
		})
	}
}

// Gates may open as often as somebody creates VersionRemovals, or deletes them and creates them again.
func TestAToolIsWokenOnceAMinute(t *testing.T) {
	g, _ := widgets(t)
	names := []client.ObjectKey{g.Name}
	for i := range 20 {
		names = append(names, client.ObjectKey{Namespace: g.Name.Namespace, Name: fmt.Sprintf("more-%d", i)})
	}
	owner := g.kustomization("crd-gate", nil, names...)
	claims := byFlux(g.Name.Namespace, "crd-gate")
	g.Ask(claims)
	g.moult(requesting)
	g.Eventually(g.annotation(owner, requestedAt), soon).ShouldNot(BeEmpty())
	first := g.annotation(owner, requestedAt)()
	for _, name := range names[1:] {
		g.Ask(claims, func(r *v1alpha1.VersionRemoval) { r.Name = name.Name })
		g.opensWithoutProof(name)
	}
	g.Consistently(g.annotation(owner, requestedAt), "2s", "50ms").Should(Equal(first))
}

// opensWithoutProof waits until a VersionRemoval of a CRD that is not installed is Ready.
func (g *gate) opensWithoutProof(name client.ObjectKey) {
	g.t.Helper()
	g.Eventually(func(o Gomega) {
		r := &v1alpha1.VersionRemoval{}
		o.Expect(g.client.Get(g.ctx, name, r)).To(Succeed())
		o.Expect(conditions.IsTrue(r, "Ready")).To(BeTrue())
	}, soon).Should(Succeed())
}

func TestTheNudgeNeedsNoMoreThanItsComponentGrants(t *testing.T) {
	g, _ := widgets(t)
	owner := g.kustomization("crd-gate", nil, g.Name)
	g.Ask(byFlux(g.Name.Namespace, "crd-gate"))
	another := client.ObjectKey{Namespace: g.Name.Namespace, Name: "by-argo-cd"}
	app := g.application("argocd", "rights", another)
	g.Ask(tracked("rights"), func(r *v1alpha1.VersionRemoval) { r.Name = another.Name })
	g.moultAt(g.requester(), requesting)
	g.Eventually(g.annotation(owner, requestedAt), soon).ShouldNot(BeEmpty())
	g.Eventually(g.annotation(app, "argocd.argoproj.io/refresh"), soon).Should(Equal("normal"))
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
		return g.client.List(g.ctx, list, client.Limit(1))
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
