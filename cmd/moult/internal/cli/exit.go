package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The exit codes. Each means the same in every command; `moult help exit-codes` prints them. An error without a code of its own is
// ExitError, and so is a panic, with which Go ends a program by 2.
const (
	ExitDone        = 0
	ExitNotDone     = 1
	ExitError       = 2
	ExitUnknown     = 3
	ExitWarnings    = 4
	ExitInterrupted = 130
)

// NotDone is the error of a command that did its work and has bad news.
type NotDone struct {
	Sentence string
	// Details are lines below the sentence, which stays one line.
	Details []string
}

func (n NotDone) Error() string { return n.Sentence }

// told is an error that has been printed already.
type told struct{ error }

func (told) Error() string   { return "" }
func (t told) Unwrap() error { return t.error }

// Ended is a verdict with an exit code of its own, or an error with one.
type Ended struct {
	Code int
	Err  error // nil if all has been said
}

func (e Ended) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e Ended) Unwrap() error { return e.Err }

// EndedBy is the exit code of a verdict; bad news is graver than what is unknown.
func EndedBy(bad, unknown bool) error {
	switch {
	case bad:
		return Ended{Code: ExitNotDone}
	case unknown:
		return Ended{Code: ExitUnknown}
	}
	return nil
}

// exit prints an error and returns the exit code it stands for.
func (f *Factory) exit(ctx context.Context, err error) int {
	if err == nil {
		return ExitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted") // where a context was canceled is no help to anybody
	}
	f.tell(err)
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	return codeOf(err)
}

// codeOf is the exit code of an error.
func codeOf(err error) int {
	var own Ended
	switch {
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, new(NotDone)):
		return ExitNotDone
	default:
		return ExitError
	}
}

// Joined is several errors as one, with the exit code of the gravest; nil if all are. No answer is graver than bad news, and that
// graver than what is unknown.
func Joined(errs ...error) error {
	all := errors.Join(errs...)
	if all == nil {
		return nil
	}
	code := ExitWarnings
	for _, err := range errs {
		if err != nil && slices.Index(gravity, codeOf(err)) > slices.Index(gravity, code) {
			code = codeOf(err)
		}
	}
	return Ended{Code: code, Err: all}
}

// gravity has the exit codes from the mildest to the gravest.
var gravity = []int{ExitDone, ExitWarnings, ExitUnknown, ExitNotDone, ExitError}

// tell prints an error in one line, and its details below.
func (f *Factory) tell(err error) {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if text == "" {
		return
	}
	fmt.Fprintf(f.ErrOut, "%s: %s\n", f.Name, text)
	if bad := (NotDone{}); errors.As(err, &bad) {
		for _, line := range bad.Details {
			fmt.Fprintf(f.ErrOut, "  %s\n", line)
		}
	}
}

// TellAll prints the errors that are not nil, a line each, and returns the one that decides the exit code.
func (f *Factory) TellAll(errs []error) error {
	var worst error
	for _, err := range errs {
		if err == nil {
			continue
		}
		f.tell(err)
		if worst == nil || codeOf(worst) != ExitError {
			worst = told{err}
		}
	}
	return worst
}
