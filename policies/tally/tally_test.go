package tally_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/tally"
)

type sort = tally.Sort[string, int]

func TestWhatIsCountedIsBounded(t *testing.T) {
	g := NewWithT(t)
	all := tally.Tally[string, int]{MaxExamples: 2, MaxSorts: 2, Other: func(string) string { return "other" }}
	for i, key := range []string{"a", "b", "a", "c", "a", "d", "b"} {
		g.Expect(all.Add(key, i)).To(Equal(i < 2 || i == 3), "%d %s", i, key)
		g.Expect(all.As(key)).To(Equal(map[string]string{"a": "a", "b": "b", "c": "other", "d": "other"}[key]))
	}
	g.Expect(all.Add("a")).To(BeFalse(), "it is counted, and no example")
	g.Expect(all.Sorts()).To(Equal([]sort{{"a", 4, []int{0, 2}}, {"b", 2, []int{1, 6}}, {"other", 2, []int{3, 5}}}))
	all.Restart()
	g.Expect(all.Sorts()).To(BeEmpty())
}

// What there is much of leaves room for what is graver.
func TestEachOtherHasABoundOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	all := tally.Tally[[2]string, int]{MaxSorts: 2, Other: func(k [2]string) [2]string { return [2]string{k[0], "other"} }}
	for _, what := range []string{"a", "b", "c", "d"} {
		all.Add([2]string{"info", what})
	}
	all.Add([2]string{"error", "a"})
	var keys [][2]string
	for _, s := range all.Sorts() {
		keys = append(keys, s.Key)
	}
	g.Expect(keys).To(Equal([][2]string{{"info", "a"}, {"info", "b"}, {"info", "other"}, {"error", "a"}}))
}

func TestTwoTalliesMakeOne(t *testing.T) {
	g := NewWithT(t)
	one, two := tally.Tally[string, int]{MaxExamples: 2}, tally.Tally[string, int]{MaxExamples: 2}
	one.Add("a", 1)
	two.Add("b", 2)
	two.Add("a", 3)
	two.Add("a", 4)
	one.Merge(&two)
	g.Expect(one.Sorts()).To(Equal([]sort{{"a", 3, []int{1, 3}}, {"b", 1, []int{2}}}))
	one.Add("a", 5)
	g.Expect(two.Sorts()[1].Examples).To(Equal([]int{3, 4}), "the other is not changed")
}

func TestTwoTalliesAreBoundedTogether(t *testing.T) {
	g := NewWithT(t)
	bounded := func(keys ...string) *tally.Tally[string, int] {
		all := &tally.Tally[string, int]{MaxSorts: 2, Other: func(string) string { return "other" }}
		for _, key := range keys {
			all.Add(key)
		}
		return all
	}
	one := bounded("a", "b", "c")
	one.Merge(bounded("b", "d", "e"))
	g.Expect(one.Sorts()).To(Equal([]sort{{Key: "a", Count: 1}, {Key: "b", Count: 2}, {Key: "other", Count: 3}}))
}

func TestTheZeroTallyKeepsAll(t *testing.T) {
	g := NewWithT(t)
	var all tally.Tally[int, int]
	for i := range 1000 {
		all.Add(i%500, i)
	}
	g.Expect(all.Sorts()).To(HaveLen(500))
	g.Expect(all.Sorts()[7]).To(Equal(tally.Sort[int, int]{Key: 7, Count: 2, Examples: []int{7, 507}}))
}
