// Package progress shows people how far long work is: bars on a terminal, and lines elsewhere.
package progress

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
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
