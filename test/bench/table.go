package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
)

const legend = `
objects/s     from the first object stored at the new version to the last one; median of the rounds
of ceiling    that, divided by the ceiling's: bare empty merge patches, as many at once as is best
Moult is      Moult's objects/s, divided by this contender's; median of the ratios in each round; "full" is moult-full's
moult-full    the same controller with --max-in-flight=100 --max-queued=100, which leaves nothing for other clients
req           requests per object until all are stored, as the API server counts them, lists included
up, down      bytes per object on the wire until all are stored, TLS included
server, own   CPU milliseconds per object of the API server, less what it takes when nothing is migrated, and of the contender
RSS           the most resident memory in MiB; in-tree's is a kube-controller-manager with its garbage collector
stale         objects stored at the old version when storedVersions named it no more; the most of all rounds
p99           of a client that reads 20 and writes 5 objects a second of another CRD: before the passes → during this one
Contenders with one request under way get fewer objects at a long round-trip time: their rate does not depend on it.
None has a limit on its requests, as some have by default (40/s list+put, 100/s cluster-api, 400/s in-tree, which keeps it).
`

// text is the report as people read it.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %s\n", r.Machine, r.Server)
	if len(r.Laps) > 0 {
		fmt.Fprintf(&b, "%d objects of about %d bytes, %d rounds, moult-controller --settle %s, %s in all\n",
			r.Options.Objects, r.Options.Size, r.Options.Rounds, r.Options.Settle, r.tookInAll.Round(1e9))
	}
	last := -1
	for i, s := range r.Summary {
		if s.RTT != last {
			fmt.Fprintf(&b, "\n+%d ms round-trip time%s\n", s.RTT, r.ceilingAt(s.RTT))
			last = s.RTT
			r.table(&b, i)
		}
	}
	r.moultText(&b)
	r.lagText(&b)
	if len(r.Laps) > 0 {
		b.WriteString(legend)
	}
	return b.String()
}

func (r *report) ceilingAt(rtt int) string {
	if laps := r.lapsOf(ceiling.name, rtt); len(laps) > 0 {
		return fmt.Sprintf("; the ceiling has %d requests under way", laps[0].Workers)
	}
	return ""
}

// table prints the rows of one round-trip time, which begin at an index.
func (r *report) table(b *strings.Builder, begin int) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "contender\tobjects\tobjects/s\tof ceiling\tMoult is\tfull\treq\tup\tdown\tserver ms\town ms\tRSS\tstale\tp99 ms\t")
	for _, s := range r.Summary[begin:] {
		if s.RTT != r.Summary[begin].RTT {
			break
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s → %s\t\n", s.Contender, s.Objects,
			s.Rate.text(0, ""), s.OfCeiling.text(2, ""), s.Ahead.text(2, "×"), s.FullAhead.text(2, "×"), s.Requests.text(2, ""), s.Up.text(0, ""), s.Down.text(0, ""),
			s.ServerCPU.text(2, ""), s.CPU.text(2, ""), s.PeakRSS.text(0, ""), s.StaleAtTrim.text(0, ""), s.P99Before.text(0, ""), s.P99During.text(0, ""))
	}
	_ = w.Flush()
}

// moultText tells of what only Moult does: the check.
func (r *report) moultText(b *strings.Builder) {
	for _, s := range r.Summary {
		if math.IsNaN(float64(s.CheckRequests)) {
			continue
		}
		fmt.Fprintf(b, "\n%s at +%d ms: all stored after %s s; then the check of every object: %s s, %s requests and %s CPU milliseconds of the API server per object; trimmed after %s s; p99 in the check %s ms; %s writes per object in all",
			s.Contender, s.RTT, s.StoredAfter.text(1, ""), s.CheckSeconds.text(1, ""), s.CheckRequests.text(2, ""), s.CheckCPU.text(2, ""), s.TrimmedAfter.text(1, ""), s.P99Check.text(0, ""), s.Writes.text(2, ""))
	}
	b.WriteString("\n")
}

func (r *report) lagText(b *strings.Builder) {
	for i, t := range r.Twice {
		if i == 0 {
			b.WriteString("\nTwo migrations of one CRD in a row, there and back: stale objects at the first trim and at the second\n")
		}
		fmt.Fprintf(b, "  %-12s %v of %d\n", t.Contender, t.StaleAtTrim, t.Objects)
	}
	if len(r.Lags) == 0 {
		return
	}
	fmt.Fprintf(b, "\nAn API server that stands still for %s across the flip, with writers at the old version: stale objects at the trim (most later), by run\n", standstill)
	for _, c := range r.entrants {
		var runs []string
		for _, l := range r.Lags {
			if l.Contender == c.name {
				runs = append(runs, fmt.Sprintf("%d (%d)", l.StaleAtTrim, l.StaleLater))
			}
		}
		if len(runs) > 0 {
			fmt.Fprintf(b, "  %-12s %s\n", c.name, strings.Join(runs, ", "))
		}
	}
}

// text is the number with this many decimals and a unit, or a dash when there is none.
func (n number) text(decimals int, unit string) string {
	if math.IsNaN(float64(n)) {
		return "–"
	}
	return fmt.Sprintf("%.*f%s", decimals, float64(n), unit)
}
