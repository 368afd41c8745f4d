package install

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// What tenants write may unpack to gigabytes. A look for references through it, and a look for lost fields, stay within the memory
// that the Deployment gives the controller, whatever they find.
func TestTheShippedMemoryIsEnoughForWhatAnybodyPacks(t *testing.T) {
	g, group := NewWithT(t), builders.UniqueGroup(t)
	crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Label(v1alpha1.MigrateLabel, "true").
		Schema("v1alpha1", `{type: object, properties: {old: {type: string}, any: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`).
		Schema("v1", `{type: object, properties: {any: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`).Build()
	widgets := running.InstallFlipped(t, cp, crd, 0)
	moult := Install(t, cp, "clusters/base")
	moult.lookForReferences(t)
	moult.Grant("memory-test-objects", lives(widgets)...)
	moult.inForce(t, "/apis/"+group+"/v1/widgets", "moult-objects")
	namespace := hostile(t, widgets)
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: crd.Name, Versions: []string{"v1alpha1"}, Require: []v1alpha1.Requirement{v1alpha1.NoReferences, v1alpha1.NoStashes}},
	}
	c := running.Client(t, cp.Config)
	g.Expect(c.Create(t.Context(), removal)).To(Succeed())

	began := time.Now()
	controller, within := moult.StartWithin("--references", "--survey-interval=2s")
	g.Eventually(func() (string, error) {
		if controller.hasEnded() {
			kills, err := within.Kills()
			return "", StopTrying(fmt.Sprintf("moult-controller has ended; killed for memory %d times", kills)).Wrap(err)
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(removal), removal)
		return fmt.Sprint(running.VerdictOf(removal), removal.Status.Blockers), err
	}, enough, "500ms").Should(And(HavePrefix("False "), ContainSubstring("larger than what is looked at"), ContainSubstring(namespace+"/")))
	g.Expect(within.Kills()).To(BeZero())
	peak, err := within.Peak()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
}

// lookForReferences grants what the component references does.
func (i *Installation) lookForReferences(t *testing.T) {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "clusters/components/references/role.yaml"))
	i.g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	rendering, err := render.Stream("role.yaml", file)
	i.g.Expect(err).NotTo(HaveOccurred())
	i.apply(rendering.Objects[0])
	i.Aggregate()
}

// small is how many small objects there are that unpack to much.
const small = 100

// hostile makes objects in a namespace of their own, each of which unpacks to more than the controller has.
func hostile(t *testing.T, w *running.Witness) (namespace string) {
	t.Helper()
	g, c := NewWithT(t), running.Client(t, cp.Config)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "hostile-"}}
	g.Expect(c.Create(t.Context(), ns)).To(Succeed())
	t.Cleanup(func() {
		for _, kind := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &v1alpha1.VersionRemoval{}} {
			_ = c.DeleteAllOf(context.WithoutCancel(t.Context()), kind, client.InNamespace(ns.Name))
		}
	})
	laughs := aliases(`"`+strings.Repeat("x", 1500)+`"`, 600, 3)
	objects := map[string]client.Object{
		"merges":   manifests("a: &a {" + many("f%d: x", 2000) + "}\nl: [" + strings.Repeat("{<<: *a},", 2000) + "1]"),
		"lists":    manifests(strings.Repeat("- ", 400_000) + "a"),
		"mappings": manifests("[" + strings.Repeat("{a},", 200_000) + "{a}]"),
		"levels":   manifests(aliases("[0, 1, 2]", 10, 12)),
		"zeros":    release(strings.Repeat("\x00", 256<<20)),
		"manifest": release(asJSON(map[string]any{"manifest": laughs})),
		"texts":    release(asJSON(map[string]any{"manifest": "---\n" + strings.Repeat("- a\n", 3<<20)})),
		"hooks":    release(asJSON(map[string]any{"hooks": []any{map[string]any{"manifest": strings.Repeat("---\na\n", 2<<20)}}})),
		"deep":     release(strings.Repeat("[", 10<<20)),
	}
	for i := range 5 {
		objects[fmt.Sprintf("applied-%d", i)] = applied("[" + strings.Repeat("{},", 80_000) + "{}]")
		objects[fmt.Sprintf("nested-%d", i)] = applied(strings.Repeat(`{"":`, 50_000) + "1" + strings.Repeat("}", 50_000))
	}
	for i := range small {
		objects[fmt.Sprintf("laughs-%04d", i)] = manifests(laughs)
	}
	var workers errgroup.Group
	workers.SetLimit(8)
	for name, object := range objects {
		workers.Go(func() error {
			object.SetNamespace(ns.Name)
			if object.GetName() == "" {
				object.SetName(name)
			} else {
				object.SetName("sh.helm.release.v1." + name + ".v1")
			}
			return c.Create(t.Context(), object)
		})
	}
	for i := range 6 {
		workers.Go(func() error {
			_, err := w.Objects("v1alpha1").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": fmt.Sprintf("whole-%d", i)},
				"any": map[string]any{"of": emptied(150_000, i%2 == 0)},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	g.Expect(workers.Wait()).To(Succeed())
	return ns.Name
}

// emptied are mappings, or lists, with nothing in them.
func emptied(n int, mappings bool) []any {
	all := make([]any, n)
	for i := range all {
		if all[i] = any([]any{}); mappings {
			all[i] = map[string]any{}
		}
	}
	return all
}

func many(field string, n int) string {
	text := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(text, field+", ", i+1)
	}
	return text.String() + "last: x"
}

// aliases are levels of lists of aliases.
func aliases(bottom string, each, levels int) string {
	document := "a0: &a0 " + bottom + "\n"
	for i := range levels {
		document += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), each), ","))
	}
	return document
}

// manifests are a ConfigMap with manifests of Cluster API's.
func manifests(document string) client.Object {
	return &corev1.ConfigMap{Data: map[string]string{"manifests": document}, ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "addons.cluster.x-k8s.io/v1beta1", Kind: "ClusterResourceSet", Name: "set", UID: "u"},
	}}}
}

// release is a Secret as Helm writes it.
func release(content string) client.Object {
	packed := &bytes.Buffer{}
	zip := gzip.NewWriter(packed)
	_, _ = zip.Write([]byte(content))
	_ = zip.Close()
	return &corev1.Secret{Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1", Labels: map[string]string{"owner": "helm", "status": "deployed"}}}
}

func applied(content string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: content}}}
}

func asJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // it is a text in a mapping
	}
	return string(raw)
}
