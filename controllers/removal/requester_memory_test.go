package removal_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// How many Kustomizations there are, and how large each is, is up to tenants.
func TestLargeKustomizationsAreNotReadAtOnce(t *testing.T) {
	g := flipped(t, 5)
	owner := g.kustomization("crd-gate", nil, g.Name)
	for i := range 8 {
		large := g.kustomization(fmt.Sprintf("large-%d", i), map[string]any{"components": []any{strings.Repeat("x", 1<<20)}})
		g.t.Cleanup(func() { _ = g.client.Delete(context.Background(), large) })
	}
	dependent := g.kustomization("zz-crds", map[string]any{"dependsOn": []any{map[string]any{"name": "crd-gate"}}})
	g.Ask(byFlux(g.Name.Namespace, "crd-gate"))
	largest := atomic.Int64{}
	watched := rest.CopyConfig(cp.Config)
	watched.Wrap(func(next http.RoundTripper) http.RoundTripper { return listsOf{"kustomizations", next, &largest} })
	g.moultAt(watched, requesting)
	g.Eventually(g.annotation(owner, requestedAt), soon).ShouldNot(BeEmpty())
	g.status(owner, map[string]any{"lastHandledReconcileAt": g.annotation(owner, requestedAt)(), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}})
	g.Eventually(g.annotation(dependent, requestedAt), soon).ShouldNot(BeEmpty())
	g.Expect(largest.Load()).To(And(BeNumerically(">", 1<<20), BeNumerically("<", 3<<20)))
}

// listsOf counts how much is read of each list of a resource.
type listsOf struct {
	resource string
	next     http.RoundTripper
	largest  *atomic.Int64
}

func (l listsOf) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(req)
	if err == nil && strings.HasSuffix(req.URL.Path, "/"+l.resource) {
		answer.Body = &counted{ReadCloser: answer.Body, largest: l.largest}
	}
	return answer, err
}

type counted struct {
	io.ReadCloser
	n       int64
	largest *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	if c.n > c.largest.Load() { // lists are read one after the other
		c.largest.Store(c.n)
	}
	return n, err
}
