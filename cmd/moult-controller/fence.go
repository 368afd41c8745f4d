package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/controllers/timeline"
)

// fence keeps a process from writing once its lease may be another one's. A process that stood still, with its machine
// for example, goes on with what it was about to write before it notices that it has lost the lease. These may be
// hundreds of writes. Each is safe by itself, and some undo what the next leader has done since.
//
// It also keeps a process from writing once its lease is older than it was. The lease is written every few seconds, so a
// restore of etcd shows there, by however much the revisions were raised.
type fence struct {
	lease time.Duration // how long one renewal is good for
	clock clock.PassiveClock

	mu       sync.Mutex
	renewed  time.Time // when the request began that last renewed the lease; zero before the first one
	path     string    // of the lease; empty before the first request about it
	newest   uint64    // resourceVersion of the lease that was seen
	restored error     // nil as long as that only grows
}

// around puts the fence around a transport. All transports of a process share it.
func (f *fence) around(next http.RoundTripper) http.RoundTripper { return fenced{f, next} }

type fenced struct {
	*fence
	next http.RoundTripper
}

// RoundTrip lets reads pass, and everything about leases.
func (f fenced) RoundTrip(req *http.Request) (*http.Response, error) {
	began := f.clock.Now()
	switch {
	case strings.HasPrefix(req.URL.Path, "/apis/coordination.k8s.io/"):
		return f.aboutLease(req, began)
	case req.Method == http.MethodGet:
		return f.next.RoundTrip(req)
	}
	if err := f.lapsed(began); err != nil {
		return nil, refused(req, err)
	}
	return f.next.RoundTrip(req)
}

func (f fenced) aboutLease(req *http.Request, began time.Time) (*http.Response, error) {
	before, err := f.known()
	if err != nil && req.Method != http.MethodGet {
		return nil, refused(req, err)
	}
	answer, err := f.next.RoundTrip(req)
	if err != nil || answer.StatusCode/100 != 2 {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	f.saw(req.URL.Path, body, before)
	if req.Method != http.MethodGet {
		f.renew(began)
	}
	return answer, nil
}

// refused ends a request that is not sent, as each transport has to.
func refused(req *http.Request, why error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return why
}

// known is what was seen of the lease before a request begins. Answers to requests under way at the same time have no order.
func (f *fence) known() (newest uint64, restored error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest, f.restored
}

func (f *fence) saw(path string, body []byte, before uint64) {
	object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return
	}
	lease, err := meta.Accessor(object)
	if err != nil {
		return
	}
	revision, err := strconv.ParseUint(lease.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if name := "/" + lease.GetName(); !strings.HasSuffix(path, name) {
		path += name // it was created
	}
	f.path, f.newest = path, max(f.newest, revision)
	if revision < before && f.restored == nil {
		f.restored = fmt.Errorf("%w: the lease of this process has resourceVersion %d, and had %d before. What this process remembers may no longer be true, so it ends and claims nothing more; the next one looks at everything anew",
			timeline.ErrRestored, revision, before)
	}
}

// reread reads the lease once more, if there is one, and is an error if it is older than before.
func (f *fence) reread(client rest.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		f.mu.Lock()
		path := f.path
		f.mu.Unlock()
		if path == "" {
			return nil
		}
		if err := client.Get().AbsPath(path).Do(ctx).Error(); err != nil && !rewrite.IsAbsent(err) {
			return fmt.Errorf("reading the lease: %w", err)
		}
		_, restored := f.known()
		return restored
	}
}

func (f *fence) renew(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

// lapsed is an error if the lease was renewed too long ago. The monotonic clock may stand still together with the machine, and
// the other one may be set: the longer time counts.
func (f *fence) lapsed(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ago := max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0)))
	switch {
	case f.restored != nil:
		return f.restored
	case f.renewed.IsZero() || ago < f.lease:
		return nil
	}
	return fmt.Errorf("not written: this process last renewed its lease %s ago and may not be the leader any more", ago.Round(time.Second))
}
