package network

import "sync"

// Once asks for each key once, however many ask at a time: the others wait for the answer. Its zero value is ready.
type Once[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]func() (V, error)
}

// Get is the answer for a key, which ask gives if it is the first that is called for it.
func (o *Once[K, V]) Get(key K, ask func() (V, error)) (V, error) {
	o.mu.Lock()
	if o.known == nil {
		o.known = map[K]func() (V, error){}
	}
	one := o.known[key]
	if one == nil {
		one = sync.OnceValues(ask)
		o.known[key] = one
	}
	o.mu.Unlock()
	return one()
}

// All are the answers so far; of what could not be had, whatever was given with the error.
func (o *Once[K, V]) All() (answers []V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.known {
		answer, _ := one()
		answers = append(answers, answer)
	}
	return answers
}

// Silent are hosts that could not be reached or did not answer in time, each with why: no other request waits for one of
// them. Its zero value is ready.
type Silent struct{ hosts sync.Map }

// Remember keeps why a host did not answer.
func (s *Silent) Remember(host string, why error) { s.hosts.Store(host, why) }

// Why is why a host is not asked any more, nil if it is.
func (s *Silent) Why(host string) error {
	why, _ := s.hosts.Load(host)
	err, _ := why.(error)
	return err
}
