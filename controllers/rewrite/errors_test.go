package rewrite

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// The name of an embedded object of 1.4 MiB, which is invalid, has the API server answer with 20 MiB. Each worker may be told so.
func TestAnErrorTakesABoundedAmountOfMemory(t *testing.T) {
	const words = `Widget "a" is invalid: spec.template.metadata.name: Invalid value: "/`
	for name, c := range map[string]struct {
		bytes, atMost int
		ends          string
	}{
		"a long one is cut off":  {1 << 20, 2 * maxSaid, "…"},
		"others are as they are": {1 << 10, 1 << 20, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_ = json.NewEncoder(w).Encode(metav1.Status{
					TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
					Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: words + strings.Repeat("\"", c.bytes) + "x",
				})
			}))
			t.Cleanup(server.Close)
			client, err := NewClient(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			_, err = client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).
				Patch(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"}, types.MergePatchType, nil)
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%.200s", err)
			g.Expect(err.Error()).To(And(HavePrefix(words), HaveSuffix(c.ends)))
			g.Expect(len(err.Error())).To(BeNumerically("<", c.atMost))
		})
	}
}
