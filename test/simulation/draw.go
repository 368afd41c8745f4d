package simulation

import (
	"cmp"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// Limits bound what a schedule may hold. What a write may be late by in all is Lag and the longest of Hold and
// Collection, and a list may show what is Age old: as long as they together stay below the settle time, Moult's
// assumption holds.
type Limits struct {
	Lag  time.Duration
	Hold time.Duration
	// Collection is how long a deletion of all objects may take, which may be longer than other requests.
	Collection time.Duration
	Age        time.Duration
	// Report is how long a write to the CRD's status may be under way. Nothing is assumed of it.
	Report time.Duration
	// Orphans is how long the Namespace of some objects may be gone; it stays if that is 0.
	Orphans time.Duration
	// Back is how far a restore of etcd may go back; there is none if it is 0.
	Back time.Duration
	// Faults are kills, lost answers, servers that are down.
	Faults bool
}

// Late is the latest that the world may be.
func (l Limits) Late() time.Duration { return l.Lag + max(l.Hold, l.Collection) + l.Age }

// horizon is about when the last event begins.
const horizon = 300 * time.Second

// objectNames are those that clients write to; the first ones are there from the beginning.
var objectNames = []string{"a", "b", "c", "d", "e"}

// Schedules draws schedules.
func Schedules(l Limits) *rapid.Generator[Schedule] {
	return rapid.Custom(func(t *rapid.T) Schedule {
		d := drawer{T: t, Limits: l}
		s := Schedule{
			Objects: rapid.IntRange(1, 4).Draw(t, "objects"),
			Servers: rapid.SliceOfN(rapid.Custom(d.server), 1, 3).Draw(t, "servers"),
			Seed:    rapid.Uint64().Draw(t, "seed"),
		}
		d.servers = len(s.Servers)
		s.Routes = rapid.SliceOfN(rapid.Custom(d.route), 1, 4).Draw(t, "routes")
		s.Processes = d.processes()
		changes := d.changes()
		for _, c := range changes {
			d.near = append(d.near, c.At)
		}
		writes := rapid.SliceOfN(rapid.Custom(d.write), 0, 12).Draw(t, "writes")
		s.Events = slices.Concat(changes, writes)
		if l.Faults {
			s.Events = append(s.Events, rapid.SliceOfN(rapid.Custom(d.fault), 0, 3).Draw(t, "faults")...)
		}
		if l.Orphans > 0 {
			s.Events = append(s.Events, rapid.SliceOfN(rapid.Custom(d.orphan), 0, 1).Draw(t, "orphans")...)
		}
		if l.Back > 0 {
			s.Events = append(s.Events, rapid.SliceOfN(rapid.Custom(d.restore), 0, 1).Draw(t, "restores")...)
			s.Processes = d.restarted(s)
		}
		slices.SortStableFunc(s.Events, func(a, b Event) int { return int(a.At - b.At) })
		return s
	})
}

// drawer draws the parts of a schedule.
type drawer struct {
	*rapid.T
	Limits
	servers int
	near    []time.Duration // when the CRD changes
}

// tick is the grain of what is drawn. A small remainder keeps any two things from happening at once.
const tick = 100 * time.Millisecond

func upTo(t *rapid.T, most time.Duration, what string) time.Duration {
	return time.Duration(rapid.Int64Range(0, int64(most/tick)).Draw(t, what)) * tick
}

func (d drawer) server(t *rapid.T) Server { return Server{Lag: upTo(t, d.Lag, "lag")} }

func (d drawer) route(t *rapid.T) Route {
	r := Route{Server: rapid.IntRange(0, d.servers-1).Draw(t, "server")}
	if rapid.Bool().Draw(t, "slow") {
		r.Hold = upTo(t, d.Hold, "hold")
		r.Report = upTo(t, d.Report, "report")
	}
	r.Age = upTo(t, d.Age, "age")
	r.Expires = d.Faults && rapid.Bool().Draw(t, "expires")
	return r
}

// processes take over from one another, sometimes before the former has gone, sometimes long after.
func (d drawer) processes() []Process {
	var all []Process
	if d.Faults {
		all = rapid.SliceOfN(rapid.Custom(d.process), 0, 2).Draw(d.T, "killed")
	}
	all = append(all, rapid.Custom(d.process).Draw(d.T, "last"))
	for i := range all {
		if i > 0 {
			before := all[i-1]
			all[i].From = max(0, all[i].From+before.From+before.For-overlap)
		}
	}
	all[len(all)-1].For = 0
	return all
}

// overlap is for how long at most a process goes on when the next one has started.
const overlap = 30 * time.Second

func (d drawer) process(t *rapid.T) Process {
	return Process{
		From:  upTo(t, 3*overlap, "from"),
		For:   time.Second + upTo(t, horizon/2, "for"),
		Sight: upTo(t, 30*time.Second, "sight"),
		Skew:  time.Duration(rapid.IntRange(-48, 48).Draw(t, "skew")) * time.Hour,
	}
}

// changes are those of the CRD; some are taken back soon.
func (d drawer) changes() (all []Event) {
	at, storage := time.Duration(0), versions[0]
	for _, c := range rapid.SliceOfN(rapid.Custom(d.change), 1, 5).Draw(d.T, "changes") {
		at += c.At
		c.At = at
		all = append(all, c)
		if c.Kind == Flip && rapid.IntRange(0, 3).Draw(d.T, "back") == 3 {
			at += upTo(d.T, 3*time.Second, "back by")
			all = append(all, Event{At: at, Kind: Flip, Version: storage})
		} else {
			storage = cmp.Or(c.Version, storage)
		}
	}
	return all
}

// change comes some time after the change before it: at once, while that is being settled, or when all is proved.
func (d drawer) change(t *rapid.T) Event {
	later := rapid.SampledFrom([]time.Duration{3 * time.Second, horizon / 3, horizon / 3}).Draw(t, "later")
	e := Event{
		At:   upTo(t, later, "by"),
		Kind: rapid.SampledFrom([]Kind{Flip, Flip, Flip, Edit, Edit, Edit, Trick, Doubt, Recreate}).Draw(t, "change"),
	}
	if e.Kind == Flip || e.Kind == Recreate {
		e.Version = rapid.SampledFrom([]string{"v1", "v1", "v1", "v1beta1", "v1alpha1"}).Draw(t, "version")
	}
	return e
}

// moment is near a change of the CRD more often than not: just before, so that what begins then is still under way at
// the change, or while servers lag.
func (d drawer) moment(t *rapid.T, underWay time.Duration) time.Duration {
	if rapid.IntRange(0, 3).Draw(t, "apart") == 0 {
		return upTo(t, horizon, "at")
	}
	change := rapid.SampledFrom(d.near).Draw(t, "near")
	if rapid.Bool().Draw(t, "before") {
		return max(0, change-upTo(t, underWay, "by"))
	}
	return change + upTo(t, d.Lag+time.Second, "by")
}

func (d drawer) write(t *rapid.T) Event {
	kinds, longest := []Kind{Update, Update, Update, Put, Touch, Delete}, d.Hold
	if d.Collection > 0 {
		kinds = append(kinds, DeleteAll, DeleteAll)
	}
	e := Event{Kind: rapid.SampledFrom(kinds).Draw(t, "write")}
	if e.Kind == DeleteAll {
		longest = d.Collection
	} else {
		e.Object = rapid.SampledFrom(objectNames).Draw(t, "object")
	}
	e.At = d.moment(t, longest)
	e.Server = rapid.IntRange(0, d.servers-1).Draw(t, "server")
	e.Hold = upTo(t, longest, "hold")
	if e.Kind == DeleteAll && rapid.Bool().Draw(t, "to the end") {
		e.Hold = longest
	}
	return e
}

func (d drawer) orphan(t *rapid.T) Event {
	return Event{
		Kind: Orphan, At: d.moment(t, d.Hold), For: tick + upTo(t, d.Orphans, "for"), Emptied: rapid.Bool().Draw(t, "emptied"),
	}
}

func (d drawer) restore(t *rapid.T) Event {
	e := Event{Kind: Restore, At: upTo(t, horizon, "at"), Bumped: rapid.Bool().Draw(t, "bumped")}
	if rapid.Bool().Draw(t, "before a change") {
		e.At = max(0, rapid.SampledFrom(d.near).Draw(t, "near")-upTo(t, overlap, "by"))
	}
	e.Back = upTo(t, min(d.Back, e.At), "back")
	return e
}

// restarted are the processes if each restore that does not raise the revisions is followed by a restart of them all.
func (d drawer) restarted(s Schedule) []Process {
	all := s.Processes
	for _, e := range s.Events {
		if e.Kind != Restore || e.Bumped {
			continue
		}
		at := e.At + time.Second + upTo(d.T, overlap, "restarted by")
		for i := range all {
			if p := &all[i]; p.From < at && (p.For == 0 || p.From+p.For > at) {
				p.For = at - p.From
			}
		}
		next := rapid.Custom(d.process).Draw(d.T, "restarted")
		next.From, next.For = at+time.Second, 0
		all = append(slices.DeleteFunc(all, func(p Process) bool { return p.From >= at }), next)
	}
	return all
}

func (d drawer) fault(t *rapid.T) Event {
	e := Event{At: d.moment(t, d.Hold), Kind: rapid.SampledFrom([]Kind{Down, Lose, Blind}).Draw(t, "fault")}
	if e.Kind == Blind {
		e.For = upTo(t, overlap, "for")
	} else {
		e.Server = rapid.IntRange(0, d.servers-1).Draw(t, "server")
		e.For = upTo(t, 90*time.Second, "for")
	}
	return e
}
