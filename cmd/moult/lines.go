package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// lines is the board of logs and pipes: a line when a phase begins and at every tenth of it.
type lines struct {
	mu    sync.Mutex
	out   io.Writer
	width int
	last  map[string]shown
}

type shown struct {
	phase, note string
	tenth       int64
}

func newLines(out io.Writer, names []string) *lines {
	l := &lines{out: out, last: map[string]shown{}}
	for _, name := range names {
		l.width = max(l.width, len(name))
	}
	return l
}

func (l *lines) show(name string, s standing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := shown{phase: s.phase, note: s.note}
	if p := s.progress; p != nil && p.Total > 0 {
		now.tenth = 10 * p.Done / p.Total
	}
	before, known := l.last[name]
	if known && before.phase == now.phase && before.note == now.note && before.tenth >= now.tenth {
		return
	}
	l.last[name] = now
	fmt.Fprintf(l.out, "%-*s  %s\n", l.width, name, s.line())
}

func (*lines) close() {}

// line is a standing in words.
func (s standing) line() string {
	words := []string{s.phase}
	if p := s.progress; p != nil && p.Total > 0 {
		words = append(words, fmt.Sprintf("%d of %d objects", p.Done, p.Total))
		if p.Failed > 0 {
			words = append(words, fmt.Sprintf("%d failed", p.Failed))
		}
		if p.Rate > 0 {
			words = append(words, fmt.Sprintf("%.0f/s", p.Rate))
		}
	}
	if left := s.left(); left > 0 {
		words = append(words, fmt.Sprintf("%s left", left))
	}
	if s.note != "" {
		words = append(words, s.note)
	}
	return strings.Join(words, ", ")
}

// left is what is left of the settle time, or of the walk.
func (s standing) left() time.Duration {
	switch {
	case s.done:
		return 0
	case !s.until.IsZero():
		return max(0, time.Until(s.until)).Round(time.Second)
	case s.progress != nil:
		return s.progress.eta()
	default:
		return 0
	}
}
