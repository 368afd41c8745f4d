package migration_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Anything in a cluster may have metadata of a quarter of a megabyte or more. The controller has 256 MiB, however many there are.
func TestWhatIsNotAnObjectOfTheCRDIsReadInSmallPagesToo(t *testing.T) {
	t.Parallel()
	resources := []string{"apiextensions.k8s.io/v1/customresourcedefinitions", "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"}
	if cp.Minor >= needsInTree {
		resources = append(resources, "storagemigration.k8s.io/v1/storageversionmigrations")
	}
	w := flippedWorld(t, widgets(t), 3)
	w.stampEveryUpdate()
	w.setCondition(v1alpha1.StorageMigrating, apiextensionsv1.ConditionTrue)
	lists := &answers{most: map[string]int{}}
	for _, resource := range resources {
		lists.most["/apis/"+resource] = 0
		w.plantHeavy(resource, 9) // more than a page takes, and no more than that: the controllers of other tests read them, too
	}
	w.controllerAt(intercepted(cp.Config, lists.intercept), w.quick())
	w.eventuallyMigrated(3)
	w.Eventually(lists.longest, soon).Should(HaveEach(And(BeNumerically(">", 0), BeNumerically("<=", 2<<20+1))))
}

// plantHeavy makes objects of a quarter of a megabyte that have nothing to do with the world.
func (w *world) plantHeavy(resource string, n int) {
	w.t.Helper()
	parts := strings.Split(resource, "/")
	all := dynamic.NewForConfigOrDie(cp.Config).Resource(schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]})
	for i := range n {
		name := fmt.Sprintf("heavy%d.%s", i, w.GR.Group)
		object := map[string]map[string]any{
			"customresourcedefinitions": {"kind": "CustomResourceDefinition", "spec": map[string]any{"group": w.GR.Group, "scope": "Cluster",
				"names": map[string]any{"plural": fmt.Sprint("heavy", i), "kind": fmt.Sprint("Heavy", i)},
				"versions": []any{map[string]any{"name": "v1", "served": false, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}}},
			"storageversionmigrations": {"kind": "StorageVersionMigration", "spec": map[string]any{
				"resource": map[string]any{"group": w.GR.Group, "resource": "others"}}},
			"mutatingwebhookconfigurations": {"kind": "MutatingWebhookConfiguration"},
		}[parts[2]]
		object["apiVersion"] = parts[0] + "/" + parts[1]
		object["metadata"] = map[string]any{"name": name, "annotations": map[string]any{"load": strings.Repeat("x", 250<<10)}}
		_, err := all.Create(w.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
		w.t.Cleanup(func() { _ = all.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
}

// answers are how many bytes a client has read of the longest list, by path.
type answers struct {
	mu   sync.Mutex
	most map[string]int
}

func (a *answers) longest() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.most)
}

func (a *answers) intercept(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	answer, err := next.RoundTrip(req)
	_, counted := a.longest()[req.URL.Path]
	if query := req.URL.Query(); err == nil && counted && query.Has("limit") && !query.Has("labelSelector") {
		answer.Body = &counting{ReadCloser: answer.Body, answers: a, path: req.URL.Path}
	}
	return answer, err
}

// counting is one answer.
type counting struct {
	io.ReadCloser
	*answers
	path string
	read int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read += n
	c.most[c.path] = max(c.most[c.path], c.read)
	return n, err
}
