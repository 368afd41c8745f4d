package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// turn is what was seen, who made it so, and how long after the one before.
type turn struct {
	is, by string
	after  time.Duration
}

func turned(at time.Time, turns ...turn) (t Turns) {
	for _, one := range turns {
		at = at.Add(one.after)
		t = t.Seen(one.is, one.by, at)
	}
	return t
}

// fighting has been undone twice, a moment ago.
var fighting = turned(now, turn{is: "v1alpha1", by: "provider"}, turn{is: "v1", by: "team"}, turn{is: "v1alpha1", by: "provider"},
	turn{is: "v1", by: "team"}, turn{is: "v1alpha1", by: "provider"})

func TestWhatIsUndoneTwiceIsAFight(t *testing.T) {
	old, flip, undo := turn{is: "v1alpha1", by: "provider"}, turn{is: "v1", by: "team"}, turn{is: "v1alpha1", by: "provider"}
	late := undo
	late.after = turnsWithin
	own := turn{is: "v1alpha1", by: "team"}
	for name, c := range map[string]struct {
		turns  []turn
		fought bool
	}{
		"nothing is known":                     {nil, false},
		"it is flipped":                        {[]turn{old, flip}, false},
		"that is undone once":                  {[]turn{old, flip, undo}, false},
		"and flipped again":                    {[]turn{old, flip, undo, flip}, false},
		"that is undone twice":                 {[]turn{old, flip, undo, flip, undo}, true},
		"and flipped once more":                {[]turn{old, flip, undo, flip, undo, flip}, true},
		"seen twice, it is one turn":           {[]turn{old, flip, flip, undo, undo, flip, flip, undo, undo}, true},
		"who undoes his own has changed":       {[]turn{old, flip, own, flip, own, flip, own}, false},
		"another version is no way back":       {[]turn{old, flip, undo, flip, {is: "v2", by: "provider"}}, false},
		"what stayed for an hour was no fight": {[]turn{old, flip, undo, flip, late}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, fought := turned(now, c.turns...).fought(now)
			NewWithT(t).Expect(fought).To(Equal(c.fought))
		})
	}
}

// A process that begins reads from the condition what the one before it has seen.
func TestAFightOutlivesTheProcess(t *testing.T) {
	g := NewWithT(t)
	later := now.Add(restsFor)
	d := Decide(with(func(o *Observation) { o.Flips = fighting }))
	flips, labels := Resumed(v1alpha1.Message(7, d.Sentence), later)
	g.Expect(labels).To(Equal(Turns{}))
	g.Expect(Decide(with(func(o *Observation) { o.Flips, o.Now = flips.Seen("v1alpha1", "provider", later), later })).Sentence).To(Equal(d.Sentence))
	_, fought := flips.Seen("v1", "team", later).fought(later.Add(restsFor - 1))
	g.Expect(fought).To(BeTrue(), "the next turn goes on with it")

	seen := turned(now, turn{is: "on", by: "team"}, turn{is: "off", by: "provider"}, turn{is: "on", by: "team"}, turn{is: "off", by: "provider"}, turn{is: "on", by: "team"})
	d = Decide(with(func(o *Observation) { o.Labels = seen }))
	flips, labels = Resumed(v1alpha1.Message(7, d.Sentence), now)
	g.Expect(flips).To(Equal(Turns{}))
	g.Expect(Decide(with(func(o *Observation) { o.Labels = labels.Seen("on", "team", now) })).Sentence).To(Equal(d.Sentence))
	flips, labels = Resumed(v1alpha1.Message(7, "every object is proved to be stored at v1"), now)
	g.Expect([]Turns{flips, labels}).To(HaveEach(Turns{}))
}

func TestAFightIsNotJoined(t *testing.T) {
	g := NewWithT(t)
	d := Decide(with(func(o *Observation) { o.Flips = fighting }))
	g.Expect(d.Step).To(Equal(Hold))
	g.Expect(d.Reason).To(Equal(v1alpha1.ReasonUndone))
	g.Expect(d.Sentence).To(Equal("the storage version goes to and fro: team set it to v1, and provider set it to v1alpha1, again and again; nothing is rewritten until it has stayed for 10 minutes"))
	g.Expect(d.Until).To(Equal(now.Add(restsFor)))
	labels := turned(now, turn{is: "on", by: "team"}, turn{is: "off", by: "provider"}, turn{is: "on", by: "team"}, turn{is: "off", by: "provider"}, turn{is: "on", by: "team"})
	d = Decide(with(func(o *Observation) { o.Labels = labels }))
	g.Expect(d.Sentence).To(Equal("the opt-in label goes to and fro: provider took it off, and team set it, again and again; nothing is rewritten until it has stayed for 10 minutes"))
	g.Expect(Decide(with(func(o *Observation) { o.Flips, o.Now = fighting, now.Add(restsFor) })).Reason).NotTo(Equal(v1alpha1.ReasonUndone), "it has stayed")
}
