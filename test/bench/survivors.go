package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// surveyed is what it costs to look through a cluster for what names versions that are to go, in each way to do it.
type surveyed struct {
	Machine, Server string
	// Objects are those of this benchmark, and Whole those among them that no metadata are enough for.
	Objects, CRDs, Whole int
	Looks                []*survey
}

// survey is one way to look: the medians of its rounds, and the most memory of all.
type survey struct {
	Way    string
	Rounds int
	// Seconds is how long it took, and CPU and ServerCPU how many seconds of a core its process and the API server took.
	Seconds, CPU, ServerCPU float64
	// Before is the process when it is ready, More what it takes beside that while it looks; resident memory in MiB.
	Before, More float64
	// Requests are all, AtOnce the most that were under way at a time, and Lists the most that were begun of a resource.
	Requests, AtOnce, Lists int
	// P99Before and P99During are in milliseconds, of a client that reads 20 and writes 5 objects a second of another CRD.
	P99Before, P99During float64
}

// way is one to look through a cluster.
type way struct{ name, child string }

// ways are Moult's as the controller looks, Moult's that reads everything, and what a script does: every resource, whole and
// in one answer.
var ways = []way{{"moult", "survivors"}, {"everything", "survivors-everything"}, {"whole lists", "survivors-at-once"}}

func wayNames() []string {
	names := make([]string, len(ways))
	for i, w := range ways {
		names[i] = w.name
	}
	return names
}

func waysNamed(names []string) ([]way, error) {
	var found []way
	for _, name := range names {
		at := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
		if at < 0 {
			return nil, fmt.Errorf("no way to look is called %q; there are %q", name, wayNames())
		}
		found = append(found, ways[at])
	}
	return found, nil
}

func runSurvivors(ctx context.Context, o *options) error {
	r, err := lookThrough(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(r.text())
	return writeJSON(o.json, r)
}

// lookThrough fills a control plane and looks through it in all ways, each time in a process of its own.
func lookThrough(ctx context.Context, o *options) (*surveyed, error) {
	asked, err := waysNamed(o.Only)
	if err != nil {
		return nil, err
	}
	s, report, err := open(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f, err := s.startForeground(ctx)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	p := planted(o.Objects, o.Resources)
	began := time.Now()
	if err := p.fill(ctx, s, o.Large); err != nil {
		return nil, err
	}
	s.say("%d objects of %d CRDs are created after %.0f s", p.objects(), len(p.crds), time.Since(began).Seconds())
	r := &surveyed{Machine: report.Machine, Server: report.Server, Objects: p.objects(), CRDs: len(p.crds), Whole: p.whole()}
	r.Looks, err = s.surveys(ctx, o, asked, p, f)
	return r, err
}

func (s *stage) surveys(ctx context.Context, o *options, asked []way, p *plants, f *foreground) (all []*survey, err error) {
	rounds := map[way][]*survey{}
	for round := range o.Rounds {
		for _, w := range rotate(asked, round, o.Rounds) {
			one, err := s.survey(ctx, w, p, f)
			if err != nil {
				return nil, err
			}
			s.say("round %d: %-12s %5.1f s, %6d requests, %4.0f MiB more", round+1, w.name, one.Seconds, one.Requests, one.More)
			rounds[w] = append(rounds[w], one)
		}
	}
	for _, w := range asked {
		if len(rounds[w]) > 0 {
			all = append(all, inTheMiddle(rounds[w]))
		}
	}
	return all, nil
}

// survey is one look, in a process of its own.
func (s *stage) survey(ctx context.Context, w way, p *plants, f *foreground) (*survey, error) {
	proxy, kubeconfig, err := s.proxy(0)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	e := &entry{stage: s, set: &objectSet{gr: p.crds[0].gr}, target: oldest, kubeconfig: kubeconfig}
	if e.process, err = child(ctx, e, w.child, strings.Join(p.names(), ",")); err != nil {
		return nil, err
	}
	defer e.process.stop()
	read := func() reading {
		r, scraped := s.scrape(ctx)
		err = errors.Join(err, scraped)
		r.own = e.process.usage()
		return r
	}
	calm := read()
	time.Sleep(3 * time.Second)
	begun := read()
	if err := errors.Join(err, sayGo(ctx, e)); err != nil {
		return nil, err
	}
	line, failed := e.process.answer(ctx, patience(p.objects()))
	ended := read()
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	answer, err := p.judge(w, line)
	if err != nil {
		return nil, err
	}
	return answer.told(w, f, calm, begun, ended), nil
}

// judge reads what a way to look has answered, and checks that it has found what was planted.
func (p *plants) judge(w way, line string) (*sought, error) {
	answer := &sought{}
	if err := json.Unmarshal([]byte(line), answer); err != nil {
		return nil, fmt.Errorf("%s answers %q: %w", w.name, line, err)
	}
	if there := p.found(); !maps.Equal(answer.Found, there) {
		return nil, fmt.Errorf("%s has found %v; there are %v", w.name, answer.Found, there)
	}
	return answer, nil
}

// told makes the numbers.
func (a *sought) told(w way, f *foreground, calm, begun, ended reading) *survey {
	idle := (begun.serverCPU - calm.serverCPU) / begun.at.Sub(calm.at).Seconds()
	before, _ := f.between(calm.at, begun.at)
	during, _ := f.between(begun.at, ended.at)
	return &survey{
		Way: w.name, Seconds: a.Seconds, CPU: (ended.own.CPU - begun.own.CPU).Seconds(),
		ServerCPU: ended.serverCPU - begun.serverCPU - idle*ended.at.Sub(begun.at).Seconds(),
		Before:    mebibytes(begun.own.RSS), More: mebibytes(ended.own.PeakRSS - begun.own.RSS),
		Requests: a.Requests, AtOnce: a.AtOnce, Lists: a.Lists,
		P99Before: percentile(before, 0.99), P99During: percentile(during, 0.99),
	}
}

// inTheMiddle is the median of the rounds of one way, and the most of what is to stay below a bound.
func inTheMiddle(rounds []*survey) *survey {
	middle := func(value func(*survey) float64) float64 {
		values := make([]float64, len(rounds))
		for i, r := range rounds {
			values[i] = value(r)
		}
		return median(values)
	}
	m := &survey{
		Way: rounds[0].Way, Rounds: len(rounds),
		Seconds:   middle(func(r *survey) float64 { return r.Seconds }),
		CPU:       middle(func(r *survey) float64 { return r.CPU }),
		ServerCPU: middle(func(r *survey) float64 { return r.ServerCPU }),
		Before:    middle(func(r *survey) float64 { return r.Before }),
		P99Before: middle(func(r *survey) float64 { return r.P99Before }),
		P99During: middle(func(r *survey) float64 { return r.P99During }),
	}
	for _, r := range rounds {
		m.More = max(m.More, r.More)
		m.Requests, m.AtOnce, m.Lists = max(m.Requests, r.Requests), max(m.AtOnce, r.AtOnce), max(m.Lists, r.Lists)
	}
	return m
}
