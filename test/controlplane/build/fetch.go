package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

const (
	// toolWithin bounds the build of setup-envtest, which takes seconds once its modules are there.
	toolWithin = time.Minute
	// fetchWithin bounds a fetch that goes on, but so slowly that building is quicker.
	fetchWithin = 4 * time.Minute
)

// fetch lets setup-envtest fetch programs into the store. The tool works in a folder beside the others, which is removed
// whatever happens, and what it has fetched is moved from there when it has been seen to run: a half-written program is
// never taken for a whole one.
func (r *readiness) fetch(ctx context.Context, store string, minors []string) (assets.Assets, error) {
	if os.Getenv("ENVTEST_INSTALLED_ONLY") != "" { // setup-envtest's own word for it
		return assets.Assets{}, errors.New("nothing is fetched while ENVTEST_INSTALLED_ONLY is set")
	}
	started := time.Now()
	r.say("control plane: asking setup-envtest for a kube-apiserver and an etcd, which is quicker than building them")
	work := filepath.Join(store, ".fetching")
	if err := errors.Join(removeAll(work), os.MkdirAll(work, 0o755)); err != nil { // an earlier fetch may have been killed
		return assets.Assets{}, err
	}
	defer func() { _ = removeAll(work) }()

	tool, err := buildTool(ctx)
	if err != nil {
		return assets.Assets{}, err
	}
	if err := r.runTool(ctx, tool, work, "<="+minors[len(minors)-1]); err != nil {
		return assets.Assets{}, fmt.Errorf("setup-envtest fetched nothing: %w", err)
	}
	found, version, err := keep(ctx, work, store, minors)
	if err != nil {
		return assets.Assets{}, fmt.Errorf("what setup-envtest fetched is of no use: %w", err)
	}
	r.say("control plane: using kube-apiserver %s, fetched in %.0f s (%s)", version, time.Since(started).Seconds(), found.Dir)
	return found, nil
}

// buildTool returns the path of setup-envtest, which go builds at the version that is pinned and keeps in its own cache.
func buildTool(ctx context.Context) (path string, err error) {
	module, err := assets.SetupEnvtest()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, toolWithin, fmt.Errorf("setup-envtest is not built after %s", toolWithin))
	defer cancel()
	var words bytes.Buffer
	cmd := goCommand(ctx, module, "tool", "-n", "setup-envtest") // -n prints what it would run
	cmd.Stderr = &words
	answer, err := cmd.Output()
	switch {
	case err == nil:
		return strings.TrimSpace(string(answer)), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	default:
		return "", fmt.Errorf("setup-envtest did not build: %w", reason(words.String(), err))
	}
}

// runTool runs setup-envtest, with all that it writes below dir, and ends it when nothing arrives any more: it has no
// timeouts of its own.
func (r *readiness) runTool(ctx context.Context, tool, dir, selector string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchWithin, fmt.Errorf("it is not done after %s", fetchWithin))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go r.watch(ctx, dir, giveUp)

	args := []string{"use", selector, "--bin-dir", dir, "--use-env=false"}
	if r.index != "" {
		args = append(args, "--index", r.index)
	}
	var words bytes.Buffer
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // for the archive
	cmd.Stderr = &words
	switch err := cmd.Run(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return reason(words.String(), err)
	}
}

// watch gives up when nothing below the folder has changed for as long as there is patience.
func (r *readiness) watch(ctx context.Context, dir string, giveUp context.CancelCauseFunc) {
	last, since := int64(-1), time.Now()
	for {
		if bytes := sizeOf(dir); bytes != last {
			last, since = bytes, time.Now()
		}
		if time.Since(since) > r.patience {
			giveUp(fmt.Errorf("nothing has arrived for %s", r.patience))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sizeOf adds up what lies below a folder that somebody writes to.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, _ error) error {
		if entry != nil {
			if info, err := entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil // what is gone meanwhile counts no more
	})
	return bytes
}

// keep moves the programs that were fetched into the store if they run and are of a version that will do.
func keep(ctx context.Context, work, store string, minors []string) (assets.Assets, string, error) {
	fetched := assets.In(work, minors)
	if len(fetched) == 0 {
		return assets.Assets{}, "", fmt.Errorf("it has no Kubernetes %s", spoken(minors))
	}
	found := fetched[0]
	version, err := supported(ctx, found, minors)
	if err != nil {
		return found, version, err
	}
	place := filepath.Join(store, "k8s", filepath.Base(found.Dir))
	err = errors.Join(removeAll(place), os.MkdirAll(filepath.Dir(place), 0o755),
		os.Chmod(found.Dir, 0o755), // setup-envtest takes the permission to write away, and moving a folder writes to it
		os.Rename(found.Dir, place))
	found.Dir = place
	return found, version, err
}

// reason is the last line of what a program has said before it failed: the one that tells why. Two checksums make a long
// one, and the beginning is enough.
func reason(words string, err error) error {
	const most = 200
	lines := strings.Split(strings.TrimSpace(words), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	switch {
	case last == "":
		return err
	case len(last) > most:
		return errors.New(last[:most] + "…")
	default:
		return errors.New(last)
	}
}

// removeAll removes a folder with what setup-envtest has made read-only in it.
func removeAll(dir string) error {
	readOnly, _ := filepath.Glob(filepath.Join(dir, "k8s", "*")) // the pattern is well formed
	for _, folder := range readOnly {
		if err := os.Chmod(folder, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
