package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// lap is what one run of one contender has shown. Not-a-number, null in JSON, is what does not apply.
type lap struct {
	Contender string
	RTT       int // extra milliseconds
	Round     int
	Objects   int
	Workers   int `json:",omitempty"` // of the ceiling

	// Rate is the objects per second from the first object that is stored at the new version to the last one.
	Rate float64
	// StartsAfter, StoredAfter and TrimmedAfter are seconds from when it is told to begin to the first object, the
	// last one and the trim of storedVersions.
	StartsAfter, StoredAfter number
	TrimmedAfter             number
	// Requests for the objects, and bytes up and down on the wire, per object, until all are stored; OtherRequests in all.
	Requests, Up, Down, OtherRequests float64
	// ServerCPU and CPU are milliseconds of the API server's and of the contender's per object, until all are stored;
	// the API server's without what it takes when nothing is migrated.
	ServerCPU, CPU float64
	// IdleCPU is what the API server takes when nothing is migrated, in milliseconds per second.
	IdleCPU float64
	// RSS and PeakRSS are MiB: before it began, and the most until it ended.
	RSS, PeakRSS float64
	// Writes of objects per object, until the end.
	Writes float64
	// StaleAtTrim counts the objects not stored at the new version when storedVersions named nothing else.
	StaleAtTrim number
	// CheckSeconds and CheckRequests are those of Moult's check of every object, its proof, and CheckCPU the API
	// server's milliseconds per object for all that comes after the last object is stored.
	CheckSeconds, CheckRequests, CheckCPU number
	// P99Before and P99During are the foreground client's, in milliseconds, before the run and until all are stored;
	// P99Check until the trim. Failed counts its requests that failed.
	P99Before, P99During float64
	P99Check             number
	Failed               int

	before, during []float64
}

// lap runs one contender once.
func (b *bench) lap(ctx context.Context, c *contender, roundTrip time.Duration, round int) (*lap, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	set, err := b.stage.set(ctx, b.options.objectsFor(c, roundTrip))
	if err != nil {
		return nil, err
	}
	target, err := b.stage.flip(ctx, set, c.hold)
	if err != nil {
		return nil, err
	}
	proxy, kubeconfig, err := b.stage.proxy(roundTrip)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	e := &entry{stage: b.stage, options: b.options, set: set, target: target, kubeconfig: kubeconfig, workers: b.workers[roundTrip]}
	if e.witness, err = b.stage.watch(ctx, set, target); err != nil {
		return nil, err
	}
	defer e.witness.cancel()
	if e.process, err = c.start(ctx, e); err != nil {
		return nil, err
	}
	defer e.process.stop()

	read := func() (reading, error) {
		r, err := b.stage.scrape(ctx)
		r.up, r.down = proxy.Bytes()
		r.own = e.process.usage()
		return r, err
	}
	run := &course{contender: c, entry: e, read: read}
	alive, done := e.process.during(ctx)
	defer done()
	if err := run.through(alive, b.options.Quiet); err != nil {
		return nil, fmt.Errorf("%s at +%s: %w", c.name, roundTrip, err)
	}
	l := run.told(b.foreground)
	l.RTT, l.Round = int(roundTrip.Milliseconds()), round
	if c.end != nil {
		if err := c.end(ctx, e); err != nil {
			return nil, err
		}
	}
	return l, b.stage.settle(ctx, set, target)
}

// course is a lap under way, with what was read at its turns.
type course struct {
	contender *contender
	entry     *entry
	read      func() (reading, error)

	calm, begun, stored, ended reading
	saw                        sighting
}

func (r *course) through(ctx context.Context, quiet time.Duration) (err error) {
	e, c := r.entry, r.contender
	if err := e.warm(ctx, e.resource()); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // and its OpenAPI documents, which it does a little later
	if r.calm, err = r.read(); err != nil {
		return err
	}
	select {
	case <-time.After(quiet):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.begun, err = r.read(); err != nil {
		return err
	}
	r.begun.at = time.Now()
	if c.release != nil {
		if err := builders.Update(ctx, e.cp.Config, e.set.crdName(), c.release); err != nil {
			return err
		}
	}
	if c.begin != nil {
		if err := c.begin(ctx, e); err != nil {
			return err
		}
	}
	long := patience(e.set.objects)
	if r.saw, err = e.witness.until(ctx, long, "all objects are stored", func(s sighting) bool { return !s.Done.IsZero() }); err != nil {
		return e.process.failed(err)
	}
	if r.stored, err = r.read(); err != nil {
		return err
	}
	r.ended = r.stored
	if c.trims {
		if r.saw, err = e.witness.until(ctx, long, "the trim", func(s sighting) bool { return !s.Trimmed.IsZero() }); err != nil {
			return e.process.failed(err)
		}
		r.ended, err = r.read()
	}
	return err
}

// told makes the numbers.
func (r *course) told(f *foreground) *lap {
	n := float64(r.entry.set.objects)
	group := r.entry.set.gr.Group
	idle := (r.begun.serverCPU - r.calm.serverCPU) / r.begun.at.Sub(r.calm.at).Seconds()
	busy := func(from, to reading) float64 {
		return 1000 * (to.serverCPU - from.serverCPU - idle*to.at.Sub(from.at).Seconds()) / n
	}
	since := func(t time.Time) number { return number(t.Sub(r.begun.at).Seconds()) }
	l := &lap{
		Contender: r.contender.name, Objects: r.entry.set.objects,
		Rate:        (n - 1) / r.saw.Last.Sub(r.saw.First).Seconds(),
		StartsAfter: since(r.saw.First), StoredAfter: since(r.saw.Done),
		Requests:  (r.stored.requests[group] - r.begun.requests[group]) / n,
		Up:        float64(r.stored.up-r.begun.up) / n,
		Down:      float64(r.stored.down-r.begun.down) / n,
		ServerCPU: busy(r.begun, r.stored),
		CPU:       milliseconds(r.stored.own.CPU-r.begun.own.CPU) / n,
		RSS:       mebibytes(r.begun.own.RSS), PeakRSS: mebibytes(r.ended.own.PeakRSS),
		Writes:       float64(r.saw.Writes) / n,
		TrimmedAfter: none, StaleAtTrim: none, CheckSeconds: none, CheckRequests: none, CheckCPU: none, P99Check: none,
	}
	for other, count := range r.stored.requests {
		if other != group && other != foregroundGroup {
			l.OtherRequests += count - r.begun.requests[other]
		}
	}
	if r.contender == &ceiling {
		l.Workers = r.entry.workers
	}
	if r.contender.trims {
		l.TrimmedAfter, l.StaleAtTrim = since(r.saw.Trimmed), number(r.saw.StaleAtTrim)
	}
	if r.contender.proves {
		l.CheckRequests = number((r.ended.requests[group] - r.stored.requests[group]) / n)
		l.CheckCPU = number(busy(r.stored, r.ended))
		if began, seen := r.saw.Reasons[v1alpha1.ReasonVerifying]; seen {
			l.CheckSeconds = number(r.saw.Trimmed.Sub(began).Seconds())
			check, _ := f.between(began, r.saw.Trimmed)
			l.P99Check = number(percentile(check, 0.99))
		}
	}
	l.IdleCPU = 1000 * idle
	l.foreground(f, r)
	return l
}

func (l *lap) foreground(f *foreground, r *course) {
	before, failedBefore := f.between(r.calm.at, r.begun.at)
	during, failedDuring := f.between(r.saw.First, r.saw.Done)
	l.before, l.during, l.Failed = before, during, failedBefore+failedDuring
	l.P99Before, l.P99During = percentile(l.before, 0.99), percentile(l.during, 0.99)
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// number is a measurement that may be missing.
type number float64

var none = number(math.NaN())

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.4g", float64(n)), nil
}
