package repair

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/test/builders"
)

func TestWhenToLookForReferences(t *testing.T) {
	now, every := time.Unix(1_000_000, 0), 10*time.Minute
	s := subject{uid: "a", target: owners.Target{CRD: "widgets.example.com", Storage: "v1", Served: []string{"v1"}, Unserved: true}}
	asked, other, again, fewer, more := s, s, s, s, s
	more.asked, more.target.Leaving = true, []string{"v1alpha1", "v1beta1"}
	asked.asked, asked.target.Leaving = true, []string{"v1alpha1"}
	other.target.Storage = "v2"
	again.uid, fewer.listed = "b", []string{"v1"}
	before := func(s subject, o outcome, ago time.Duration, failures int) look {
		return look{subject: s, outcome: o, at: now.Add(-ago), failures: failures}
	}
	starts := func(s subject) decision { return decision{start: []subject{s}} }
	waits := func(d time.Duration) decision { return decision{until: now.Add(d)} }
	for name, c := range map[string]struct {
		subject  []subject
		last     look
		underWay []subject
		want     decision
	}{
		"nobody wants it":                           {},
		"for the first time":                        {subject: []subject{s}, want: starts(s)},
		"nothing was found, and nobody asks":        {subject: []subject{s}, last: before(s, none, time.Hour, 0)},
		"nothing was found, and somebody asks":      {subject: []subject{asked}, last: before(asked, none, time.Minute, 0), want: waits(9 * time.Minute)},
		"the interval is over":                      {subject: []subject{asked}, last: before(asked, none, every, 0), want: starts(asked)},
		"somebody asks now":                         {subject: []subject{asked}, last: before(s, none, time.Second, 0), want: starts(asked)},
		"somebody asked":                            {subject: []subject{s}, last: before(asked, none, time.Second, 0), want: decision{}},
		"somebody asks for more":                    {subject: []subject{more}, last: before(asked, none, time.Second, 0), want: starts(more)},
		"more was asked for each time":              {subject: []subject{more}, last: look{subject: asked, at: now.Add(-10 * time.Second), asks: 2}, want: waits(50 * time.Second)},
		"more was asked for very often":             {subject: []subject{more}, last: look{subject: asked, at: now.Add(-time.Minute), asks: 99}, want: waits(9 * time.Minute)},
		"another storage version":                   {subject: []subject{other}, last: before(s, none, time.Second, 0), want: starts(other)},
		"a version has left, which was not served":  {subject: []subject{fewer}, last: before(s, none, time.Second, 0), want: starts(fewer)},
		"another CRD of that name":                  {subject: []subject{again}, last: before(s, unfinished, time.Second, 9), want: starts(again)},
		"some were moved, so there may be more":     {subject: []subject{s}, last: before(s, moved, time.Minute, 0), want: waits(9 * time.Minute)},
		"some are left":                             {subject: []subject{s}, last: before(s, unfinished, 10*time.Second, 0), want: waits(20 * time.Second)},
		"some are left again":                       {subject: []subject{s}, last: before(s, unfinished, 10*time.Second, 2), want: waits(110 * time.Second)},
		"some are left for ever":                    {subject: []subject{asked}, last: before(asked, unfinished, time.Minute, 50), want: waits(9 * time.Minute)},
		"it is under way":                           {subject: []subject{s, asked}, underWay: []subject{s}},
		"it is under way, and not wanted any more":  {underWay: []subject{s}, want: decision{stop: true}},
		"it is under way for other versions":        {subject: []subject{asked}, underWay: []subject{s}},
		"it is under way for versions that stay":    {subject: []subject{s}, underWay: []subject{asked}},
		"it is under way for another storage":       {subject: []subject{other}, underWay: []subject{s}, want: decision{stop: true}},
		"it is under way for two, and one has gone": {subject: []subject{s}, underWay: []subject{s, again}, want: decision{stop: true}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(decide(now, every, c.subject, map[string]look{s.name(): c.last}, c.underWay)).To(Equal(c.want))
		})
	}
}

func TestWhatIsNotSeenIsNeverSaidToBeDone(t *testing.T) {
	left := []repairs.Group{{Reason: repairs.Refused, Count: 1}}
	for name, c := range map[string]struct {
		found finding
		want  outcome
	}{
		"nothing":                   {finding{}, none},
		"all were moved":            {finding{Report: repairs.Report{Moved: 3}}, moved},
		"some were left":            {finding{Report: repairs.Report{Moved: 3, Left: left}}, unfinished},
		"a resource was not listed": {finding{Report: repairs.Report{Moved: 3, NotLooked: []repairs.NotLooked{{Resource: "pods"}}}}, unfinished},
		"there are always new ones": {finding{Report: repairs.Report{Moved: 3, Unfinished: true}}, unfinished},
		"no answer":                 {finding{err: errors.New("no answer")}, unfinished},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.found.outcome()).To(Equal(c.want))
			trouble := false
			for _, said := range ownerEvents.sayings(subject{}, c.found) {
				trouble = trouble || said.reason == v1alpha1.EventOwnerReferencesLeft || said.reason == v1alpha1.EventOwnerReferencesUnknown
			}
			g.Expect(trouble).To(Equal(c.want == unfinished), "what is not done is told")
		})
	}
}

func TestFailuresInARowAreCounted(t *testing.T) {
	g, now := NewWithT(t), time.Unix(1_000_000, 0)
	s, other := subject{uid: "a"}, subject{uid: "b"}
	l := look{}.after(s, unfinished, now).after(s, unfinished, now)
	g.Expect(l.failures).To(Equal(1))
	g.Expect(l.after(s, moved, now).failures).To(BeZero())
	g.Expect(l.after(other, unfinished, now).failures).To(BeZero())
}

func TestLooksForMoreInARowAreCounted(t *testing.T) {
	g, now := NewWithT(t), time.Unix(1_000_000, 0)
	s, a, b := subject{uid: "a"}, subject{uid: "a"}, subject{uid: "a"}
	a.target.Leaving, b.target.Leaving = []string{"v1alpha1"}, []string{"v1beta1"}
	l := look{}.after(s, none, now).after(a, none, now).after(b, none, now)
	g.Expect(l.asks).To(Equal(2))
	g.Expect(l.after(b, none, now).asks).To(BeZero())
}

// Made-up versions would have everything looked through each time a tenant names others.
func TestOnlyVersionsOfTheCRDAreAskedFor(t *testing.T) {
	g := NewWithT(t)
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").Build()
	s := subjectOf(crd, []string{"v1", "v1000", "v1alpha1"})
	g.Expect(s.target.Leaving).To(Equal([]string{"v1alpha1"}))
	g.Expect(s.asked).To(BeTrue())
}
