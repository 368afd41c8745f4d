package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/moult-dev/moult/controllers/timeline"
)

const lease = "/apis/coordination.k8s.io/v1/namespaces/moult-system/leases/moult-controller"

func TestNothingIsWrittenOnceTheLeaseMayBeAnothers(t *testing.T) {
	type step struct {
		pass   time.Duration
		method string
		path   string
		code   int
		want   bool // that it reaches the server
	}
	renews := step{0, http.MethodPut, lease, http.StatusOK, true}
	write := func(after time.Duration, want bool) step {
		return step{after, http.MethodPatch, "/apis/example.com/v1/widgets/a", http.StatusOK, want}
	}
	for name, steps := range map[string][]step{
		"before the first lease, as without an election": {write(time.Hour, true)},
		"while it holds":      {renews, write(8*time.Second, true)},
		"when it is over":     {renews, write(9*time.Second, false)},
		"when it was renewed": {renews, write(5*time.Second, true), renews, write(5*time.Second, true)},
		"when somebody else has it": {renews, {9 * time.Second, http.MethodPut, lease, http.StatusConflict, true},
			write(0, false)},
		"reads pass": {renews, {time.Hour, http.MethodGet, "/apis/example.com/v1/widgets", http.StatusOK, true}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			f := &fence{lease: 9 * time.Second, clock: now}
			for _, s := range steps {
				now.SetTime(now.Now().Add(s.pass))
				reached := false
				transport := f.around(roundTripper(func(*http.Request) (*http.Response, error) {
					reached = true
					return &http.Response{StatusCode: s.code, Body: http.NoBody}, nil
				}))
				req, err := http.NewRequestWithContext(t.Context(), s.method, "https://127.0.0.1"+s.path, strings.NewReader("{}"))
				g.Expect(err).NotTo(HaveOccurred())
				answer, err := transport.RoundTrip(req)
				g.Expect(reached).To(Equal(s.want))
				if s.want {
					g.Expect(answer.Body.Close()).To(Succeed())
				} else {
					g.Expect(err).To(MatchError(ContainSubstring("this process last renewed its lease 9s ago")))
				}
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// By however much a restore of etcd raises the revisions: the lease is as it was when the snapshot was taken.
func TestALeaseThatIsOlderThanItWasEndsAllWrites(t *testing.T) {
	g := NewWithT(t)
	answers := []string{"10", "12"}
	f := &fence{lease: time.Hour, clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	transport := f.around(roundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/leases") {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}
		body := `{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "moult-controller", "resourceVersion": "` + answers[0] + `"}}`
		answers = answers[1:]
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	}))
	send := func(method, path string) error {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://127.0.0.1"+path, strings.NewReader("{}"))
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		_, err = io.ReadAll(answer.Body)
		return errors.Join(err, answer.Body.Close())
	}
	g.Expect(f.reread(nil)(t.Context())).To(Succeed(), "without a lease")
	g.Expect(send(http.MethodPost, strings.TrimSuffix(lease, "/moult-controller"))).To(Succeed())
	g.Expect(f.path).To(Equal(lease), "what is read again")
	g.Expect(send(http.MethodPut, lease)).To(Succeed())
	g.Expect(send(http.MethodPatch, "/apis/example.com/v1/widgets/a")).To(Succeed())

	answers = []string{"11", "1000013"}
	g.Expect(send(http.MethodGet, lease)).To(Succeed())
	g.Expect(send(http.MethodPatch, "/apis/example.com/v1/widgets/a")).To(MatchError(timeline.ErrRestored))
	g.Expect(send(http.MethodPut, lease)).To(MatchError(timeline.ErrRestored), "or it would go on as the leader")
	_, restored := f.known()
	g.Expect(restored).To(MatchError(timeline.ErrRestored))
}
