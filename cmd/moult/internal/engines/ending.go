package engines

import (
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/policies/conversion"
)

// Ending is the exit code of a verdict.
func Ending(v conversion.Verdict) error {
	switch v {
	case conversion.NotKept:
		return cli.Ended{Code: cli.ExitNotDone}
	case conversion.NotKnown:
		return cli.Ended{Code: cli.ExitUnknown}
	case conversion.Kept:
	}
	return nil
}
