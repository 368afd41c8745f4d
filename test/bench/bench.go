package main

import (
	"context"
	"slices"
	"time"
)

// bench is the table under way.
type bench struct {
	options    *options
	stage      *stage
	foreground *foreground
	workers    map[time.Duration]int // of the ceiling, by round-trip time
}

// runTable is the benchmark itself: every contender at every round-trip time, in rounds, and then those that trim with
// an API server that lags.
func runTable(ctx context.Context, o *options) error {
	entrants, err := o.entrants()
	if err != nil {
		return err
	}
	s, report, err := open(ctx, o, entrants)
	if err != nil {
		return err
	}
	defer s.close()
	b := &bench{options: o, stage: s, workers: map[time.Duration]int{}}
	if b.foreground, err = s.startForeground(ctx); err != nil {
		return err
	}
	laps := len(o.RTT) * o.Rounds * len(entrants)
	for _, rtt := range o.RTT {
		roundTrip := time.Duration(rtt) * time.Millisecond
		if b.workers[roundTrip] = o.Workers; o.Workers == 0 && slices.Contains(entrants, &ceiling) {
			if b.workers[roundTrip], err = b.bestWorkers(ctx, roundTrip); err != nil {
				return err
			}
		}
		for round := range o.Rounds {
			for _, c := range rotate(entrants, round, o.Rounds) {
				l, err := b.lap(ctx, c, roundTrip, round+1)
				if err != nil {
					return err
				}
				report.Laps = append(report.Laps, l)
				s.say("%2d of %d, +%2d ms, round %d: %-12s %6.0f objects/s, %d objects", len(report.Laps), laps, rtt, round+1, c.name, l.Rate, l.Objects)
			}
		}
	}
	b.foreground.stop()
	if o.LagRuns > 0 {
		if report.Twice, err = runTwice(ctx, s, o, entrants); err != nil {
			return err
		}
	}
	if report.Lags, err = runLags(ctx, s, o, entrants); err != nil {
		return err
	}
	return report.finish(o)
}
