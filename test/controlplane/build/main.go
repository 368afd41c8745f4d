// Command build makes sure that kube-apiserver and etcd are there for the tests and the demo, and builds what is missing.
//
// Run it as `make control-plane`. It needs only Go, prints nothing when there is nothing to do, and may run in several
// clones at once: a lock lets the first one build and the others wait. MOULT_KUBERNETES=1.34 asks for an older
// kube-apiserver. With -clean it removes what it has built or fetched, of all versions; with -minors it lists those there
// are.
//
// The tests check what is pinned, so it builds that for them. The demo can be told on any version that Moult supports:
// with -ready it takes programs that are there already or fetches them, builds only if it finds none (ready.go), and
// prints their folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

func main() {
	clean := flag.Bool("clean", false, "remove what was built of all versions, and what was fetched")
	minors := flag.Bool("minors", false, "print the minor versions of Kubernetes there are modules for, the oldest first")
	ready := flag.Bool("ready", false, "take or fetch programs of any supported version, build only if there are none, and print their folder")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	m := &maker{out: os.Stderr}
	var err error
	switch {
	case *clean:
		err = m.clean(ctx)
	case *minors:
		err = printMinors()
	case *ready:
		err = printReady(ctx, m)
	default:
		err = m.buildPinned(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted, nothing is left half done")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane:", err)
		os.Exit(1)
	}
}

// maker builds and fetches programs, and tells a person what it is about.
type maker struct{ out io.Writer }

func (m *maker) say(format string, args ...any) { fmt.Fprintf(m.out, format+"\n", args...) }

func (m *maker) buildPinned(ctx context.Context) error {
	found, err := assets.Locate()
	if err != nil || found.Check() == nil {
		return err
	}
	if found.Given { // the programs are the user's own, and are not built
		return found.Check()
	}
	return m.build(ctx, found)
}

func printMinors() error {
	minors, err := assets.Minors()
	for _, minor := range minors {
		fmt.Println(minor)
	}
	return err
}

func printReady(ctx context.Context, m *maker) error {
	dir, err := newReadiness(m).find(ctx)
	if err == nil {
		fmt.Println(dir)
	}
	return err
}

// clean removes what was built of every minor version, and what was fetched.
func (m *maker) clean(ctx context.Context) error {
	fetched, err := assets.Fetched()
	if err != nil {
		return err
	}
	folders := []string{fetched}
	minors, err := assets.Minors()
	if err != nil {
		return err
	}
	for _, minor := range minors {
		found, err := assets.Of(minor)
		if err != nil {
			return err
		}
		folders = append(folders, found.Dir)
	}
	for _, folder := range folders {
		if err := m.remove(ctx, folder); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) remove(ctx context.Context, folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return nil // it was never made
	}
	unlock, err := m.lock(ctx, folder+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return removeAll(folder)
}
