package main

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"
)

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"of one is that":                             {[]float64{3}, 3},
		"of three is the one in the middle":          {[]float64{9, 1, 2}, 2},
		"of four lies between the two in the middle": {[]float64{4, 1, 2, 100}, 3},
		"leaves out what could not be measured":      {[]float64{math.NaN(), 5, math.NaN()}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(median(c.values)).To(Equal(c.want))
		})
	}
	NewWithT(t).Expect(math.IsNaN(median(nil))).To(BeTrue(), "of nothing there is none")
}

func TestPercentile(t *testing.T) {
	g := NewWithT(t)
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	g.Expect(percentile(hundred, 0.99)).To(Equal(99.0), "99 of them are not above it")
	g.Expect(percentile(hundred, 1)).To(Equal(100.0))
	g.Expect(percentile([]float64{7}, 0.99)).To(Equal(7.0))
	g.Expect(percentile([]float64{}, 0.99)).To(BeZero())
}

func TestNoneAlwaysComesFirst(t *testing.T) {
	g := NewWithT(t)
	six := []int{1, 2, 3, 4, 5, 6}
	g.Expect(rotate(six, 0, 3)).To(Equal([]int{1, 2, 3, 4, 5, 6}))
	g.Expect(rotate(six, 1, 3)).To(Equal([]int{3, 4, 5, 6, 1, 2}))
	g.Expect(rotate(six, 2, 3)).To(Equal([]int{5, 6, 1, 2, 3, 4}))
	g.Expect(rotate([]int{1, 2}, 2, 3)).To(Equal([]int{1, 2}), "more rounds than contenders")
	g.Expect(rotate([]int{}, 1, 3)).To(BeEmpty())
	g.Expect(six).To(Equal([]int{1, 2, 3, 4, 5, 6}), "the list itself stays")
}
