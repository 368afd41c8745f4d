package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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

// topic is what `moult help` calls the exit codes.
const topic = "exit-codes"

// NewExitCodes makes the help topic about exit codes, which does nothing.
func NewExitCodes(f *Factory) *cobra.Command {
	return &cobra.Command{
		Use:   topic,
		Short: "What the exit codes mean",
		Long: `An exit code means the same in every command. The help of a command says what
0, 1, 3 and 4 mean there.

  0    yes          done, or nothing found that counts; there may be warnings
  1    no           not done, found, lost, refused, blocked, damaged, left over,
                    or the time is over
  2    error        no answer: wrong arguments or flags, a file or a cluster that
                    cannot be read, no rights to the CRDs themselves, a prompt
                    that was declined, a crash
  3    unknown      nothing bad was seen, and not everything could be looked at
  4    warnings     only with --fail-on warning
  130  interrupted

A script that only asks whether something is fine needs no more than zero or not:
  ` + f.Name + ` doctor && echo fine

` + f.Name + ` preview, ` + f.Name + ` doctor and ` + f.Name + ` snapshot have --fail-on: the mildest
result that does not end with 0.`,
	}
}

// Codes is the part of a help text that says what exit codes mean there; a code that the command does not end with is left out.
type Codes struct{ Done, NotDone, Unknown, Warnings string }

// ExitCodes is that part as text.
func (f *Factory) ExitCodes(c Codes) string {
	var text strings.Builder
	text.WriteString("Exit codes:\n")
	for _, of := range []struct {
		code    int
		meaning string
	}{{ExitDone, c.Done}, {ExitNotDone, c.NotDone}, {ExitUnknown, c.Unknown}, {ExitWarnings, c.Warnings}} {
		if of.meaning != "" {
			fmt.Fprintf(&text, "  %d  %s\n", of.code, strings.ReplaceAll(of.meaning, "\n", "\n     "))
		}
	}
	fmt.Fprintf(&text, "For the others, see %s help %s.", f.Name, topic)
	return text.String()
}

// The results that --fail-on can name beside the bad one, for which each command has its own word.
const (
	FailOnUnknown = "unknown"
	FailOnWarning = "warning"
)

// FailOn is --fail-on: the mildest result that does not end with 0.
type FailOn struct {
	// Value is what was given.
	Value   string
	usually string
}

// AddFlag adds the flag to a command that has these results, the gravest first.
func (o *FailOn) AddFlag(c *cobra.Command, usually string, results ...string) {
	o.usually = usually
	c.Flags().StringVar(&o.Value, "fail-on", usually, "the mildest result that does not end with 0: "+either(results))
	OneOf(c, "fail-on", results...)
}

// IsDefault is whether the flag has the value that it has without being given.
func (o *FailOn) IsDefault() bool { return o.Value == o.usually }

// Ending is the exit code of a result.
func (o *FailOn) Ending(code int) error {
	mildest := ExitNotDone
	switch o.Value {
	case FailOnWarning:
		mildest = ExitWarnings
	case FailOnUnknown:
		mildest = ExitUnknown
	}
	if slices.Index(gravity, code) < slices.Index(gravity, mildest) {
		return nil
	}
	return Ended{Code: code}
}
