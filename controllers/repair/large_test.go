package repair_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/builders"
)

// much is more than an object that was listed small has room for.
const much = 100 << 10

// reads are answers that hold more than much, and are not read to their end.
type reads struct{ now, most atomic.Int64 }

// largely is an answer that takes its time once much of it is read.
type largely struct {
	io.ReadCloser
	reads *reads
	done  int
	once  sync.Once
}

func (l *largely) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.done += n; l.done > much {
		l.once.Do(func() {
			defer l.reads.now.Add(-1)
			for now := l.reads.now.Add(1); now > l.reads.most.Load(); {
				l.reads.most.Store(now)
			}
			time.Sleep(200 * time.Millisecond)
		})
	}
	return n, err
}

// Tenants have their objects grow after they were listed. Each is read again when its reference is moved, and all at once would
// take more memory than there is.
func TestObjectsThatHaveGrownSinceTheyWereListedAreReadOneByOne(t *testing.T) {
	t.Parallel()
	const n = 20
	w := newWorld(t)
	for i := range n {
		w.owns(fmt.Sprint("soil-", i), w.at("v1alpha1", w.owner))
	}
	grow := fmt.Appendf(nil, `{"metadata":{"annotations":{"large":%q}}}`, strings.Repeat("x", 2*much))
	grown, large := &sync.Map{}, &reads{}
	config := rest.CopyConfig(cp.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			_, name, of := strings.Cut(req.URL.Path, "/namespaces/default/configmaps/"+w.name("soil"))
			if !of {
				return next.RoundTrip(req)
			}
			if _, was := grown.LoadOrStore(name, true); !was {
				_, err := client().CoreV1().ConfigMaps("default").Patch(t.Context(), w.name("soil")+name, types.MergePatchType, grow, metav1.PatchOptions{FieldManager: operator})
				w.Expect(err).NotTo(HaveOccurred())
			}
			answer, err := next.RoundTrip(req)
			if err == nil {
				answer.Body = &largely{ReadCloser: answer.Body, reads: large}
			}
			return answer, err
		})
	})
	w.Ask()
	w.runs(config, time.Second)
	for i := range n {
		w.Eventually(w.refersAt(fmt.Sprint("soil-", i)), soon).Should(Equal([]string{"v1"}))
	}
	w.Expect(large.most.Load()).To(BeEquivalentTo(1), "large answers that are read at a time")
	w.Eventually(w.events, soon).Should(ContainElement(And(HavePrefix("Normal OwnerReferencesMoved: 20 owner references moved to v1"), Not(ContainSubstring("belong to Moult")))))
}

// The API server takes 10,000 operations in a JSON Patch, and each reference takes five.
func TestAnObjectWithThousandsOfOwnersIsRepaired(t *testing.T) {
	t.Parallel()
	const n = 2100
	w := newWorld(t)
	w.Expect(builders.CreateObjects(t.Context(), cp.Config, w.GR.WithVersion("v1alpha1"), "default", n)).To(Succeed())
	owners, err := w.Objects("v1").List(t.Context(), metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	references := make([]metav1.OwnerReference, 0, n)
	for i := range owners.Items[:n] {
		ref := w.at("v1alpha1", &owners.Items[i])
		ref.Controller = nil
		references = append(references, ref)
	}
	w.owns("soil", references...)
	w.Ask()
	w.runs(cp.Config, time.Minute)
	w.Eventually(w.refersAt("soil"), "10m", "1s").Should(HaveEach("v1"), "thousands of objects are migrated before")
	w.Eventually(w.events, soon).Should(ContainElement(And(HavePrefix("Normal OwnerReferencesMoved: 2100 owner references moved to v1"), Not(ContainSubstring("belong to Moult")))))
}
