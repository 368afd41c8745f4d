package main

import (
	"context"
	"fmt"
	"time"
)

// repeated is two migrations of one CRD in a row by the same process, there and back, with nothing else going on.
type repeated struct {
	Contender string
	Objects   int
	// StaleAtTrim counts, for each of the two, the objects not stored at the new version when storedVersions named
	// nothing else.
	StaleAtTrim []int
}

func runTwice(ctx context.Context, s *stage, o *options, entrants []*contender) ([]*repeated, error) {
	var all []*repeated
	for _, c := range entrants {
		if !c.trims || c.variant {
			continue
		}
		r, err := s.twice(ctx, o, c)
		if err != nil {
			return nil, fmt.Errorf("%s, twice: %w", c.name, err)
		}
		s.say("two migrations in a row: %-12s %v stale at the trim, of %d", c.name, r.StaleAtTrim, r.Objects)
		all = append(all, r)
	}
	return all, nil
}

func (s *stage) twice(ctx context.Context, o *options, c *contender) (*repeated, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	set, err := s.newSet(ctx, fmt.Sprintf("twice.%s.example.com", c.name), o.LagObjects)
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
	if e.process, err = c.start(ctx, e); err != nil {
		return nil, err
	}
	defer e.process.stop()
	time.Sleep(2 * time.Second)
	r := &repeated{Contender: c.name, Objects: set.objects}
	for range 2 {
		stale, err := e.migrate(ctx, c)
		if err != nil {
			return nil, err
		}
		r.StaleAtTrim = append(r.StaleAtTrim, stale)
	}
	return r, nil
}

// migrate flips the storage version and has the process migrate. It returns how many objects were stale at the trim.
func (e *entry) migrate(ctx context.Context, c *contender) (stale int, err error) {
	e.target = e.set.other()
	if e.witness, err = e.watch(ctx, e.set, e.target); err != nil {
		return 0, err
	}
	defer e.witness.cancel()
	if _, err := e.flip(ctx, e.set, c.release); err != nil {
		return 0, err
	}
	if c.begin != nil {
		if err := c.begin(ctx, e); err != nil {
			return 0, err
		}
	}
	alive, done := e.process.during(ctx)
	defer done()
	saw, err := e.witness.until(alive, 3*time.Minute, "the trim", func(s sighting) bool { return !s.Trimmed.IsZero() })
	if err != nil {
		return 0, e.process.failed(err)
	}
	// It may still be at work, or have left some behind for good because it began before the flip had sunk in.
	_, _ = e.witness.until(alive, 20*time.Second, "the last object", func(s sighting) bool { return !s.Done.IsZero() })
	time.Sleep(time.Second) // it writes down that it is done
	e.set.stored = e.target
	return saw.StaleAtTrim, context.Cause(alive)
}
