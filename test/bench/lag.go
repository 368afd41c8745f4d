package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/test/controlplane"
)

const (
	// standstill is how long the second API server does not answer, and does not hear of the flip.
	standstill = 3 * time.Second
	oldWriters = 16
)

// lagged is one run with a second API server that stands still while the storage version flips, and with clients that
// write through it at the old version before, during and after that.
type lagged struct {
	Contender string
	Run       int
	Objects   int // at the end; the old writers create some
	OldWrites int
	// StaleAtTrim objects were not stored at the new version when storedVersions named nothing else, and StaleLater is
	// the most there were at any time after that.
	StaleAtTrim, StaleLater int
	TrimmedAfter            number // seconds after the flip
}

// runLag is only that, for as many runs as one likes.
func runLag(ctx context.Context, o *options) error {
	entrants, err := o.entrants()
	if err != nil {
		return err
	}
	s, report, err := open(ctx, o, entrants)
	if err != nil {
		return err
	}
	defer s.close()
	if report.Twice, err = runTwice(ctx, s, o, entrants); err != nil {
		return err
	}
	if report.Lags, err = runLags(ctx, s, o, entrants); err != nil {
		return err
	}
	return report.finish(o)
}

func runLags(ctx context.Context, s *stage, o *options, entrants []*contender) ([]*lagged, error) {
	if o.LagRuns == 0 {
		return nil, nil
	}
	second, err := s.cp.SecondAPIServer()
	if err != nil {
		return nil, err
	}
	var all []*lagged
	for run := range o.LagRuns {
		for _, c := range rotate(entrants, run, o.LagRuns) {
			if !c.trims || c.variant {
				continue
			}
			l, err := s.lag(ctx, o, c, second, run+1)
			if err != nil {
				return nil, fmt.Errorf("%s with a lagging API server: %w", c.name, err)
			}
			s.say("a lagging API server, run %d: %-12s %d stale at the trim, %d later, of %d", run+1, c.name, l.StaleAtTrim, l.StaleLater, l.Objects)
			all = append(all, l)
		}
	}
	return all, second.Stop()
}

// lag runs one contender so, on a CRD of its own that is opted in beforehand where that matters.
func (s *stage) lag(ctx context.Context, o *options, c *contender, second *controlplane.APIServer, run int) (*lagged, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	set, err := s.newSet(ctx, fmt.Sprintf("lag%d.%s.example.com", run, c.name), o.LagObjects)
	if err != nil {
		return nil, err
	}
	defer s.remove(set)
	proxy, kubeconfig, err := s.proxy(0)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	e := &entry{stage: s, options: o, set: set, target: set.other(), kubeconfig: kubeconfig}
	if e.witness, err = s.watch(ctx, set, e.target); err != nil {
		return nil, err
	}
	defer e.witness.cancel()
	if e.process, err = c.start(ctx, e); err != nil {
		return nil, err
	}
	defer e.process.stop()
	stop := set.writeThrough(ctx, second)
	defer stop()
	time.Sleep(2 * time.Second) // both servers serve the CRD by then, and the process is up

	flipped, err := s.flipPast(ctx, e, c, second)
	if err != nil {
		return nil, err
	}
	alive, done := e.process.during(ctx)
	defer done()
	if _, err := e.witness.until(alive, 3*time.Minute, "the trim", func(saw sighting) bool { return !saw.Trimmed.IsZero() }); err != nil {
		return nil, e.process.failed(err)
	}
	time.Sleep(time.Until(flipped.Add(standstill + 3*time.Second))) // what the server held has arrived by then
	wrote := stop()
	time.Sleep(200 * time.Millisecond)
	saw := e.witness.sees()
	l := &lagged{
		Contender: c.name, Run: run, OldWrites: wrote, StaleAtTrim: saw.StaleAtTrim, StaleLater: saw.StaleLater,
		TrimmedAfter: number(saw.Trimmed.Sub(flipped).Seconds()),
	}
	counts, err := s.cp.Etcd().CountByVersion(ctx, set.gr)
	for _, count := range counts {
		l.Objects += count
	}
	return l, err
}

// flipPast flips the storage version while the second server stands still, and has the contender begin at once.
func (s *stage) flipPast(ctx context.Context, e *entry, c *contender, second *controlplane.APIServer) (time.Time, error) {
	if err := second.Pause(); err != nil {
		return time.Time{}, err
	}
	time.AfterFunc(standstill, func() { _ = second.Resume() })
	if _, err := s.flip(ctx, e.set, c.release); err != nil {
		return time.Time{}, err
	}
	flipped := time.Now()
	if c.begin == nil {
		return flipped, nil
	}
	return flipped, c.begin(ctx, e)
}

// remove deletes the CRD and with it the objects.
func (s *stage) remove(set *objectSet) {
	_ = s.crds.Delete(context.WithoutCancel(context.Background()), set.crdName(), metav1.DeleteOptions{})
}

// writeThrough has clients create and patch objects at the old version through one API server, and returns how to stop
// them, which tells how many writes succeeded.
func (s *objectSet) writeThrough(ctx context.Context, server *controlplane.APIServer) (stop func() int) {
	client := dynamic.NewForConfigOrDie(server.Config).Resource(s.gr.WithVersion(s.stored)).Namespace(namespace)
	ctx, cancel := context.WithCancel(ctx)
	var writers sync.WaitGroup
	var wrote atomic.Int64
	for worker := range oldWriters {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if s.write(ctx, client, worker, i) == nil {
					wrote.Add(1)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	return func() int {
		cancel()
		writers.Wait()
		return int(wrote.Load())
	}
}

func (s *objectSet) write(ctx context.Context, client dynamic.ResourceInterface, worker, i int) error {
	if i%2 == 0 {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(s.gr.WithVersion(s.stored).GroupVersion().WithKind(s.kind))
		object.SetName(fmt.Sprintf("late-%02d-%05d", worker, i))
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d-%d"}}}`, worker, i)
	_, err := client.Patch(ctx, fmt.Sprintf("object-%05d", (worker*13+i)%s.objects), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
