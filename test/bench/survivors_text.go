package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

const surveyLegend = `
moult         as moult-controller --references looks: metadata in pages, and whole objects only where a place needs them
everything    as moult survivors --everything: all objects whole, in pages
whole lists   as a script does it: each resource whole, in one answer
more          the most resident memory in MiB beside that of the idle process, of all rounds; all else is the median
of moult      the way's number, divided by moult's
at once       requests under way at a time; lists: how often the list of a resource was begun, a first page that was too large included
p99           of a client that reads 20 and writes 5 objects a second of another CRD: before the look → during it, in ms
`

// text is the result as people read it.
func (r *surveyed) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %s\n%d objects, those of %d CRDs, ConfigMaps and ControllerRevisions; %d of them have to be read whole\n\n", r.Machine, r.Server, r.Objects, r.CRDs, r.Whole)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "way\tseconds\tof moult\tidle\tmore\tof moult\trequests\tat once\tlists\town CPU s\tserver CPU s\tof moult\tp99 ms\t")
	for _, l := range r.Looks {
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%.0f\t%.0f\t%s\t%d\t%d\t%d\t%.1f\t%.1f\t%s\t%.0f → %.0f\t\n", l.Way,
			l.Seconds, r.ofMoult(l, func(l *survey) float64 { return l.Seconds }),
			l.Before, l.More, r.ofMoult(l, func(l *survey) float64 { return l.More }),
			l.Requests, l.AtOnce, l.Lists,
			l.CPU, l.ServerCPU, r.ofMoult(l, func(l *survey) float64 { return l.ServerCPU }), l.P99Before, l.P99During)
	}
	_ = w.Flush()
	b.WriteString(surveyLegend)
	return b.String()
}

// ofMoult is a number of a way, divided by Moult's.
func (r *surveyed) ofMoult(l *survey, value func(*survey) float64) string {
	for _, m := range r.Looks {
		if m.Way == ways[0].name && m != l && value(m) > 0 {
			return fmt.Sprintf("%.1f×", value(l)/value(m))
		}
	}
	return "–"
}
