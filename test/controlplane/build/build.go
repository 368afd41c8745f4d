package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

// build compiles what is missing of the pinned programs.
func (m *maker) build(ctx context.Context, pinned assets.Assets) error {
	unlock, err := m.lock(ctx, pinned.Dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range pinned.Missing() { // asked under the lock: another make may have built them meanwhile
		if err := m.buildOne(ctx, pinned, p); err != nil {
			return err
		}
	}
	return nil
}

// buildOne compiles one program beside its place and moves it there, so that a half-written file is never taken for it.
func (m *maker) buildOne(ctx context.Context, a assets.Assets, p assets.Program) error {
	started := time.Now()
	m.say("%s %s: built once, %s", p.Name, p.Version, expectedTime(p))

	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(a.Dir, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	output := filepath.Join(temporary, p.Name)
	if err := compile(ctx, p, output); err != nil {
		return err
	}
	if err := os.Rename(output, a.Path(p)); err != nil {
		return err
	}
	m.say("%s %s: ready after %s, in %s", p.Name, p.Version, time.Since(started).Round(time.Second), a.Dir)
	return nil
}

// compile builds a program from the module that pins it.
func compile(ctx context.Context, p assets.Program, output string) error {
	var log bytes.Buffer // Go's download lines matter only when it fails
	cmd := goCommand(ctx, p.ModuleDir, "build", "-buildvcs=false", "-ldflags", ldflags(p), "-o", output, p.Package)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%s %s did not build: %w\n%s", p.Name, p.Version, err, log.Bytes())
	}
	return nil
}

func expectedTime(p assets.Program) string {
	if p.Name == "etcd" {
		return "under a minute"
	}
	return fmt.Sprintf("about 4 minutes on 2 cores (this machine has %d)", runtime.NumCPU())
}

// small is a program without what only a debugger reads.
const small = "-s -w"

// ldflags gives kube-apiserver the version that Kubernetes' own build stamps in; without it /version says v0.0.0-master.
func ldflags(p assets.Program) string {
	if p.Name != "kube-apiserver" {
		return small
	}
	parts := strings.SplitN(strings.TrimPrefix(p.Version, "v"), ".", 3)
	const stamp = "-X k8s.io/component-base/version."
	return small + " " + stamp + "gitVersion=" + p.Version + " " + stamp + "gitMajor=" + parts[0] + " " + stamp + "gitMinor=" + parts[1]
}

// goCommand runs go in a module, and takes back what settings made for another project would change there. GOFLAGS is set
// rather than emptied, because an empty one falls back to `go env -w`, and is as in the Makefile, so that packages which
// Moult needs, too, are compiled once; CGO is off so that no C compiler is needed.
func goCommand(ctx context.Context, moduleDir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = moduleDir
	cmd.Env = append(os.Environ(),
		"GOFLAGS=-mod=readonly -trimpath -gcflags=all=-dwarf=false", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // what go has started may hold its output open
	return cmd
}
