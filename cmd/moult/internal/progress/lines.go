package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// lines is the display of logs and pipes: a line when a phase begins and at every tenth of it.
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

func (l *lines) Show(name string, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := shown{phase: s.Phase, note: s.Note}
	if p := s.Counts; p != nil && p.Total > 0 {
		now.tenth = 10 * p.Done / p.Total
	}
	before, known := l.last[name]
	if known && before.phase == now.phase && before.note == now.note && before.tenth >= now.tenth {
		return
	}
	l.last[name] = now
	fmt.Fprintf(l.out, "%-*s  %s\n", l.width, name, s.line())
}

func (*lines) Close() {}

// line is a state in words.
func (s State) line() string {
	words := []string{s.Phase}
	if p := s.Counts; p != nil && p.Total > 0 {
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
	if s.Note != "" {
		words = append(words, s.Note)
	}
	return strings.Join(words, ", ")
}

// left is what remains of the settle time, or of the walk.
func (s State) left() time.Duration {
	switch {
	case s.Done:
		return 0
	case !s.Until.IsZero():
		return max(0, time.Until(s.Until)).Round(time.Second)
	case s.Counts != nil:
		return s.Counts.eta()
	default:
		return 0
	}
}
