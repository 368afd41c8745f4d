package kubevirt

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"

	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/controllers/rewrite/embeddedcopies"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
)

var (
	vms       = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}
	kubevirts = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "kubevirts"}
	snapshots = schema.GroupVersionResource{Group: "snapshot.kubevirt.io", Version: "v1beta1", Resource: "virtualmachinesnapshots"}
	contents  = schema.GroupVersionResource{Group: "snapshot.kubevirt.io", Version: "v1beta1", Resource: "virtualmachinesnapshotcontents"}
	restores  = schema.GroupVersionResource{Group: "snapshot.kubevirt.io", Version: "v1beta1", Resource: "virtualmachinerestores"}
)

var kinds = map[schema.GroupVersionResource]string{
	vms: "VirtualMachine", kubevirts: "KubeVirt", snapshots: "VirtualMachineSnapshot", contents: "VirtualMachineSnapshotContent", restores: "VirtualMachineRestore",
}

// stashed are the CRDs whose objects are stashed.
var stashed = []string{"VirtualMachineInstancetype", "VirtualMachineClusterInstancetype", "VirtualMachinePreference", "VirtualMachineClusterPreference"}

func crdOf(kind string) string { return strings.ToLower(kind) + "s." + group }

// crd has KubeVirt's name, group, kind, versions, scope and subresource, and the conversion None, as KubeVirt's has. Its schema
// is not KubeVirt's, which no Go module holds: it takes everything but some fields of a wrong type.
func crd(group, kind string, status bool, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	b := builders.CRD(group, strings.ToLower(kind)+"s").Versions(versions...)
	if status {
		b.WithStatus()
	}
	c := b.Build()
	c.Spec.Names.Kind, c.Spec.Names.ListKind = kind, kind+"List"
	if strings.Contains(kind, "Cluster") {
		c.Spec.Scope = apiextensionsv1.ClusterScoped
	}
	c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	for i := range c.Spec.Versions {
		c.Spec.Versions[i].Schema.OpenAPIV3Schema = anything(nil)
	}
	if kind == "VirtualMachineInstancetype" {
		cpu := anything(map[string]apiextensionsv1.JSONSchemaProps{"guest": {Type: "integer"}, "model": {Type: "string"}})
		spec := anything(map[string]apiextensionsv1.JSONSchemaProps{"cpu": *cpu})
		spec.Required = []string{"cpu", "memory", "whatever"} // what is required now was not always
		for i := range c.Spec.Versions {
			c.Spec.Versions[i].Schema.OpenAPIV3Schema = anything(map[string]apiextensionsv1.JSONSchemaProps{"spec": *spec})
		}
	}
	return c
}

func anything(properties map[string]apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true), Properties: properties}
}

var install sync.Once

// world is a namespace in a cluster that has KubeVirt's CRDs. Its objects are gone when the test ends.
type world struct {
	*WithT
	t         *testing.T
	namespace string
	dynamic   dynamic.Interface
	core      kubernetes.Interface
	// file is where what is removed is kept; empty to have it kept in the successors, as the controller does.
	file string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := rest.CopyConfig(cp.Config)
	cfg.QPS = -1
	w := &world{WithT: NewWithT(t), t: t, dynamic: dynamic.NewForConfigOrDie(cfg), core: kubernetes.NewForConfigOrDie(cfg), file: filepath.Join(t.TempDir(), "removed.json")}
	install.Do(func() {
		for _, kind := range stashed {
			w.Expect(builders.Install(t.Context(), cfg, crd(group, kind, false, "v1alpha1", "v1alpha2", "v1beta1"))).To(Succeed())
		}
		for gvr, kind := range kinds {
			w.Expect(builders.Install(t.Context(), cfg, crd(gvr.Group, kind, true, gvr.Version))).To(Succeed())
		}
	})
	ns, err := w.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "vms-"}}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.namespace = ns.Name
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for gvr := range kinds {
			_ = w.dynamic.Resource(gvr).Namespace(w.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}
		_ = w.core.AppsV1().ControllerRevisions(w.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	return w
}

// makes creates an object, and its status.
func (w *world) makes(gvr schema.GroupVersionResource, name string, fields map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	u := &unstructured.Unstructured{Object: maps.Clone(fields)}
	u.SetAPIVersion(gvr.GroupVersion().String())
	u.SetKind(kinds[gvr])
	u.SetNamespace(w.namespace)
	u.SetName(name)
	made, err := w.dynamic.Resource(gvr).Namespace(w.namespace).Create(w.t.Context(), u, metav1.CreateOptions{FieldManager: "virt-controller"})
	w.Expect(err).NotTo(HaveOccurred())
	if status := fields["status"]; status != nil {
		made.Object["status"] = status
		made, err = w.dynamic.Resource(gvr).Namespace(w.namespace).UpdateStatus(w.t.Context(), made, metav1.UpdateOptions{FieldManager: "virt-controller"})
		w.Expect(err).NotTo(HaveOccurred())
	}
	return made
}

func (w *world) now(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	u, err := w.dynamic.Resource(gvr).Namespace(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return u
}

func text(u *unstructured.Unstructured, path string) string {
	value, _, _ := unstructured.NestedString(u.Object, strings.Split(path, ".")...)
	return value
}

// stash makes a ControllerRevision.
func (w *world) stash(name string, raw []byte, owner *unstructured.Unstructured, labels map[string]string) *appsv1.ControllerRevision {
	w.t.Helper()
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: runtime.RawExtension{Raw: raw}}
	if owner != nil {
		r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
	}
	r, err := w.core.AppsV1().ControllerRevisions(w.namespace).Create(w.t.Context(), r, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return r
}

// labelsOf are those that KubeVirt gives a revision since 1.0.
func labelsOf(raw []byte) map[string]string {
	u := &unstructured.Unstructured{}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &u.Object); err != nil {
		panic(err)
	}
	return map[string]string{
		group + "/object-generation": fmt.Sprint(u.GetGeneration()), group + "/object-kind": u.GetKind(), group + "/object-name": u.GetName(),
		group + "/object-uid": string(u.GetUID()), group + "/object-version": u.GroupVersionKind().Version,
	}
}

func (w *world) revision(name string) *appsv1.ControllerRevision {
	r, err := w.core.AppsV1().ControllerRevisions(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return r
}

// revisions are the names of all, with the version of each copy; a copy without a kind is at "bare".
func (w *world) revisions() map[string]string {
	list, err := w.core.AppsV1().ControllerRevisions(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	versions := map[string]string{}
	for _, r := range list.Items {
		meta := metav1.TypeMeta{}
		w.Expect(stdjson.Unmarshal(r.Data.Raw, &meta)).To(Succeed())
		if versions[r.Name] = meta.GroupVersionKind().Version; meta.Kind == "" {
			versions[r.Name] = "bare"
		}
	}
	return versions
}

// sends answers a write, mostly by sending it.
type sends func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error)

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// migration is one whose requests that write go through somebody's hands.
func (w *world) migration(hands sends) *embeddedcopies.Migration {
	w.t.Helper()
	cfg := rest.CopyConfig(cp.Config)
	cfg.QPS = -1
	if hands != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodGet {
					return next.RoundTrip(req)
				}
				return hands(req, func() (*http.Response, error) { return next.RoundTrip(req) })
			})
		})
	}
	return w.as(cfg)
}

// as makes a migration with somebody's rights.
func (w *world) as(cfg *rest.Config) *embeddedcopies.Migration {
	w.t.Helper()
	cluster, err := inspect.Connect(cfg)
	w.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, kind := range stashed {
		names = append(names, crdOf(kind))
	}
	all, err := inspect.Connect(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	targets, _, err := all.LeavingVersions(w.t.Context(), names, "", nil)
	w.Expect(err).NotTo(HaveOccurred())
	resources, unseen, err := cluster.Resources()
	w.Expect(err).NotTo(HaveOccurred())
	types, err := all.Types(w.t.Context(), targets)
	w.Expect(err).NotTo(HaveOccurred())
	m := &embeddedcopies.Migration{
		Work: repairs.Work{Resources: resources, Unseen: unseen}, Targets: targets, Places: survivors.Embedded(), Lister: inspect.Pages{Cluster: cluster},
		Client: dynamic.NewForConfigOrDie(cfg), Mapper: cluster.Mapper(), Types: types,
	}
	if w.file != "" {
		journal, err := embeddedcopies.OpenFile(w.file)
		w.Expect(err).NotTo(HaveOccurred())
		w.t.Cleanup(func() { _ = journal.Close() })
		m.Journal = journal
	}
	return m
}

func (w *world) migrates() repairs.Report {
	w.t.Helper()
	report, err := w.migration(nil).Run(w.t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	return report
}
