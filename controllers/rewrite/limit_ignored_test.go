package rewrite_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// Some aggregated API servers send all objects, whatever limit they are asked for. Pages that are too large end at a limit of 1.
func TestAListWithoutAnEndIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	const all = 200 << 20
	for name, read := range map[string]func(*rewrite.Client, context.Context, metav1.ListOptions) error{
		"of metadata": func(c *rewrite.Client, ctx context.Context, opts metav1.ListOptions) error {
			_, err := c.Resource(pods).List(ctx, opts)
			return err
		},
		"of whole objects": func(c *rewrite.Client, ctx context.Context, opts metav1.ListOptions) error {
			_, err := c.WholePage(ctx, pods, opts, 1<<20)
			return err
		},
		"in place of an object": func(c *rewrite.Client, ctx context.Context, _ metav1.ListOptions) error {
			_, err := c.Whole(ctx, pods, types.NamespacedName{Name: "one"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var sent atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[`)
				for item := `{"metadata":{"name":"` + strings.Repeat("x", 1000) + `"}},`; sent.Load() < all; {
					n, err := io.WriteString(w, item)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
				_, _ = io.WriteString(w, `{}]}`)
			}))
			t.Cleanup(server.Close)
			client, err := rewrite.NewClient(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(client, t.Context(), metav1.ListOptions{Limit: 1})).To(MatchError(Or(ContainSubstring("takes no notice of a limit"), ContainSubstring("that one object may take"))))
			g.Expect(sent.Load()).To(BeNumerically("<", all/4))
		})
	}
}

var pods = schema.GroupVersionResource{Group: "reports.example.com", Version: "v1", Resource: "reports"}
