package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// median is the middle value, or the mean of the two in the middle; not a number when there is none. Values that are
// not numbers, because something could not be measured, do not count.
func median(values []float64) float64 {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(known) == 0 {
		return math.NaN()
	}
	slices.Sort(known)
	middle := len(known) / 2
	if len(known)%2 == 1 {
		return known[middle]
	}
	return (known[middle-1] + known[middle]) / 2
}

// percentile is the smallest value that at least this share (0 to 1) of them does not exceed; 0 when there is none.
func percentile[T cmp.Ordered](values []T, share float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// milliseconds of a duration, with its fraction.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rotate begins at another place of the list in each round, as far apart as the rounds allow, so that nobody always
// comes first.
func rotate[T any](list []T, round, rounds int) []T {
	if len(list) == 0 {
		return nil
	}
	begin := round * max(1, len(list)/max(1, rounds)) % len(list)
	return append(slices.Clone(list[begin:]), list[:begin]...)
}
