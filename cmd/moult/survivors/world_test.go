package survivors

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// world is a test's CRD, and what else there is in its cluster.
type world struct {
	*clitest.World
	namespace string
}

// newWorld has a CRD that is stored at v1, serves v1alpha1, and is named by nothing.
func newWorld(t *testing.T) *world {
	t.Helper()
	group := builders.UniqueGroup(t)
	w := &world{World: suite.WorldOf(t, builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Label(group+"/migrate", "true"))}
	w.namespace = w.Namespace()
	return w
}

// creates an object, in which GROUP and NAMESPACE stand for the world's.
func (w *world) creates(manifest string) *unstructured.Unstructured {
	w.T.Helper()
	manifest = strings.NewReplacer("GROUP", w.GR.Group, "NAMESPACE", w.namespace).Replace(manifest)
	object := &unstructured.Unstructured{}
	w.Expect(yaml.Unmarshal([]byte(manifest), &object.Object)).To(Succeed())
	objects := w.objects(object)
	created, err := objects.Create(w.T.Context(), object, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.T.Cleanup(func() { _ = objects.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}) })
	if status, ok := object.Object["status"]; ok {
		created.Object["status"] = status
		created, err = objects.UpdateStatus(w.T.Context(), created, metav1.UpdateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	return created
}

func (w *world) objects(of *unstructured.Unstructured) dynamic.ResourceInterface {
	w.T.Helper()
	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClientForConfigOrDie(cp.Config))
	w.Expect(err).NotTo(HaveOccurred())
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(of.GroupVersionKind().GroupKind(), of.GroupVersionKind().Version)
	w.Expect(err).NotTo(HaveOccurred())
	return dynamic.NewForConfigOrDie(cp.Config).Resource(mapping.Resource).Namespace(of.GetNamespace())
}

// has a CRD of somebody else's, of which objects may hold anything.
func (w *world) has(group, plural, kind, version string, categories ...string) {
	w.T.Helper()
	anything := true
	builder := builders.CRD(group, plural).Versions(version).WithStatus()
	crd := builder.Build()
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind, crd.Spec.Names.Singular, crd.Spec.Names.Categories = kind, kind+"List", strings.ToLower(kind), categories
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}
	running.Install(w.T, cp, crd)
}

// report is what -o json prints of the world's CRD.
func (w *world) report(args ...string) (survivors.Report, int) {
	w.T.Helper()
	got := w.Run(append([]string{"survivors", w.CRD.Name, "-o", "json"}, args...)...)
	report := survivors.Report{}
	w.Expect(json.Unmarshal([]byte(got.Out), &report)).To(Succeed(), got.Out+got.ErrOut)
	return report, got.Code
}

// at are the references at one place.
func at(groups []survivors.Group, place string) (found []survivors.Reference) {
	for _, g := range groups {
		if g.Place == place {
			found = append(found, g.References...)
		}
	}
	return found
}

// packed is a Helm release as Helm packs it, before the base64 of a Secret.
func packed(w *world, manifest string) string {
	w.T.Helper()
	content, err := json.Marshal(map[string]any{"name": "rose", "version": 1, "manifest": strings.ReplaceAll(manifest, "GROUP", w.GR.Group)})
	w.Expect(err).NotTo(HaveOccurred())
	buffer := &bytes.Buffer{}
	zip := gzip.NewWriter(buffer)
	_, err = zip.Write(content)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(zip.Close()).To(Succeed())
	return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(buffer.Bytes())))
}
