package faults_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/faults"
	"github.com/moult-dev/moult/test/webhooks"
)

// world is two opted-in CRDs in a group of their own, widgets, which the fault is about, and gadgets, which it is not; a
// proxy that the controllers reach them through; and the judge.
type world struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	cp        *controlplane.ControlPlane
	client    client.Client // past the proxy
	proxy     *faults.Proxy
	proxies   []*faults.Proxy // with that one
	proxiesMu sync.Mutex
	judge     *faults.Judge
	group     string
	namespace string
	from, to  string        // versions
	settle    time.Duration // what the judge insists on
	widgets   int           // how many there are
	before    map[string]map[string][]byte
	busy      faults.Busy
	doomed    string // a namespace whose objects are deleted
	hook      *webhooks.Conversion
	late      bool     // the gate is asked for when all is done
	logs      []string // files that moult-controllers write to
	began     time.Time
	undo      []func()
}

const gadgets = 6

func (w *world) widget() schema.GroupResource {
	return schema.GroupResource{Group: w.group, Resource: "widgets"}
}

// newWorld has n widgets and some gadgets stored at v1alpha1, each owned by several managers, and v1alpha1 as the storage
// version.
func newWorld(t *testing.T, n int, f fault) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, cp: cp, ctx: t.Context(), group: builders.UniqueGroup(t), from: "v1", to: "v1alpha1", settle: shortly, widgets: n}
	if f.apart != nil {
		var err error
		w.cp, err = controlplane.Start(f.apart...)
		w.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { w.Expect(w.cp.Stop()).To(Succeed()) })
	}
	w.client = newClient(w.WithT, w.cp.Config)
	w.installGate()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-"}}
	w.Expect(w.client.Create(w.ctx, ns)).To(Succeed())
	w.namespace = ns.Name

	var err error
	w.proxy = w.newProxy()
	w.judge, err = faults.NewJudge(w.ctx, w.cp.Etcd().Endpoint, w.group, w.written)
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.judge.Close)

	widgets := w.crd("widgets")
	if f.crd != nil {
		f.crd(w, widgets)
	}
	w.install(widgets)
	w.install(w.crd("gadgets"))
	w.create("widgets", w.namespace, n)
	w.create("gadgets", w.namespace, gadgets)
	return w
}

// newProxy is one more way to the API server.
func (w *world) newProxy() *faults.Proxy {
	w.t.Helper()
	proxy, err := faults.NewProxy(w.cp.Config, *seedFlag)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(proxy.Close)
	w.proxiesMu.Lock()
	defer w.proxiesMu.Unlock()
	w.proxies = append(w.proxies, proxy)
	return proxy
}

// written is when an object was last written, whatever the way.
func (w *world) written(path string) (last time.Time) {
	w.proxiesMu.Lock()
	defer w.proxiesMu.Unlock()
	for _, proxy := range w.proxies {
		if at := proxy.Written(path); at.After(last) {
			last = at
		}
	}
	return last
}

func newClient(g *WithT, cfg *rest.Config) client.Client {
	s := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(s)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(s)).To(Succeed())
	g.Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{}
	c, err := client.New(cfg, client.Options{Scheme: s})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func (w *world) installGate() {
	w.t.Helper()
	raw, err := os.ReadFile("../../clusters/base/crds/moult.dev_versionremovals.yaml")
	w.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.Expect(yaml.Unmarshal(raw, crd)).To(Succeed())
	w.Expect(client.IgnoreAlreadyExists(w.client.Create(w.ctx, crd))).To(Succeed())
	w.Expect(builders.WaitServed(w.ctx, w.cp.Config, crd)).To(Succeed())
}

func (w *world) crd(plural string) *builders.CRDBuilder {
	return builders.CRD(w.group, plural).Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().WithStatus()
}

func (w *world) install(crd *builders.CRDBuilder) {
	w.t.Helper()
	built := crd.Build()
	w.Expect(builders.Install(w.ctx, w.cp.Config, built)).To(Succeed())
	w.t.Cleanup(func() {
		_ = w.client.Delete(context.Background(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: built.Name}})
	})
}

// at is a client of a resource at a version, past the proxy.
func (w *world) at(cfg *rest.Config, version, plural, namespace string) dynamic.ResourceInterface {
	c := rest.CopyConfig(cfg)
	c.WarningHandler = rest.NoWarnings{}
	return dynamic.NewForConfigOrDie(c).Resource(schema.GroupVersionResource{Group: w.group, Version: version, Resource: plural}).Namespace(namespace)
}

// create makes objects that were applied at v1alpha1. Every third was also updated and given a status, by other clients.
func (w *world) create(plural, namespace string, n int) {
	w.t.Helper()
	objects := w.at(w.cp.Config, "v1alpha1", plural, namespace)
	var all errgroup.Group
	all.SetLimit(8)
	for i := range n {
		all.Go(func() error {
			object := &unstructured.Unstructured{Object: map[string]any{
				"spec": map[string]any{"size": int64(i), "color": "green", "parts": []any{"head", "tail"}},
			}}
			object.SetAPIVersion(w.group + "/v1alpha1")
			object.SetKind(strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s"))
			object.SetName(name(i))
			if _, err := objects.Apply(w.ctx, name(i), object, metav1.ApplyOptions{FieldManager: "old-tool"}); err != nil || i%3 > 0 {
				return err
			}
			update := []byte(`{"metadata":{"labels":{"team":"a"}},"spec":{"enabled":true}}`)
			if _, err := objects.Patch(w.ctx, name(i), types.MergePatchType, update, metav1.PatchOptions{FieldManager: "old-updater"}); err != nil {
				return err
			}
			status := []byte(`{"status":{"phase":"Ready"}}`)
			_, err := objects.Patch(w.ctx, name(i), types.MergePatchType, status, metav1.PatchOptions{FieldManager: "old-controller"}, "status")
			return err
		})
	}
	w.Expect(all.Wait()).To(Succeed())
}

func name(i int) string { return fmt.Sprintf("object-%05d", i) }

// flip makes the other version the storage version.
func (w *world) flip(also ...func(*apiextensionsv1.CustomResourceDefinition)) {
	w.t.Helper()
	if w.before == nil {
		w.remember()
	}
	w.from, w.to = w.to, w.from
	w.judge.Flips(w.settle)
	w.Expect(w.flipTo("gadgets", w.to)).To(Succeed())
	w.Expect(w.flipTo("widgets", w.to, also...)).To(Succeed())
}

func (w *world) flipTo(plural, version string, also ...func(*apiextensionsv1.CustomResourceDefinition)) error {
	return builders.Update(w.ctx, w.cp.Config, plural+"."+w.group, func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
		for _, change := range also {
			change(crd)
		}
	})
}

// begin asks for the gate, if it is to be asked for first, and takes the time.
func (w *world) begin() {
	w.t.Helper()
	w.sync()
	w.Expect(w.stored("widgets")).To(HaveKeyWithValue(w.from, BeNumerically(">=", w.widgets)), "the objects must be stale before the test begins")
	if !w.late {
		w.ask()
	}
	w.began = time.Now()
}

// remember takes down all objects as they are.
func (w *world) remember() {
	w.t.Helper()
	w.before = map[string]map[string][]byte{}
	w.sync()
	for _, plural := range []string{"widgets", "gadgets"} {
		w.before[plural] = w.judge.Objects(plural)
	}
}

// ask asks for the old version to go.
func (w *world) ask(changes ...func(*v1alpha1.VersionRemoval)) {
	w.t.Helper()
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "no-" + w.from},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: "widgets." + w.group, Versions: []string{w.from}},
	}
	for _, change := range changes {
		change(removal)
	}
	w.Expect(w.client.Create(w.ctx, removal)).To(Succeed())
}

// unask takes the wish back.
func (w *world) unask() {
	w.t.Helper()
	w.Expect(w.client.Delete(w.ctx, w.gate().DeepCopy())).To(Succeed())
}
