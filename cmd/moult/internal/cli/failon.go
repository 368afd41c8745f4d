package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

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
