package timeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Checker knows whether etcd still has what this process has seen.
type Checker interface {
	// Check is an error if etcd was restored to an older state, or if that is not known.
	Check(ctx context.Context) error
}

// ErrRestored is the error of a process that remembers what etcd has never held.
var ErrRestored = errors.New("etcd was restored to an older state")

const (
	// every is how often the API server is asked. A restore takes the API servers down, and takes back minutes of writes or
	// more, so no cluster gets from there to where it was before in this time.
	every = 2 * time.Second
	// patience is how long one answer may take.
	patience = 10 * time.Second
	// fastest is more than the etcd of a cluster writes, in revisions per second. A restore that raises the revisions, as Kubernetes
	// recommends (etcdutl snapshot restore --bump-revision 1000000000), shows by a leap.
	fastest = 20_000
	// pause is how long the API servers may have been away while others wrote, without that looking like a leap.
	pause = 20 * time.Second
)

// Timeline is the history of etcd as far as this process has seen it, by the resourceVersion of a list of CRDs.
type Timeline struct {
	ask   func(context.Context) (resourceVersion string, err error)
	clock clock.WithTicker
	// others are further questions; ErrRestored is their answer, too.
	others []func(context.Context) error

	mu     sync.Mutex
	newest uint64    // revision that was seen
	at     time.Time // when
	broken error     // nil as long as time goes on
}

// New is a timeline that asks the API server of the configuration. The identity needs list on customresourcedefinitions.
// Others are asked, too: their error is ErrRestored if an object that this process writes is older than it was.
func New(cfg *rest.Config, httpClient *http.Client, others ...func(context.Context) error) (*Timeline, error) {
	all, err := metadata.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, err
	}
	crds := all.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	return &Timeline{clock: clock.RealClock{}, others: others, ask: func(ctx context.Context) (string, error) {
		// Without a resourceVersion of its own the list is of this moment. Its content is not needed.
		list, err := crds.List(ctx, metav1.ListOptions{Limit: 1, FieldSelector: "metadata.name=versionremovals.moult.dev"})
		if err != nil {
			return "", err
		}
		return list.ResourceVersion, nil
	}}, nil
}

// Check asks the API server whether etcd still has what this process has seen. To be asked right before something is claimed
// by what the process remembers: nothing may be claimed after an error, which is ErrRestored for good, or that of the request.
func (t *Timeline) Check(ctx context.Context) error {
	seen, at, err := t.last()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resourceVersion, err := t.ask(ctx)
	if err != nil {
		return fmt.Errorf("asking whether etcd was restored: %w", err)
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("asking whether etcd was restored: resourceVersion %q of a list is no number: %w", resourceVersion, err)
	}
	if err := t.saw(seen, at, revision); err != nil {
		return err
	}
	for _, other := range t.others {
		if err := other(ctx); err != nil {
			return t.ends(err)
		}
	}
	return nil
}

// ends remembers an error that is for good.
func (t *Timeline) ends(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, ErrRestored) && t.broken == nil {
		t.broken = err
	}
	return err
}

// last is the latest that was seen before a request begins. Answers to requests under way at the same time have no order.
func (t *Timeline) last() (seen uint64, at time.Time, broken error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest, t.at, t.broken
}

func (t *Timeline) saw(before uint64, at time.Time, revision uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	switch {
	case t.broken != nil:
	case revision < before:
		t.broken = brokenBy(before, revision, "")
	case before > 0 && float64(revision-before) > fastest*math.Max(pause.Seconds(), now.Sub(at).Seconds()):
		t.broken = brokenBy(before, revision, ", more than can be written in that time")
	case revision > t.newest:
		t.newest, t.at = revision, now
	default:
		t.at = now
	}
	return t.broken
}

func brokenBy(before, now uint64, how string) error {
	return fmt.Errorf("%w: a list of CustomResourceDefinitions has resourceVersion %d, and one before had %d%s. What this process remembers may no longer be true, so it ends and claims nothing more; the next one looks at everything anew. If that does not happen by itself, restart Moult, and restart each API server that was not restarted after the restore",
		ErrRestored, now, before, how)
}

// Start asks again and again until ctx ends. It returns ErrRestored, which ends the manager that it was added to.
func (t *Timeline) Start(ctx context.Context) error {
	ticker := t.clock.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := t.Check(ctx); errors.Is(err, ErrRestored) {
			return err
		}
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return nil
		}
	}
}

// NeedLeaderElection is false: who waits for the lease has caches, too.
func (t *Timeline) NeedLeaderElection() bool { return false }
