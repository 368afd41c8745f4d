package engines

import (
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/conversion"
)

// The exit codes beyond 0, for nothing lost, of commands that ask engines.
const (
	ExitNoAnswer = 1
	ExitNotKnown = 2
	ExitNotKept  = 3
)

// Ending is the exit code of a verdict.
func Ending(v conversion.Verdict) error {
	switch v {
	case conversion.NotKept:
		return cli.Ended{Code: ExitNotKept}
	case conversion.NotKnown:
		return cli.Ended{Code: ExitNotKnown}
	case conversion.Kept:
	}
	return nil
}
