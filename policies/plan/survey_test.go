package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestWhatASurveyAddsToTheEvidence(t *testing.T) {
	g := NewWithT(t)
	e := Evidence{Subject: v1, Proved: true}
	e = e.After(Outcome{Mode: Surveying, Failure: &Failure{Reason: "ObjectsFailed", Message: "x"}}, now, settle)
	g.Expect(e.Proved).To(BeTrue(), "a survey that fails says nothing about what is stored")
	g.Expect(e.Failure).To(BeNil())
	g.Expect(e.Survey.NextAt).To(Equal(now.Add(5 * time.Second)))

	e = e.After(Outcome{Mode: Surveying, Leaving: []string{"v1alpha1"}, Started: now}, now.Add(time.Second), settle)
	g.Expect(e.Survey).To(Equal(Surveyed{Versions: []string{"v1alpha1"}, At: now, Tried: now, NextAt: now.Add(4 * time.Second)}))
	g.Expect(e.Survey.Covers(Removal{Versions: []string{"v1alpha1"}, Since: now})).To(BeTrue())
	g.Expect(e.Survey.Covers(Removal{Versions: []string{"v1alpha1", "v1beta1"}})).To(BeFalse())
	g.Expect(e.Survey.Covers(Removal{Versions: []string{"v1alpha1"}, Since: now.Add(1)})).To(BeFalse())

	hour := map[string]time.Duration{"v1alpha1": time.Hour}
	patient := e.After(Outcome{Mode: Surveying, Leaving: []string{"v1alpha1"}, Started: now, Quiet: hour}, now, settle).Survey
	g.Expect(patient.Covers(Removal{Versions: []string{"v1alpha1"}, Quiet: hour})).To(BeTrue())
	g.Expect(patient.Covers(Removal{Versions: []string{"v1alpha1"}})).To(BeFalse(), "one that does not wait wants all entries moved")

	waiting := e.After(Outcome{Mode: Surveying, Leaving: []string{"v1alpha1", "v1beta1"}, Waiting: []string{"v1alpha1"}, Started: now}, now, settle).Survey
	g.Expect(waiting.Covers(Removal{Versions: []string{"v1beta1"}})).To(BeTrue())
	g.Expect(waiting.Covers(Removal{Versions: []string{"v1alpha1"}})).To(BeFalse(), "entries were left at it")
	g.Expect(waiting.NextAt).To(Equal(now.Add(5 * time.Second)))
	g.Expect(waiting.allowing(nil).NextAt).To(Equal(waiting.NextAt))
	g.Expect(waiting.allowing([]string{"v1alpha1"}).NextAt).To(BeZero(), "it may be lost now")

	e = e.about(Subject{"u", 4, "v1"}, now, settle)
	g.Expect(e.Proved).To(BeTrue())
	g.Expect(e.Survey).To(BeZero(), "after an edit the objects are looked through again")

	e = Evidence{Subject: v1}.After(Outcome{Mode: Checking, Leaving: []string{"v1alpha1"}, Started: now}, now, settle)
	g.Expect(e.Proved).To(BeTrue())
	g.Expect(e.Survey).To(BeZero(), "a survey begins after the proof")
}

// A survey that fails, or has to leave entries alone, asks the API server less and less often.
func TestPausesBetweenSurveysGrow(t *testing.T) {
	failed := Outcome{Mode: Surveying, Started: now, Failure: &Failure{Reason: "ObjectsFailed"}}
	waiting := Outcome{Mode: Surveying, Started: now, Leaving: []string{"v1alpha1"}, Waiting: []string{"v1alpha1"}}
	done := Outcome{Mode: Surveying, Started: now, Leaving: []string{"v1alpha1"}}
	for name, c := range map[string]struct {
		ended []Outcome
		want  time.Duration
	}{
		"one that failed":                        {[]Outcome{failed}, 5 * time.Second},
		"a second one that failed":               {[]Outcome{failed, failed}, 10 * time.Second},
		"a third one that failed":                {[]Outcome{failed, failed, failed}, 20 * time.Second},
		"one that left entries alone":            {[]Outcome{waiting}, 5 * time.Second},
		"a second one that left entries alone":   {[]Outcome{waiting, waiting}, 10 * time.Second},
		"a third one that left entries alone":    {[]Outcome{waiting, waiting, waiting}, 20 * time.Second},
		"one of each":                            {[]Outcome{failed, waiting}, 10 * time.Second},
		"one that found all":                     {[]Outcome{done}, minRest},
		"one that failed after one that did not": {[]Outcome{failed, failed, done, failed}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			survey := Surveyed{}
			for _, w := range c.ended {
				survey = survey.after(w, now)
			}
			NewWithT(t).Expect(survey.NextAt).To(Equal(now.Add(c.want)))
		})
	}
}

// However many ask, and whenever: surveys answer all who asked before, and leave the API server in peace in between.
func TestWhenASurveyIsDue(t *testing.T) {
	asked := Removal{Versions: []string{"v1alpha1"}, Since: now}
	began := func(ago, took time.Duration) Surveyed {
		return Surveyed{}.after(Outcome{Mode: Surveying, Leaving: asked.Versions, Started: now.Add(-ago)}, now.Add(took-ago))
	}
	for name, c := range map[string]struct {
		survey  Surveyed
		removal Removal
		due     bool
		at      time.Time
	}{
		"never if nobody asks":                           {Surveyed{}, Removal{Since: now}, false, time.Time{}},
		"at once if there was none":                      {Surveyed{}, asked, true, time.Time{}},
		"not after one that began later":                 {began(0, 0), asked, false, time.Time{}},
		"a second after one that was quick":              {began(1, 0), asked, true, now.Add(minRest - 1)},
		"three times as long after as one took":          {began(10*time.Second, 5*time.Second), asked, true, now.Add(10 * time.Second)},
		"five minutes after one that took an hour":       {began(time.Hour, time.Hour), asked, true, now.Add(maxRest)},
		"again when it is old, if that is asked for":     {began(0, 0), Removal{Versions: asked.Versions, Every: time.Minute}, true, now.Add(time.Minute)},
		"not again before it has rested":                 {began(0, time.Minute), Removal{Versions: asked.Versions, Every: time.Minute}, true, now.Add(4 * time.Minute)},
		"soon after one that failed":                     {Surveyed{}.after(Outcome{Mode: Surveying, Failure: &Failure{}}, now), asked, true, now.Add(firstBackoff)},
		"for a version that nobody has asked for so far": {began(0, 0), Removal{Versions: []string{"v1beta1"}}, true, now.Add(minRest)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at, due := c.survey.due(c.removal)
			g.Expect(due).To(Equal(c.due))
			g.Expect(at).To(Equal(c.at))
		})
	}
}
