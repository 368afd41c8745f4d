package repair_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

const (
	stashGroup = "instancetype.kubevirt.io"
	// interval is how often copies are looked for in these tests.
	interval = time.Second
)

var (
	vms       = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}
	kubevirts = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "kubevirts"}
	snapshots = schema.GroupVersionResource{Group: "snapshot.kubevirt.io", Version: "v1", Resource: "virtualmachinesnapshots"}
	revisions = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
)

// stashWorld has CRDs of KubeVirt's names, one of which stores v1beta1 and has copies at v1alpha2; test/kubevirt has its types.
type stashWorld struct {
	Gomega
	*running.Gate

	t         *testing.T
	namespace string
	client    dynamic.Interface
}

// newStashWorld lets the copies of instance types be moved, unless changes say otherwise.
func newStashWorld(t *testing.T, changes ...func(*builders.CRDBuilder)) *stashWorld {
	t.Helper()
	w := &stashWorld{Gomega: NewWithT(t), t: t, client: dynamic.NewForConfigOrDie(cp.Config)}
	w.Gate = running.GateFor(w.installs("virtualmachineinstancetypes", "VirtualMachineInstancetype", changes...))
	w.namespace = w.Name.Namespace
	t.Cleanup(func() { // no garbage collector takes them away, and the next test would find them
		_ = w.client.Resource(revisions).Namespace(w.namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	for gvr, kind := range map[schema.GroupVersionResource]string{vms: "VirtualMachine", kubevirts: "KubeVirt", snapshots: "VirtualMachineSnapshot"} {
		crd := builders.CRD(gvr.Group, gvr.Resource).Versions(gvr.Version).Build()
		anything := true
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}
		w.install(crd, kind)
	}
	return w
}

// installs a CRD of a kind that is stashed.
func (w *stashWorld) installs(plural, kind string, changes ...func(*builders.CRDBuilder)) *running.Witness {
	w.t.Helper()
	crd := builders.CRD(stashGroup, plural).Versions("v1alpha2", "v1beta1").OptedIn().Annotation(v1alpha1.MigrateStashesAnnotation, "true")
	for _, change := range changes {
		change(crd)
	}
	return w.install(crd.Build(), kind)
}

// install waits until another test's CRD of that name no longer exists, and its own is deleted before the next.
func (w *stashWorld) install(crd *apiextensionsv1.CustomResourceDefinition, kind string) *running.Witness {
	w.t.Helper()
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind, crd.Spec.Names.Singular = kind, kind+"List", strings.ToLower(kind)
	crds := dynamic.NewForConfigOrDie(cp.Config).Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	w.t.Cleanup(func() {
		w.Eventually(func() error {
			_, err := crds.Get(context.Background(), crd.Name, metav1.GetOptions{})
			return err
		}, "1m").Should(MatchError(ContainSubstring("not found")))
	})
	return running.Install(w.t, cp, crd)
}

// asks for the removal of v1alpha2.
func (w *stashWorld) asks(require ...v1alpha1.Requirement) {
	w.t.Helper()
	w.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions, r.Spec.Require = []string{"v1alpha2"}, require })
}

// control is another CRD whose copies are moved, by one look after the other, each for all CRDs that want it. What a
// look reports is reported when it has ended for all. So what has not happened when a copy of the control is reported
// did not happen in any look before.
type control struct {
	*stashWorld
	gate *running.Gate
}

func (w *stashWorld) control() control {
	w.t.Helper()
	return control{w, running.GateFor(w.installs("virtualmachinepreferences", "VirtualMachinePreference"))}
}

// moves waits until a copy of the control, tulip's, that is made now is reported as moved.
func (c control) moves() {
	c.t.Helper()
	c.stashes("tulip", "preference", "VirtualMachinePreference")
	c.gate.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v1alpha2"} })
	c.Eventually(c.toldOf(c.gate.Witness), soon).Should(ContainElement(HavePrefix("Normal StashesMoved")))
}

// goes takes away what moves has made.
func (c control) goes() {
	c.t.Helper()
	c.Expect(c.client.Resource(vms).Namespace(c.namespace).Delete(c.t.Context(), "tulip", metav1.DeleteOptions{})).To(Succeed())
	c.Expect(c.client.Resource(revisions).Namespace(c.namespace).Delete(c.t.Context(), successorOf("tulip"), metav1.DeleteOptions{})).To(Succeed())
}

// counting is a configuration whose lists of revisions are counted: each look for copies begins with one.
func (w *stashWorld) counting() (config *rest.Config, looks *atomic.Int64) {
	config, looks = rest.CopyConfig(cp.Config), &atomic.Int64{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/"+revisions.Resource) {
				looks.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	return config, looks
}

// eventuallyLooked waits until a look that begins now has ended: then the next but one has begun.
func (w *stashWorld) eventuallyLooked(looks *atomic.Int64) {
	w.t.Helper()
	before := looks.Load()
	w.Eventually(looks.Load, soon).Should(BeNumerically(">=", before+2))
}

// creates an object, in which NAMESPACE stands for the world's.
func (w *stashWorld) creates(gvr schema.GroupVersionResource, manifest string) *unstructured.Unstructured {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	w.Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NAMESPACE", w.namespace)), &u.Object)).To(Succeed())
	made, err := w.client.Resource(gvr).Namespace(w.namespace).Create(w.t.Context(), u, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	return made
}

// stashes makes a VirtualMachine and the revision that it owns and names, <name>-old, whose copy says something about itself.
func (w *stashWorld) stashes(name, field, kind string, says ...string) {
	w.t.Helper()
	vm := w.creates(vms, `{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: `+name+`}, spec: {`+field+`: {revisionName: `+name+`-old}}}`)
	w.creates(revisions, `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: `+name+`-old,
  ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: `+name+`, uid: `+string(vm.GetUID())+`, controller: true}]}, revision: 0,
  data: {apiVersion: `+stashGroup+`/v1alpha2, kind: `+kind+`, metadata: {name: small, uid: u1, generation: 1, annotations: {says: "`+strings.Join(says, " ")+`"}}, spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}}}`)
}

// vm is stashes with an instance type.
func (w *stashWorld) vm(name string) { w.stashes(name, "instancetype", "VirtualMachineInstancetype") }

// successorOf is the name that KubeVirt gives the new revision of a VirtualMachine.
func successorOf(vm string) string { return vm + "-small-v1beta1-u1-1" }

// names is the revision that a VirtualMachine names.
func (w *stashWorld) names(vm string) func() (string, error) {
	return func() (string, error) {
		u, err := w.client.Resource(vms).Namespace(w.namespace).Get(w.t.Context(), vm, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, field := range []string{"instancetype", "preference"} {
			if name, ok, _ := unstructured.NestedString(u.Object, "spec", field, "revisionName"); ok {
				return name, nil
			}
		}
		return "", nil
	}
}

// revisions are those that there are.
func (w *stashWorld) revisions() (names []string, err error) {
	list, err := w.client.Resource(revisions).Namespace(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names, nil
}

// namesOld makes a VirtualMachine name its old revision, as a restore does that has found it before.
func (w *stashWorld) namesOld(vm string) {
	w.t.Helper()
	_, err := w.client.Resource(vms).Namespace(w.namespace).Patch(context.WithoutCancel(w.t.Context()), vm, types.MergePatchType,
		[]byte(`{"spec":{"instancetype":{"revisionName":"`+vm+`-old"}}}`), metav1.PatchOptions{FieldManager: "somebody"})
	w.Expect(err).NotTo(HaveOccurred())
}

// events are what is reported of an object, of a uid if there is one, as "Type Reason: note".
func (w *stashWorld) events(namespace, name string, uid ...types.UID) func() ([]string, error) {
	return func() (told []string, err error) {
		list, err := client().EventsV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=" + name})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if e := &list.Items[i]; strings.HasPrefix(e.Reason, "Stash") && (len(uid) == 0 || e.Regarding.UID == uid[0]) {
				told = append(told, e.Type+" "+e.Reason+": "+e.Note)
			}
		}
		return told, nil
	}
}

// told is what is reported of the CRD.
func (w *stashWorld) told() ([]string, error) { return w.toldOf(w.Witness)() }

// toldOf is what is reported of a CRD, and not of another test's of the same name.
func (w *stashWorld) toldOf(crd *running.Witness) func() ([]string, error) {
	return w.events("default", crd.GR.String(), crd.Live().UID)
}

// runs all of Moult as somebody, with a look for references.
func (w *stashWorld) runs(config *rest.Config, rate float64) (stop func()) {
	w.t.Helper()
	cluster, err := inspect.Connect(cp.Config)
	w.Expect(err).NotTo(HaveOccurred())
	m := running.Quick(stashGroup)
	m.MaxRate = rate
	return running.Repairing(w.t, config, m, removal.Options{SurveyInterval: interval, References: looking{cluster, survivors.Embedded()}}, repairOptions(w.t, config, interval))
}
