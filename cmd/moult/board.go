package main

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// board shows several CRDs at work at once.
type board interface {
	// show makes s the latest about a CRD. It may be called from several goroutines.
	show(name string, s standing)
	// close leaves what is shown as it is; nothing may be shown after it.
	close()
}

// standing is where one CRD stands.
type standing struct {
	phase    string // the condition's reason, or a few words instead
	progress *progress
	note     string    // what a person should know beside it
	until    time.Time // when the settle time is over, if that is what is waited for
	settle   time.Duration
	done     bool // all of it
}

// newBoard draws bars on a terminal and writes lines elsewhere.
func newBoard(out io.Writer, names []string) board {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return newBars(file)
	}
	return newLines(out, names)
}
