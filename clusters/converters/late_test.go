package converters

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/conversion"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that sees its client go ends its handler, and what net/http then writes for it, nothing, may still be read.
func TestAnAnswerAfterItsTimeIsLateWhateverItSays(t *testing.T) {
	g := NewWithT(t)
	asker := &converter{}
	w := &watcher{
		next: roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
		}),
		timeout: time.Millisecond,
		asker:   asker,
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = w.RoundTrip(request) //nolint:bodyclose // there is none
	g.Expect(err).To(HaveOccurred())
	g.Expect(asker.noted).To(HaveField("Fault", conversion.FaultLate))
}
