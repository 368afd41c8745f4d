package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestALookFindsWhatWasPlantedInEachWay(t *testing.T) {
	g := NewWithT(t)
	o, err := parse("survivors", []string{"--objects", "900", "--resources", "8", "--rounds", "1"})
	g.Expect(err).NotTo(HaveOccurred())
	r, err := lookThrough(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred(), "it compares what each way has found with what is there")
	g.Expect(r.Objects).To(Equal(900))
	byWay := map[string]*survey{}
	for _, l := range r.Looks {
		byWay[l.Way] = l
		g.Expect(l.AtOnce).To(Equal(1), l.Way)
		g.Expect(l.Seconds).To(BeNumerically(">", 0), l.Way)
		g.Expect(l.Before).To(BeNumerically(">", 0), l.Way)
	}
	g.Expect(byWay).To(And(HaveLen(3), HaveKey("moult"), HaveKey("everything"), HaveKey("whole lists")))
	g.Expect(byWay["moult"].More).To(BeNumerically("<", byWay["whole lists"].More))
	g.Expect(byWay["whole lists"].Lists).To(Equal(1))
	g.Expect(byWay["moult"].Requests).To(BeNumerically(">", r.CRDs))
	g.Expect(r.text()).To(MatchRegexp(`(?m)^ +whole lists +[0-9.]+ +[0-9.]+×`))
}

func TestThePlantsAreAllObjectsThatWereAskedFor(t *testing.T) {
	g := NewWithT(t)
	for _, objects := range []int{100, 3001, 100000} {
		g.Expect(planted(objects, 60).objects()).To(Equal(objects))
	}
	p := planted(100000, 60)
	g.Expect(p.crds).To(HaveLen(60))
	g.Expect(p.crds[1].objects).To(Equal(20000))
	g.Expect(p.whole()).To(Equal(1000 + 1500 + 40 + composites*p.crds[59].objects))
	g.Expect(p.found()).To(And(HaveKeyWithValue("helm-config-maps", int64(1000)), HaveKeyWithValue("kubevirt-vm-revisions", int64(1500))))
}

func TestRoundsOfALookAreReportedByTheirMedianAndMemoryByTheMost(t *testing.T) {
	g := NewWithT(t)
	m := inTheMiddle([]*survey{{Way: "moult", Seconds: 3, More: 10, Requests: 7}, {Way: "moult", Seconds: 1, More: 30, Requests: 7}, {Way: "moult", Seconds: 2, More: 20, Requests: 9}})
	g.Expect(*m).To(Equal(survey{Way: "moult", Rounds: 3, Seconds: 2, More: 30, Requests: 9}))
}

func TestWaysToLookAreNamed(t *testing.T) {
	g := NewWithT(t)
	o, err := parse("survivors", []string{"--only", "moult", "--objects", "5000"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waysNamed(o.Only)).To(Equal(ways[:1]))
	_, err = waysNamed([]string{"guess"})
	g.Expect(err).To(MatchError(ContainSubstring("whole lists")))
	for _, args := range [][]string{{"--resources", "0"}, {"--resources", "5"}, {"--objects", "99"}} {
		_, err = parse("survivors", args)
		g.Expect(err).To(HaveOccurred(), "%v", args)
	}
	g.Expect(o.Settle).To(Equal(time.Second))
}
