// Command build makes sure that kube-apiserver and etcd are there for the tests and the demo, and builds what is missing.
//
// Run it as `make control-plane`. It needs only Go, prints nothing when there is nothing to do, and may run in several
// clones at once: a lock lets the first one build and the others wait. MOULT_KUBERNETES=1.34 asks for an older
// kube-apiserver. With -clean it removes what it has built, of all versions; with -minors it lists those there are.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

func main() {
	clean := flag.Bool("clean", false, "remove the built programs of the pinned versions")
	minors := flag.Bool("minors", false, "print the minor versions of Kubernetes there are modules for, the oldest first")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *clean, *minors)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, clean, list bool) error {
	if clean || list {
		return ofAll(ctx, clean)
	}
	found, err := assets.Locate()
	if err != nil || found.Check() == nil {
		return err
	}
	if found.Given { // the programs are the user's own, and are not built
		return found.Check()
	}
	unlock, err := lock(ctx, found.Dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range found.Missing() { // asked again under the lock: another make may have built them meanwhile
		if err := build(ctx, found, p); err != nil {
			return err
		}
	}
	return nil
}

// ofAll removes what was built of every minor version, or lists them.
func ofAll(ctx context.Context, clean bool) error {
	minors, err := assets.Minors()
	if err != nil {
		return err
	}
	for _, minor := range minors {
		if !clean {
			fmt.Println(minor)
			continue
		}
		if err := remove(ctx, minor); err != nil {
			return err
		}
	}
	return nil
}

func remove(ctx context.Context, minor string) error {
	found, err := assets.Of(minor)
	if err != nil {
		return err
	}
	if _, err := os.Stat(found.Dir); errors.Is(err, os.ErrNotExist) {
		return nil // it was never built
	}
	unlock, err := lock(ctx, found.Dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return os.RemoveAll(found.Dir)
}

// lock holds the file until unlock is called or the process dies, so that a killed build leaves no stale lock.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = file.Close() }

	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return unlock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			unlock()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			fmt.Println("control plane: another make is building it, waiting")
		}
		select {
		case <-ctx.Done():
			unlock()
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// build compiles one program beside its place and moves it there, so that a half-written file is never taken for it.
func build(ctx context.Context, a assets.Assets, p assets.Program) error {
	started := time.Now()
	fmt.Printf("%s %s: built once, %s\n", p.Name, p.Version, expectedTime(p))

	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(a.Dir, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	output := filepath.Join(temporary, p.Name)

	var log bytes.Buffer // Go's download lines matter only when it fails
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags", ldflags(p), "-o", output, p.Package)
	cmd.Dir = p.ModuleDir
	cmd.Env = buildEnv()
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted, nothing is left half built")
		}
		return fmt.Errorf("%s %s did not build: %w\n%s", p.Name, p.Version, err, log.Bytes())
	}
	if err := os.Rename(output, a.Path(p)); err != nil {
		return err
	}
	fmt.Printf("%s %s: ready after %s, in %s\n", p.Name, p.Version, time.Since(started).Round(time.Second), a.Dir)
	return nil
}

func expectedTime(p assets.Program) string {
	if p.Name == "etcd" {
		return "under a minute"
	}
	return fmt.Sprintf("about 4 minutes on 2 cores (this machine has %d)", runtime.NumCPU())
}

// ldflags gives kube-apiserver the version that Kubernetes' own build stamps in; without it /version says v0.0.0-master.
func ldflags(p assets.Program) string {
	if p.Name != "kube-apiserver" {
		return ""
	}
	parts := strings.SplitN(strings.TrimPrefix(p.Version, "v"), ".", 3)
	const stamp = "-X k8s.io/component-base/version."
	return stamp + "gitVersion=" + p.Version + " " + stamp + "gitMajor=" + parts[0] + " " + stamp + "gitMinor=" + parts[1]
}

// buildEnv takes back what settings made for another project would change in this build. GOFLAGS is set rather than
// emptied, because an empty one falls back to `go env -w`; CGO is off so that no C compiler is needed.
func buildEnv() []string {
	return append(os.Environ(),
		"GOFLAGS=-mod=readonly", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}
