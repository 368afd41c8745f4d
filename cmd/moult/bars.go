package main

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// barWidth is in columns; what is beside the bar says more than the bar.
const barWidth = 24

// bars is the board of a terminal: one bar per CRD.
type bars struct {
	mu       sync.Mutex
	progress *mpb.Progress
	byName   map[string]*bar
}

type bar struct {
	*mpb.Bar
	standing atomic.Pointer[standing]
}

func newBars(out io.Writer) *bars {
	return &bars{progress: mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh()), byName: map[string]*bar{}}
}

func (b *bars) show(name string, s standing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.byName[name]
	if !known {
		one = b.add(name, s)
	}
	one.standing.Store(&s)
	done, total := s.fraction()
	one.SetTotal(total, false)
	one.SetCurrent(done)
}

func (b *bars) add(name string, s standing) *bar {
	one := &bar{}
	one.standing.Store(&s)
	text := func(cell func(standing) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return cell(*one.standing.Load()) }, decor.WCSyncSpaceR)
	}
	one.Bar = b.progress.New(0, mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░"),
		mpb.BarWidth(barWidth),
		mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR), text(standing.phaseCell)),
		mpb.AppendDecorators(text(standing.countCell), text(standing.leftCell), text(standing.noteCell)),
	)
	b.byName[name] = one
	return one
}

func (b *bars) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.byName {
		one.Abort(false) // leaves the bar as it is, full or not
	}
	b.progress.Wait()
}

// fraction is how far the bar is drawn: of the settle time while it runs, else of the walk.
func (s standing) fraction() (done, total int64) {
	switch {
	case s.done:
		return 1, 1
	case !s.until.IsZero():
		return int64(s.settle - s.left()), int64(s.settle)
	case s.progress != nil && s.progress.Total > 0:
		return s.progress.Done, s.progress.Total
	default:
		return 0, 1
	}
}

func (s standing) phaseCell() string { return s.phase }
func (s standing) noteCell() string  { return s.note }

func (s standing) countCell() string {
	counts, rate, _ := s.progress.cells()
	switch {
	case counts == "-":
		return ""
	case rate == "-":
		return counts
	default:
		return counts + " " + rate
	}
}

func (s standing) leftCell() string {
	if left := s.left(); left > 0 {
		return left.String() + " left"
	}
	return ""
}
