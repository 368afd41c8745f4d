package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// ExitNoAnswer is the exit code of errors where 2 means that something is not known, and 3 that there is bad news.
const ExitNoAnswer = 1

// OrNoAnswer is an error with that exit code, unless it has one of its own, or was an interruption.
func OrNoAnswer(c *cobra.Command, err error) error {
	if err == nil || c.Context().Err() != nil || errors.As(err, new(Ended)) {
		return err
	}
	return Ended{Code: ExitNoAnswer, Err: err}
}
