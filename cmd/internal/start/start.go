// Package start is what moult and moult-controller say alike when they start: their version, and which flag or which
// cluster keeps them from starting.
package start

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

// Version is the module version, and the commit where that is not told by the version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && version == "(devel)" {
			version += " " + s.Value
		}
	}
	return version
}

// Check refuses options that cannot work, naming the flag. Flags have their defaults by now, so what is zero was set to
// zero by a person.
func Check(o migration.Options) error {
	switch {
	case o.LabelKey == "":
		return errors.New("--label-key is empty; write it like moult.dev/migrate")
	case o.Settle <= 0:
		return fmt.Errorf("--settle is %s; it must be longer than 0, because without it a write at an old version can land unseen after the proof", o.Settle)
	case o.MaxInFlight < 1:
		return fmt.Errorf("--max-in-flight is %d; at least 1 write must be allowed", o.MaxInFlight)
	case o.MaxQueued <= 0:
		return fmt.Errorf("--max-queued is %v; it must be above 0, for example %v", o.MaxQueued, throttle.DefaultMaxQueued)
	}
	if err := o.Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// NoAnswer is the error of a cluster that cannot be reached; check is where a person should look.
func NoAnswer(check string, err error) error {
	return fmt.Errorf("the cluster does not answer; check %s: %w", check, err)
}
