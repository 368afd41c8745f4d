package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// source is the commit that is built.
type source struct {
	root     string
	revision string
	version  string // a tag, or what lies between the last one and the commit
	time     time.Time
}

// look asks git. What is changed and not committed is built, too, and the version says so.
func look(ctx context.Context, root string) (source, error) {
	s := source{root: root}
	var err error
	if s.revision, err = s.output(ctx, nil, "git", "rev-parse", "HEAD"); err != nil {
		return s, err
	}
	if s.version, err = s.output(ctx, nil, "git", "describe", "--tags", "--always", "--dirty"); err != nil {
		return s, err
	}
	s.version = regexp.MustCompile(`[^A-Za-z0-9_.-]`).ReplaceAllString(s.version, "-") // what an image's tag may hold
	seconds, err := s.output(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return s, err
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	s.time = time.Unix(at, 0).UTC()
	return s, err
}

// light refuses a program that has become too heavy.
func light(program, name, platform string) error {
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	if size := info.Size(); size > most[name] {
		return fmt.Errorf("%s for %s has %.1f MB, and may have %d; `go tool nm -size -sort size` lists what is in it", name, platform, float64(size)/1e6, most[name]/1e6)
	}
	return nil
}

// hasty has compilers collect no garbage before they hold 1.5 GiB: to collect it is a third of what they do.
var hasty = []string{"GOGC=off", "GOMEMLIMIT=1536MiB"}

// compile builds programs for a platform, without cgo, so that they need nothing around them. They know the commit that they
// were built from, which cmd/internal/start reports. What is in the folder has been built before, in the same run.
func (s source) compile(ctx context.Context, folder, platform string, names ...string) (programs []string, err error) {
	system, architecture, found := strings.Cut(platform, "/")
	if !found {
		return nil, fmt.Errorf("the platform is %q; write it like linux/amd64", platform)
	}
	const start = "-X github.com/moult-dev/moult/cmd/internal/start."
	flags := "-s -w -funcalign=16 " + start + "version=" + s.version + " " + start + "commit=" + s.revision + " " + start + "date=" + s.time.Format(time.RFC3339)
	work, err := os.MkdirTemp("", "moult-overlay-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + architecture, "GOWORK=off"}
	overlay, err := s.overlay(ctx, work, env...)
	if err != nil {
		return nil, err
	}
	env = slices.Concat(env, overlay, hasty)
	for _, name := range names {
		program, err := filepath.Abs(filepath.Join(folder, fileName(name, platform)))
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
		if _, err := os.Stat(program); err == nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "building %s for %s; minutes, if this machine has not built it before\n", name, platform)
		if _, err := s.output(ctx, env, filepath.Join(work, "go", "bin", "go"), "build", "-trimpath", "-gcflags=all=-dwarf=false", "-buildvcs=false", "-ldflags="+flags, "-o", program, "./cmd/"+name); err != nil {
			return nil, err
		}
		if err := light(program, name, platform); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// output runs a program at the root of the repository.
func (s source) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = s.root, append(os.Environ(), env...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
