package collector

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("the real kube-controller-manager acts on all of the cluster"))
}

// world is a CRD with v1alpha1 and v1, and a namespace of its own.
type world struct {
	Gomega
	*running.Gate

	t *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").OptedIn()
	return &world{Gomega: NewWithT(t), Gate: running.GateFor(running.Install(t, cp, crd.Build())), t: t}
}

func (w *world) widgets() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(cp.Config).Resource(w.GR.WithVersion("v1")).Namespace(w.Name.Namespace)
}

// widget creates a Widget, which may have an owner.
func (w *world) widget(name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.GR.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name}}}
	object.SetOwnerReferences(owners)
	created, err := w.widgets().Create(w.t.Context(), object, metav1.CreateOptions{FieldManager: "widget-operator"})
	w.Expect(err).NotTo(HaveOccurred())
	return created
}

func (w *world) configMaps() interface {
	Create(context.Context, *corev1.ConfigMap, metav1.CreateOptions) (*corev1.ConfigMap, error)
	Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error)
	List(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
} {
	return kubernetes.NewForConfigOrDie(cp.Config).CoreV1().ConfigMaps(w.Name.Namespace)
}

// configMap creates a ConfigMap that has an owner.
func (w *world) configMap(name string, owners ...metav1.OwnerReference) {
	w.t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
	_, err := w.configMaps().Create(w.t.Context(), c, metav1.CreateOptions{FieldManager: "widget-operator"})
	w.Expect(err).NotTo(HaveOccurred())
}

// at is a reference to an owner at a version.
func (w *world) at(version string, owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: w.GR.Group + "/" + version, Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)}
}

// nobody is a reference at v1alpha1 to an owner that does not exist, and never the same: the garbage collector remembers those that
// it has not found.
func (w *world) nobody() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: w.GR.Group + "/v1alpha1", Kind: "Widget", Name: "nobody", UID: uuid.NewUUID()}
}

func (w *world) hasConfigMap(name string) func() bool {
	return func() bool {
		_, err := w.configMaps().Get(w.t.Context(), name, metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	}
}

// lives reports whether an owner is there as it was made, and is not being deleted.
func (w *world) lives(owner *unstructured.Unstructured) func() (bool, error) {
	return func() (bool, error) {
		is, err := w.widgets().Get(w.t.Context(), owner.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && is.GetUID() == owner.GetUID() && is.GetDeletionTimestamp() == nil, err
	}
}

func (w *world) hasWidget(name string) func() bool {
	return func() bool {
		_, err := w.widgets().Get(w.t.Context(), name, metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	}
}

// deletesInForeground has the owner go after its dependents.
func (w *world) deletesInForeground(owner *unstructured.Unstructured) {
	w.t.Helper()
	w.Expect(w.widgets().Delete(w.t.Context(), owner.GetName(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})).To(Succeed())
}

// dependents are the ConfigMaps and Widgets that have an owner, and the version of the reference.
func (w *world) dependents() (versions map[string]string, err error) {
	versions = map[string]string{}
	note := func(name string, refs []metav1.OwnerReference) {
		for _, ref := range refs {
			versions[name] = strings.TrimPrefix(ref.APIVersion, w.GR.Group+"/")
		}
	}
	configMaps, err := w.configMaps().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range configMaps.Items {
		note("configmap "+configMaps.Items[i].Name, configMaps.Items[i].OwnerReferences)
	}
	widgets, err := w.widgets().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range widgets.Items {
		note("widget "+widgets.Items[i].GetName(), widgets.Items[i].GetOwnerReferences())
	}
	return versions, nil
}
