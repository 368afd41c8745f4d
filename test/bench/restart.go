package main

import (
	"context"
	"fmt"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// restarted is what a crash in mid-pass and a second pass over a clean CRD cost.
type restarted struct {
	Objects int
	// KilledAfter objects had been rewritten when moult-controller was killed (SIGKILL) and started again.
	KilledAfter int
	// WritesPerObject are all writes of objects until the trim, the crash included.
	WritesPerObject float64
	StaleAtTrim     int
	// SecondPassRequests per object are those of a pass over the clean CRD, and SecondPassWrites all its writes of objects.
	SecondPassRequests float64
	SecondPassWrites   int
}

func runRestart(ctx context.Context, o *options) error {
	s, report, err := open(ctx, o, []*contender{&moult})
	if err != nil {
		return err
	}
	defer s.close()
	e, done, err := s.enter(ctx, o, o.Objects)
	if err != nil {
		return err
	}
	defer done()
	r := &restarted{Objects: o.Objects}
	if err := r.crash(ctx, e); err != nil {
		return err
	}
	if err := r.passAgain(ctx, e); err != nil {
		return err
	}
	fmt.Printf("%s; %s\nkilled after %d of %d objects and started again: %.3f writes per object until the trim, %d stale then\n"+
		"a second pass over the clean CRD: %.2f requests per object, %d writes in etcd\n", report.Machine, report.Server,
		r.KilledAfter, r.Objects, r.WritesPerObject, r.StaleAtTrim, r.SecondPassRequests, r.SecondPassWrites)
	return writeJSON(o.json, r)
}

// enter prepares a run of Moult: a CRD with this many objects, whose storage version has flipped, and a way there.
func (s *stage) enter(ctx context.Context, o *options, objects int) (e *entry, done func(), err error) {
	set, err := s.set(ctx, objects)
	if err != nil {
		return nil, nil, err
	}
	return s.enterWith(ctx, o, set)
}

// enterWith is enter with objects that are there.
func (s *stage) enterWith(ctx context.Context, o *options, set *objectSet) (e *entry, done func(), err error) {
	proxy, kubeconfig, err := s.proxy(0)
	if err != nil {
		return nil, nil, err
	}
	e = &entry{stage: s, options: o, set: set, kubeconfig: kubeconfig}
	if e.target, err = s.flip(ctx, set, nil); err == nil {
		e.witness, err = s.watch(ctx, set, e.target)
	}
	if err != nil {
		proxy.Close()
		return nil, nil, err
	}
	return e, func() {
		if e.process != nil {
			e.process.stop()
		}
		e.witness.cancel()
		proxy.Close()
	}, nil
}

// crash has the pass begin, kills the controller and starts it again.
func (r *restarted) crash(ctx context.Context, e *entry) (err error) {
	if e.process, err = startMoult()(ctx, e); err != nil {
		return err
	}
	if err := builders.Update(ctx, e.cp.Config, e.set.crdName(), optIn); err != nil {
		return err
	}
	half := int(e.options.KillAt * float64(r.Objects))
	saw, err := e.witness.until(ctx, patience(r.Objects), "the moment of the crash", func(s sighting) bool { return s.Rewritten >= half })
	if err != nil {
		return e.process.failed(err)
	}
	e.process.stop()
	r.KilledAfter = saw.Rewritten
	if e.process, err = startMoult()(ctx, e); err != nil {
		return err
	}
	saw, err = e.witness.until(ctx, patience(r.Objects), "the trim", func(s sighting) bool { return !s.Trimmed.IsZero() })
	if err != nil {
		return e.process.failed(err)
	}
	r.WritesPerObject, r.StaleAtTrim = float64(saw.Writes)/float64(r.Objects), saw.StaleAtTrim
	return nil
}

// passAgain has the CRD opted out and in again, so that the controller knows nothing of it.
func (r *restarted) passAgain(ctx context.Context, e *entry) error {
	if err := optOut(ctx, e); err != nil {
		return err
	}
	e.witness.cancel()
	again, err := e.stage.watch(ctx, e.set, e.target)
	if err != nil {
		return err
	}
	e.witness = again
	before, err := e.scrape(ctx)
	if err != nil {
		return err
	}
	if err := builders.Update(ctx, e.cp.Config, e.set.crdName(), optIn); err != nil {
		return err
	}
	saw, err := again.until(ctx, patience(r.Objects), "the second pass", func(s sighting) bool {
		return !s.Reasons[v1alpha1.ReasonMigrated].IsZero()
	})
	if err != nil {
		return e.process.failed(err)
	}
	after, err := e.scrape(ctx)
	r.SecondPassRequests = (after.requests[e.set.gr.Group] - before.requests[e.set.gr.Group]) / float64(r.Objects)
	r.SecondPassWrites = saw.Writes
	return err
}
