package progress

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// barWidth is in columns; what is beside the bar says more than the bar.
const barWidth = 24

// bars is the display of a terminal: one bar per CRD.
type bars struct {
	mu       sync.Mutex
	progress *mpb.Progress
	byName   map[string]*bar
}

type bar struct {
	*mpb.Bar
	state atomic.Pointer[State]
}

func newBars(out io.Writer) *bars {
	return &bars{progress: mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh()), byName: map[string]*bar{}}
}

func (b *bars) Show(name string, s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.byName[name]
	if !known {
		one = b.add(name, s)
	}
	one.state.Store(&s)
	done, total := s.fraction()
	one.SetTotal(total, false)
	one.SetCurrent(done)
}

func (b *bars) add(name string, s State) *bar {
	one := &bar{}
	one.state.Store(&s)
	text := func(cell func(State) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return cell(*one.state.Load()) }, decor.WCSyncSpaceR)
	}
	one.Bar = b.progress.New(0, mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░"),
		mpb.BarWidth(barWidth),
		mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR), text(State.phaseCell)),
		mpb.AppendDecorators(text(State.countCell), text(State.leftCell), text(State.noteCell)),
	)
	b.byName[name] = one
	return one
}

func (b *bars) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.byName {
		one.Abort(false) // leaves the bar as it is, full or not
	}
	b.progress.Wait()
}

// fraction is how far the bar is drawn: of the settle time while it runs, else of the walk.
func (s State) fraction() (done, total int64) {
	switch {
	case s.Done:
		return 1, 1
	case !s.Until.IsZero():
		return int64(s.Settle - s.left()), int64(s.Settle)
	case s.Counts != nil && s.Counts.Total > 0:
		return s.Counts.Done, s.Counts.Total
	default:
		return 0, 1
	}
}

func (s State) phaseCell() string { return s.Phase }
func (s State) noteCell() string  { return s.Note }

func (s State) countCell() string {
	counts, rate, _ := s.Counts.Cells()
	switch {
	case counts == "-":
		return ""
	case rate == "-":
		return counts
	default:
		return counts + " " + rate
	}
}

func (s State) leftCell() string {
	if left := s.left(); left > 0 {
		return left.String() + " left"
	}
	return ""
}
