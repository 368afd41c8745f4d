package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
)

// report is everything that was measured; the JSON is this.
type report struct {
	Began   time.Time
	Machine string
	Server  string
	Options *options
	Laps    []*lap
	Summary []*row
	Twice   []*repeated `json:",omitempty"`
	Lags    []*lagged   `json:",omitempty"`

	entrants  []*contender
	tookInAll time.Duration
}

// row is a contender at a round-trip time: the median of all rounds, unless it says otherwise.
type row struct {
	Contender string
	RTT       int
	Rounds    int
	Objects   int
	Rate      number
	// OfCeiling is the rate divided by the ceiling's, Ahead is Moult's divided by this one's and FullAhead moult-full's:
	// medians of the ratios in each round.
	OfCeiling, Ahead, FullAhead                                     number
	StartsAfter, StoredAfter, TrimmedAfter                          number
	Requests, OtherRequests, Up, Down, ServerCPU, CPU, PeakRSS, RSS number
	Writes, CheckSeconds, CheckRequests, CheckCPU                   number
	// StaleAtTrim is the most of all rounds.
	StaleAtTrim number
	// P99Before is of all quiet times at this round-trip time, before whichever contender, and P99During of all rounds'
	// passes together; Samples are those of the latter.
	P99Before, P99During, P99Check number
	Samples                        int
}

// open checks that everything is there and starts the control plane.
func open(ctx context.Context, o *options, entrants []*contender) (*stage, *report, error) {
	s, err := newStage(o.Size, os.Stderr)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.equip(ctx, o, entrants)
	if err != nil {
		_ = s.close()
	}
	return s, r, err
}

func (s *stage) equip(ctx context.Context, o *options, entrants []*contender) (*report, error) {
	var err error
	if slices.Contains(entrants, &moult) || slices.Contains(entrants, &moultFull) {
		if s.moult, err = buildMoult(ctx, o.Moult, s.dir); err != nil {
			return nil, err
		}
	}
	if slices.Contains(entrants, &inTree) {
		if s.controllerManager, err = controllerManager(o.ControllerManager); err != nil {
			return nil, err
		}
	}
	client, err := discovery.NewDiscoveryClientForConfig(s.cp.Config)
	if err != nil {
		return nil, err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, err
	}
	return &report{
		Began: time.Now().UTC().Truncate(time.Second), Machine: machine(), Server: "kube-apiserver " + version.GitVersion,
		Options: o, entrants: entrants,
	}, nil
}

func machine() string {
	model := "unknown processor"
	if content, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, rest, found := strings.Cut(string(content), "model name\t: ")
		if found {
			model, _, _ = strings.Cut(rest, "\n")
		}
	}
	return fmt.Sprintf("%s/%s, %d cores, %s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, runtime.Version())
}

// finish prints the table and writes the JSON, if one is asked for.
func (r *report) finish(o *options) error {
	r.tookInAll = time.Since(r.Began)
	for _, rtt := range o.RTT {
		for _, c := range r.entrants {
			if laps := r.lapsOf(c.name, rtt); len(laps) > 0 {
				r.Summary = append(r.Summary, r.summarize(c.name, rtt, laps))
			}
		}
	}
	fmt.Print(r.text())
	return writeJSON(o.json, r)
}

func writeJSON(file string, what any) error {
	if file == "" {
		return nil
	}
	content, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

func (r *report) lapsOf(contender string, rtt int) (found []*lap) {
	for _, l := range r.Laps {
		if l.Contender == contender && l.RTT == rtt {
			found = append(found, l)
		}
	}
	return found
}

func (r *report) summarize(name string, rtt int, laps []*lap) *row {
	of := func(value func(*lap) float64) number {
		values := make([]float64, len(laps))
		for i, l := range laps {
			values[i] = value(l)
		}
		return number(median(values))
	}
	s := &row{
		Contender: name, RTT: rtt, Rounds: len(laps), Objects: laps[0].Objects,
		Rate:          of(func(l *lap) float64 { return l.Rate }),
		StartsAfter:   of(func(l *lap) float64 { return float64(l.StartsAfter) }),
		StoredAfter:   of(func(l *lap) float64 { return float64(l.StoredAfter) }),
		TrimmedAfter:  of(func(l *lap) float64 { return float64(l.TrimmedAfter) }),
		Requests:      of(func(l *lap) float64 { return l.Requests }),
		OtherRequests: of(func(l *lap) float64 { return l.OtherRequests }),
		Up:            of(func(l *lap) float64 { return l.Up }),
		Down:          of(func(l *lap) float64 { return l.Down }),
		ServerCPU:     of(func(l *lap) float64 { return l.ServerCPU }),
		CPU:           of(func(l *lap) float64 { return l.CPU }),
		RSS:           of(func(l *lap) float64 { return l.RSS }),
		PeakRSS:       of(func(l *lap) float64 { return l.PeakRSS }),
		Writes:        of(func(l *lap) float64 { return l.Writes }),
		CheckSeconds:  of(func(l *lap) float64 { return float64(l.CheckSeconds) }),
		CheckRequests: of(func(l *lap) float64 { return float64(l.CheckRequests) }),
		CheckCPU:      of(func(l *lap) float64 { return float64(l.CheckCPU) }),
		P99Check:      of(func(l *lap) float64 { return float64(l.P99Check) }),
		OfCeiling:     number(median(r.ratios(laps, r.lapsOf(ceiling.name, rtt)))),
		Ahead:         number(median(r.ratios(r.lapsOf(moult.name, rtt), laps))),
		FullAhead:     number(median(r.ratios(r.lapsOf(moultFull.name, rtt), laps))),
		StaleAtTrim:   laps[0].StaleAtTrim,
	}
	var during, before []float64
	for _, l := range laps {
		s.StaleAtTrim = max(s.StaleAtTrim, l.StaleAtTrim)
		during = append(during, l.during...)
	}
	for _, l := range r.Laps {
		if l.RTT == rtt {
			before = append(before, l.before...)
		}
	}
	s.P99Before, s.P99During, s.Samples = number(percentile(before, 0.99)), number(percentile(during, 0.99)), len(during)
	return s
}

// ratios are those of the rates in the rounds that both took part in.
func (r *report) ratios(laps, others []*lap) (ratios []float64) {
	for _, l := range laps {
		for _, other := range others {
			if l.Round == other.Round {
				ratios = append(ratios, l.Rate/other.Rate)
			}
		}
	}
	return ratios
}
