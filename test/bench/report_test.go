package main

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// threeRounds has Moult at twice, thrice and four times Cluster API's rate, and the ceiling in two of them only.
func threeRounds() *report {
	r := &report{Options: &options{RTT: []int{5}}, entrants: []*contender{&ceiling, &moult, &clusterAPI}}
	add := func(name string, round int, rate float64, stale number, before, during []float64) {
		r.Laps = append(r.Laps, &lap{
			Contender: name, RTT: 5, Round: round, Objects: 100, Rate: rate, StaleAtTrim: stale, Workers: 16,
			TrimmedAfter: none, CheckSeconds: none, CheckRequests: none, CheckCPU: none, P99Check: none, before: before, during: during,
		})
	}
	add("moult", 1, 200, 0, []float64{1}, []float64{10})
	add("moult", 2, 300, 0, []float64{2}, []float64{20})
	add("moult", 3, 400, 0, []float64{3}, []float64{30})
	add("cluster-api", 1, 100, 0, []float64{40}, nil)
	add("cluster-api", 2, 100, 7, nil, nil)
	add("cluster-api", 3, 100, 0, nil, nil)
	add("ceiling", 1, 400, none, nil, nil)
	add("ceiling", 3, 400, none, nil, nil)
	return r
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	g := NewWithT(t)
	r := threeRounds()
	g.Expect(r.finish(r.Options)).To(Succeed())
	rows := map[string]*row{}
	for _, s := range r.Summary {
		rows[s.Contender] = s
	}
	g.Expect(rows).To(HaveLen(3))
	g.Expect(rows["moult"].Rate).To(Equal(number(300)))
	g.Expect(rows["moult"].OfCeiling).To(Equal(number(0.75)), "the median of 0.5 and 1, of the rounds that both ran in")
	g.Expect(rows["cluster-api"].Ahead).To(Equal(number(3)))
	g.Expect(rows["cluster-api"].StaleAtTrim).To(Equal(number(7)), "the worst round, not the median")
	g.Expect(rows["moult"].P99Before).To(Equal(number(40)), "of all quiet times together")
	g.Expect(rows["moult"].P99During).To(Equal(number(30)))
}

func TestTheTableHasADashForWhatDoesNotApply(t *testing.T) {
	g := NewWithT(t)
	r := threeRounds()
	r.Laps = append(r.Laps, &lap{Contender: "list+put", RTT: 5, Round: 2, Objects: 10, Rate: 50, StaleAtTrim: none,
		TrimmedAfter: none, CheckSeconds: none, CheckRequests: none, CheckCPU: none, P99Check: none})
	r.entrants = append(r.entrants, &listPut)
	r.Lags = []*lagged{{Contender: "cluster-api", StaleAtTrim: 2, StaleLater: 3}, {Contender: "cluster-api"}}
	g.Expect(r.finish(r.Options)).To(Succeed())
	text := r.text()
	g.Expect(text).To(MatchRegexp(`(?m)^ +list\+put +10 +50 +– +6\.00× .* – +40 → 0$`), "it never trims, and ran in no round with the ceiling")
	g.Expect(text).To(MatchRegexp(`(?m)^ +cluster-api +2 \(3\), 0 \(0\)$`))
	g.Expect(text).To(ContainSubstring("the ceiling has 16 requests under way"))
}

func TestTheJSONHasNullForWhatDoesNotApply(t *testing.T) {
	g := NewWithT(t)
	r := threeRounds()
	r.Began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g.Expect(r.finish(r.Options)).To(Succeed())
	content, err := json.Marshal(r)
	g.Expect(err).NotTo(HaveOccurred())
	var back struct{ Summary []map[string]any }
	g.Expect(json.Unmarshal(content, &back)).To(Succeed())
	g.Expect(back.Summary[0]).To(And(HaveKeyWithValue("Contender", "ceiling"), HaveKeyWithValue("StaleAtTrim", BeNil()), HaveKeyWithValue("Rate", 400.0)))
}

func TestThoseWithOneRequestUnderWayGetFewerObjectsFarAway(t *testing.T) {
	o := &options{Objects: 5000, OneByOne: 8 * time.Second}
	for name, c := range map[string]struct {
		contender *contender
		roundTrip time.Duration
		want      int
	}{
		"Moult gets all of them":                    {&moult, 20 * time.Millisecond, 5000},
		"one that trims gets all of them nearby":    {&clusterAPI, 0, 5000},
		"one by one, it gets what fits":             {&clusterAPI, 5 * time.Millisecond, 1000},
		"with two requests an object, half of that": {&listGetPut, 5 * time.Millisecond, 500},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(o.objectsFor(c.contender, c.roundTrip)).To(Equal(c.want))
		})
	}
	NewWithT(t).Expect((&options{Objects: 50, OneByOne: time.Second}).objectsFor(&listPut, time.Second)).To(Equal(50), "never more than there are")
}
