package repair_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/controllers/repair"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("a repair walks all objects of the cluster"))
}

const (
	soon = running.Soon
	// operator is the field manager that sets owner references.
	operator = "widget-operator"
)

// world is a CRD that stores v1 and serves v1alpha1, a Widget that owns things, and a gate for v1alpha1.
type world struct {
	Gomega
	*running.Gate

	t         *testing.T
	namespace string
	owner     *unstructured.Unstructured
}

// newWorld makes a CRD that lets references be moved, unless changes say otherwise.
func newWorld(t *testing.T, changes ...func(*builders.CRDBuilder)) *world {
	t.Helper()
	g, group := NewWithT(t), builders.UniqueGroup(t)
	crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1").OptedIn().Annotation(v1alpha1.RepairOwnersAnnotation, "true")
	for _, change := range changes {
		change(crd)
	}
	w := &world{Gomega: g, t: t, Gate: running.GateFor(running.Install(t, cp, crd.Build()))}
	w.namespace = w.Name.Namespace
	w.owner = w.creates("v1alpha1", "rose")
	return w
}

// creates an owner, in the namespace default: GateFor has made the other one, which the dependents are in, too.
func (w *world) creates(version, name string) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.GR.Group + "/" + version, "kind": "Widget", "metadata": map[string]any{"name": name}}}
	created, err := w.Objects(version).Create(w.t.Context(), object, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return created
}

func client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(cp.Config) }

// at is a reference to an owner at a version.
func (w *world) at(version string, owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: w.GR.Group + "/" + version, Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)}
}

// owns creates a ConfigMap in the owner's namespace.
func (w *world) owns(name string, references ...metav1.OwnerReference) {
	w.t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.name(name), OwnerReferences: references}}
	_, err := client().CoreV1().ConfigMaps("default").Create(w.t.Context(), c, metav1.CreateOptions{FieldManager: operator})
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() {
		_ = client().CoreV1().ConfigMaps("default").Delete(context.Background(), w.name(name), metav1.DeleteOptions{})
	})
}

// name is one that no other test has.
func (w *world) name(of string) string { return w.namespace + "-" + of }

// refersAt are the versions in the references of a ConfigMap.
func (w *world) refersAt(name string) func() (versions []string, err error) {
	return func() (versions []string, err error) {
		c, err := client().CoreV1().ConfigMaps("default").Get(w.t.Context(), w.name(name), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, ref := range c.OwnerReferences {
			versions = append(versions, strings.TrimPrefix(ref.APIVersion, w.GR.Group+"/"))
		}
		return versions, nil
	}
}

// refers writes a reference as an operator does.
func (w *world) refers(name, version string) error {
	patch := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"ownerReferences":[{"apiVersion":"%s/%s","kind":"Widget","name":"%s","uid":"%s"}]}}`,
		w.GR.Group, version, w.owner.GetName(), w.owner.GetUID())
	_, err := client().CoreV1().ConfigMaps("default").Patch(w.t.Context(), w.name(name), types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: "gardener", Force: new(true)})
	return err
}

// runs all of Moult as somebody.
func (w *world) runs(config *rest.Config, interval time.Duration) (stop func()) {
	w.t.Helper()
	return running.Repairing(w.t, config, running.Quick(w.GR.Group), removalOptions(), repairOptions(w.t, config, interval))
}

func removalOptions() removal.Options { return removal.Options{} }

// repairOptions are of a repair that looks as often, as the user of a configuration.
func repairOptions(t *testing.T, config *rest.Config, interval time.Duration) repair.Options {
	t.Helper()
	cluster, err := inspect.Connect(config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return repair.Options{Interval: interval, Cluster: inspect.Pages{Cluster: cluster}}
}

// events are what is reported of the CRD, as "Type Reason: note".
func (w *world) events() (told []string, err error) {
	list, err := client().EventsV1().Events("default").List(w.t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=" + w.GR.String()})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if e := &list.Items[i]; strings.HasPrefix(e.Reason, "OwnerReferences") {
			told = append(told, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return told, nil
}

// optOut takes the annotation off.
func optOut(crd *apiextensionsv1.CustomResourceDefinition) {
	delete(crd.Annotations, v1alpha1.RepairOwnersAnnotation)
}
