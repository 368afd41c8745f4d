// Package tally counts things by what they have in common, and keeps some of each as examples. What it holds is bounded, whatever
// it is fed with: names that people choose can be in what things have in common.
package tally

// Tally counts things of sort K, and keeps some E of each. The zero value is one without a bound.
type Tally[K comparable, E any] struct {
	// MaxExamples is how many are kept of each sort; 0 is all.
	MaxExamples int
	// MaxSorts is how many sorts there are that have the same Other; 0 is any number. Beyond them things count as Other.
	MaxSorts int
	Other    func(K) K

	sorts []Sort[K, E]
	at    map[K]int
	alike map[K]int // how many sorts have an Other
}

// Sort is what things have in common, and how many there are.
type Sort[K comparable, E any] struct {
	Key      K
	Count    int64
	Examples []E
}

// As is the sort that a thing counts as.
func (t *Tally[K, E]) As(key K) K {
	if _, known := t.at[key]; known || t.MaxSorts == 0 {
		return key
	}
	if other := t.Other(key); t.alike[other] >= t.MaxSorts {
		return other
	}
	return key
}

// Add counts one thing, and reports whether it is the first of its sort.
func (t *Tally[K, E]) Add(key K, example ...E) (isFirst bool) {
	key = t.As(key)
	_, known := t.at[key]
	t.add(key, 1, example)
	return !known
}

// Merge adds what another tally of the same bounds has counted. The bounds are those of both together.
func (t *Tally[K, E]) Merge(more *Tally[K, E]) {
	for _, s := range more.sorts {
		t.add(t.As(s.Key), s.Count, s.Examples)
	}
}

func (t *Tally[K, E]) add(key K, n int64, examples []E) {
	at, known := t.at[key]
	if !known {
		if t.at == nil {
			t.at, t.alike = map[K]int{}, map[K]int{}
		}
		if t.MaxSorts > 0 {
			t.alike[t.Other(key)]++
		}
		at = len(t.sorts)
		t.at[key], t.sorts = at, append(t.sorts, Sort[K, E]{Key: key})
	}
	s := &t.sorts[at]
	s.Count += n
	if room := t.MaxExamples - len(s.Examples); t.MaxExamples > 0 && len(examples) > room {
		examples = examples[:room]
	}
	s.Examples = append(s.Examples, examples...)
}

// Sorts are all, in the order in which the first of each was counted.
func (t *Tally[K, E]) Sorts() []Sort[K, E] { return t.sorts }

// Restart forgets all that was counted.
func (t *Tally[K, E]) Restart() { t.sorts, t.at, t.alike = nil, nil, nil }
