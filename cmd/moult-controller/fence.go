package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// fence keeps a process from writing once its lease may be another one's. A process that stood still, with its machine
// for example, goes on with what it was about to write before it notices that it has lost the lease. These may be
// hundreds of writes. Each is safe by itself, and some undo what the next leader has done since.
type fence struct {
	lease time.Duration // how long one renewal is good for
	clock clock.PassiveClock

	mu      sync.Mutex
	renewed time.Time // when the request began that last renewed the lease; zero before the first one
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
	case req.Method == http.MethodGet:
		return f.next.RoundTrip(req)
	case strings.HasPrefix(req.URL.Path, "/apis/coordination.k8s.io/"):
		answer, err := f.next.RoundTrip(req)
		if err == nil && answer.StatusCode/100 == 2 {
			f.renew(began)
		}
		return answer, err
	}
	if err := f.lapsed(began); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as each transport has to
		}
		return nil, err
	}
	return f.next.RoundTrip(req)
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
	if f.renewed.IsZero() || ago < f.lease {
		return nil
	}
	return fmt.Errorf("not written: this process last renewed its lease %s ago and may not be the leader any more", ago.Round(time.Second))
}
