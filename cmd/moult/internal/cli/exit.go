package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes, as ExitCodes tells them to people.
const (
	ExitDone        = 0
	ExitNotDone     = 1
	ExitError       = 2
	ExitInterrupted = 130
)

// ExitCodes tells people what they mean, for commands that are about CRDs to be migrated.
const ExitCodes = `Exit codes:
  0    every CRD asked for is migrated
  1    at least one is not
  2    that is not known: wrong arguments, no cluster, no such CRD, no permission
  130  interrupted`

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

// FailWith lets a command that has verdicts end with one exit code whenever it has no answer: wrong flags and arguments, and
// every error without a code of its own.
func FailWith(c *cobra.Command, code int) {
	failed := func(ctx context.Context, err error) error {
		if err == nil || ctx.Err() != nil || errors.As(err, new(Ended)) {
			return err
		}
		return Ended{Code: code, Err: err}
	}
	run, args := c.RunE, c.Args
	c.RunE = func(c *cobra.Command, args []string) error { return failed(c.Context(), run(c, args)) }
	if args != nil {
		c.Args = func(c *cobra.Command, given []string) error { return failed(c.Context(), args(c, given)) }
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Ended{Code: code, Err: fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
}

// exit tells an error and returns the exit code it stands for.
func (f *Factory) exit(ctx context.Context, err error) int {
	if err == nil {
		return ExitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted") // where a context was canceled is no help to anybody
	}
	f.tell(err)
	var own Ended
	switch {
	case ctx.Err() != nil:
		return ExitInterrupted
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, new(NotDone)):
		return ExitNotDone
	default:
		return ExitError
	}
}

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
		if worst == nil || errors.As(worst, new(NotDone)) {
			worst = told{err}
		}
	}
	return worst
}
