package rewrite

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// stuck is a server that does not answer about tenants' objects before it is released, as where their webhooks hang.
type stuck struct {
	released chan struct{}
	mu       sync.Mutex
	asked    map[string]int // requests under way, by group
}

func (s *stuck) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if group := strings.Split(r.URL.Path, "/")[2]; strings.HasPrefix(group, "tenant") {
		s.mu.Lock()
		s.asked[group]++
		s.mu.Unlock()
		<-s.released
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","resourceVersion":"7"}}`)
}

func (s *stuck) now() (groups, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.asked {
		requests += n
	}
	return len(s.asked), requests
}

// A tenant decides how long a webhook takes, and has as many CRDs as he likes.
func TestRequestsThatHangHoldUpNoOtherReader(t *testing.T) {
	for name, c := range map[string]struct {
		tenants int
		reads   func(*Client) *Client // of another CRD
	}{
		"beside one CRD, behind a webhook":         {1, (*Client).Converted},
		"beside three CRDs, behind a webhook":      {3, (*Client).Converted},
		"beside very many CRDs, without a webhook": {30, func(c *Client) *Client { return c }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := &stuck{released: make(chan struct{}), asked: map[string]int{}}
			server := httptest.NewServer(s)
			release := sync.OnceFunc(func() { close(s.released) })
			t.Cleanup(func() { release(); server.Close() })
			client, err := NewClient(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			one := types.NamespacedName{Name: "a"}
			nothing := func([]byte) error { return nil }
			var all sync.WaitGroup
			for i := range c.tenants {
				of := schema.GroupVersionResource{Group: fmt.Sprintf("tenant%d.example.com", i), Version: "v1", Resource: "widgets"}
				for range 8 {
					all.Go(func() { _ = client.TakeRewritten(t.Context(), of, one, nothing) })
					all.Go(func() { _ = client.Converted().TakeWhole(t.Context(), of, one, nothing) })
				}
			}
			asked := func() []int { groups, requests := s.now(); return []int{groups, requests} }
			each := min(c.tenants, convertedReaders)
			g.Eventually(asked).Should(Equal([]int{each, each}))
			g.Consistently(asked, "50ms").Should(Equal([]int{each, each}), "one reader for each CRD")

			read := make(chan error, 1)
			go func() { read <- c.reads(client).TakeWhole(t.Context(), widgets, one, nothing) }()
			g.Eventually(read, 5*time.Second).Should(Receive(BeNil()))
			release()
			all.Wait()
			g.Expect(client.whole.converted.of).To(BeEmpty())
		})
	}
}
