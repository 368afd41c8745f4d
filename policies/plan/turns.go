package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Turns is how something of a CRD goes to and fro: one client sets it, and another sets it back, as a provider does that reconciles
// its CRDs. A fight outlives the process in the condition that names it.
type Turns struct {
	is, was string    // what it is, and what it was before
	by      string    // who made it so
	before  string    // who had made it what it was before
	at      time.Time // when that was seen
	count   int       // turns in a row that undid the one before
}

const (
	// undoneTwice is how many turns it takes: set, undone, set again, and undone again.
	undoneTwice = 3
	// turnsWithin is how long after a turn the next one undoes it. What stays for longer was no fight.
	turnsWithin = time.Hour
	// restsFor is how long something that was undone twice has to stay as it is before Moult goes by it.
	restsFor = 10 * time.Minute
)

// Seen is what is known once it is so, and who has made it so. Who undoes his own turn has changed his mind.
func (t Turns) Seen(is, by string, now time.Time) Turns {
	switch {
	case t.is == "":
		return Turns{is: is, by: by, at: now}
	case is == t.is:
		return t
	}
	next := Turns{is: is, was: t.is, by: by, before: t.by, at: now}
	if is == t.was && !own(by, t.by) && now.Sub(t.at) < turnsWithin {
		next.count = t.count + 1
	}
	return next
}

// own reports whether the one who made a turn, and perhaps when, is the one who made the turn before, alone.
func own(by, before string) bool { return by == before || strings.HasPrefix(by, before+" at ") }

// UndoneTwice reports whether it was undone twice.
func (t Turns) UndoneTwice() bool { return t.count >= undoneTwice }

// Over reports whether the last turn was so long ago that none can undo it.
func (t Turns) Over(now time.Time) bool { return now.Sub(t.at) >= turnsWithin }

// fought reports whether it was undone twice, of late, and until when it has to stay.
func (t Turns) fought(now time.Time) (until time.Time, fought bool) {
	until = t.at.Add(restsFor)
	return until, t.UndoneTwice() && now.Before(until)
}

// flipFight and labelFight are how a fight is named, and Resumed reads them.
const (
	flipFight  = "the storage version goes to and fro: %s set it to %s, and %s set it to %s, again and again"
	labelFight = "the opt-in label goes to and fro: %s took it off, and %s set it, again and again"
)

var (
	flipFought  = patternOf(flipFight)
	labelFought = patternOf(labelFight)
)

func patternOf(format string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(format), "%s", "(.+)"))
}

// Resumed are the turns of a fight that an earlier process has named. When it saw the last one is not known, so the rest begins now.
func Resumed(message string, now time.Time) (flips, labels Turns) {
	if m := flipFought.FindStringSubmatch(message); m != nil {
		flips = Turns{before: m[1], was: m[2], by: m[3], is: m[4], at: now, count: undoneTwice}
	}
	if m := labelFought.FindStringSubmatch(message); m != nil {
		labels = Turns{before: m[1], was: "off", by: m[2], is: "on", at: now, count: undoneTwice}
	}
	return flips, labels
}

// undone: one client sets the storage version, and another sets it back. Objects that are rewritten each time would be rewritten
// for ever, and no write of Moult's can end it.
func undone(o Observation) (Decision, bool) {
	if until, fought := o.Flips.fought(o.Now); fought {
		return fight(until, flipFight, o.Flips.before, o.Flips.was, o.Flips.by, o.Flips.is), true
	}
	if until, fought := o.Labels.fought(o.Now); fought {
		return fight(until, labelFight, o.Labels.before, o.Labels.by), true
	}
	return Decision{}, false
}

func fight(until time.Time, format string, args ...any) Decision {
	d := hold(v1alpha1.ReasonUndone, format+"; nothing is rewritten until it has stayed for %s", append(args, minutes(restsFor))...)
	d.Until = until
	return d
}

func minutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }
