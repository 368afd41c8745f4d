// Package start is what moult and moult-controller share when they start: their version, and the places they know. It has
// the errors about a flag or a cluster that keeps them from starting.
package start

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite/throttle"
	"github.com/moult-dev/moult/policies/survivors"
)

// version, commit and date are set by the linker in a release (test/tools/release). Elsewhere Go's own build information has
// what there is.
var version, commit, date string

// Build is what a program was built from. Fields that are not known are empty, but for Version.
type Build struct {
	Version string // like v0.1.0; "(devel)" or a pseudo-version outside releases
	Commit  string // 40 hexadecimal digits
	Date    string // of the commit, in RFC 3339
	Go      string
}

// Of is what this program was built from.
func Of() Build {
	b := Build{Version: "unknown", Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Date = s.Value
			}
		}
	}
	if version != "" {
		b.Version, b.Commit, b.Date = version, commit, date
	}
	return b
}

// Version is the version in one line, with the commit and its date where they are known.
func Version() string {
	b := Of()
	if b.Commit == "" {
		return b.Version
	}
	return b.Version + " (" + b.from() + ")"
}

// from is the commit and its date.
func (b Build) from() string { return "commit " + b.Commit[:min(12, len(b.Commit))] + " of " + b.Date }

// UserAgent is what a program calls itself in requests, as in moult/v0.1.0 (linux/amd64; commit 0123456789ab of 2026-11-25T01:26:06Z).
func UserAgent(program string) string {
	b, about := Of(), runtime.GOOS+"/"+runtime.GOARCH
	if b.Commit != "" {
		about += "; " + b.from()
	}
	return program + "/" + b.Version + " (" + about + ")"
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

// Places are those that Moult knows, and those of a person's own folder, which --places names; empty for none.
func Places(folder string) ([]survivors.Place, error) {
	places := survivors.Embedded()
	if folder == "" {
		return places, nil
	}
	own, err := survivors.Load(os.DirFS(folder))
	if err == nil {
		places, err = survivors.Join(places, own)
	}
	if err != nil {
		return nil, fmt.Errorf("--places %s: %w", folder, err)
	}
	return places, nil
}

// NoAnswer is the error of a cluster that cannot be reached; check is where a person should look.
func NoAnswer(check string, err error) error {
	return fmt.Errorf("the cluster does not answer; check %s: %w", check, err)
}
