package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The exit codes, as exitCodes tells them to people.
const (
	exitDone        = 0
	exitNotDone     = 1
	exitError       = 2
	exitInterrupted = 130
)

const exitCodes = `Exit codes:
  0    every CRD asked for is migrated
  1    at least one is not
  2    that is not known: wrong arguments, no cluster, no such CRD, no permission
  130  interrupted`

// notDone is the error of a command that did its work and has bad news.
type notDone struct {
	sentence string
	// details are lines below the sentence, which stays one line.
	details []string
}

func (n notDone) Error() string { return n.sentence }

// told is an error that has been printed already.
type told struct{ error }

func (told) Error() string   { return "" }
func (t told) Unwrap() error { return t.error }

// ended is a verdict with an exit code of its own, or an error with one.
type ended struct {
	code int
	err  error // nil if all has been said
}

func (e ended) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e ended) Unwrap() error { return e.err }

// exit tells an error and returns the exit code it stands for.
func (a *app) exit(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted") // where a context was canceled is no help to anybody
	}
	a.tell(err)
	var own ended
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &own):
		return own.code
	case errors.As(err, new(notDone)):
		return exitNotDone
	default:
		return exitError
	}
}

// tell prints an error in one line, and its details below.
func (a *app) tell(err error) {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if text == "" {
		return
	}
	fmt.Fprintf(a.errOut, "%s: %s\n", a.name, text)
	if bad := (notDone{}); errors.As(err, &bad) {
		for _, line := range bad.details {
			fmt.Fprintf(a.errOut, "  %s\n", line)
		}
	}
}

// tellAll prints the errors that are not nil, a line each, and returns the one that decides the exit code.
func (a *app) tellAll(errs []error) error {
	var worst error
	for _, err := range errs {
		if err == nil {
			continue
		}
		a.tell(err)
		if worst == nil || errors.As(worst, new(notDone)) {
			worst = told{err}
		}
	}
	return worst
}
