// Package progress shows people how far long work is: bars on a terminal, and lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Display shows several CRDs at work at once.
type Display interface {
	// Show makes s the latest about a CRD. It may be called from several goroutines.
	Show(name string, s State)
	// Close leaves what is shown as it is; nothing may be shown after it.
	Close()
}

// State is how far one CRD is.
type State struct {
	Phase  string // the condition's reason, or a few words instead
	Counts *Counts
	Note   string    // what a person should know beside it
	Until  time.Time // when the settle time is over, if that is what is waited for
	Settle time.Duration
	Done   bool // all of it
}

// New draws bars on a terminal and writes lines elsewhere.
func New(out io.Writer, names []string) Display {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return newBars(file)
	}
	return newLines(out, names)
}

// Counts are the objects of a walk; their JSON form is part of the commands' interface.
type Counts struct {
	Done   int64 `json:"done"`
	Total  int64 `json:"total"`
	Failed int64 `json:"failed"`
	// Rate is in objects per second; 0 while it is unknown.
	Rate float64 `json:"rate,omitempty"`
	// ETASeconds is how long the walk will still take at this rate; 0 while it is unknown.
	ETASeconds float64 `json:"etaSeconds,omitempty"`
}

// Of are the counts of a condition, with how long the walk will still take.
func Of(p v1alpha1.Progress) *Counts {
	told := &Counts{Done: p.Done, Total: p.Total, Failed: p.Failed, Rate: p.Rate}
	if p.Rate > 0 && p.Done < p.Total {
		told.ETASeconds = float64(p.Total-p.Done) / p.Rate
	}
	return told
}

// Ended is the same count once nothing is under way any more.
func (c *Counts) Ended() *Counts {
	if c == nil {
		return nil
	}
	return &Counts{Done: c.Done, Total: c.Total, Failed: c.Failed}
}

// Cells are the columns DONE/TOTAL, RATE and ETA of a table.
func (c *Counts) Cells() (counts, rate, eta string) {
	counts, rate, eta = "-", "-", "-"
	if c == nil {
		return
	}
	counts = fmt.Sprintf("%d/%d", c.Done, c.Total)
	if c.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Rate > 0 {
		rate = fmt.Sprintf("%.0f/s", c.Rate)
	}
	if c.ETASeconds > 0 {
		eta = c.eta().String()
	}
	return counts, rate, eta
}

func (c *Counts) eta() time.Duration {
	return time.Duration(c.ETASeconds * float64(time.Second)).Round(time.Second)
}
