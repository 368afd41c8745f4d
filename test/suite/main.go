// Command suite runs the tests of the main module as `make test` does: against one control plane, which the packages
// share, with the race detector where there is concurrency to find fault with, and with a summary that ends in the time it
// took and the slowest packages.
//
//	go run ./test/suite          # everything but the long proofs of `make test-full`
//	go run ./test/suite -fast    # what needs no server
//	go run ./test/suite -long    # the tests that cost most, which the first leaves out
//	go run ./test/suite -full    # everything, all of it with the race detector
//	go run ./test/suite -servers # what asks a Kubernetes API server, for another Kubernetes (MOULT_KUBERNETES=1.34)
//	go run ./test/suite -- -shuffle=on -count=2
//
// What follows -- goes to go test. With -touched it tests nothing, and prints the short parts of `make test-full` that the
// changes since a commit may concern.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/controlplane/assets"
	"github.com/moult-dev/moult/test/programs"
)

func main() {
	var s suite
	flag.BoolVar(&s.fast, "fast", false, "run only what needs no server and takes no more than some seconds")
	flag.BoolVar(&s.long, "long", false, "run only the tests that cost most")
	flag.BoolVar(&s.full, "full", false, "run everything, all of it with the race detector")
	flag.BoolVar(&s.servers, "servers", false, "run only what needs a server")
	flag.BoolVar(&s.race, "race", true, "use the race detector, which needs a C compiler")
	base := flag.String("touched", "", "print the short parts of make test-full that the changes since this `commit` may concern")
	flag.Parse()
	s.goTest = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	run := s.run
	if *base != "" {
		run = func(ctx context.Context) error { return touched(ctx, *base, os.Stdout) }
	}
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// suite is what the command line asks for.
type suite struct {
	fast, long, full, servers, race bool
	// goTest are flags for go test, after the suite's own.
	goTest []string
}

func (s suite) run(ctx context.Context) error {
	began := time.Now()
	packages, err := list(ctx)
	if err != nil {
		return err
	}
	env := os.Environ()
	if !s.fast {
		shared, err := controlplane.Start(controlplane.ForMany()...)
		if err != nil {
			return err
		}
		defer func() { _ = shared.Stop() }() // it holds nothing that anybody needs
		dir, err := shared.Share()
		if err != nil {
			return err
		}
		built, err := os.MkdirTemp("", "moult-programs")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(built) }()
		if err := programs.Build(built); err != nil {
			return err
		}
		sum, err := programs.Sum(built)
		if err != nil {
			return err
		}
		env = append(env, controlplane.EnvShared+"="+dir, programs.EnvDir+"="+built, programs.EnvSum+"="+sum)
	}
	// Go's cache of results does not see which Kubernetes answers.
	if s.servers || os.Getenv(assets.EnvMinor) != "" || os.Getenv(assets.EnvDir) != "" {
		s.goTest = append([]string{"-count=1"}, s.goTest...)
	}
	results := &results{out: os.Stdout}
	if s.leavesLong() && !s.fast {
		results.skipped = left()
	}
	err = s.test(ctx, packages, env, results)
	results.summary(time.Since(began))
	return err
}

// test runs the groups side by side: each waits for servers for much of its time.
func (s suite) test(ctx context.Context, packages []pkg, env []string, to *results) error {
	groups := s.groups(packages)
	errs := make([]error, len(groups))
	var running sync.WaitGroup
	for i, g := range groups {
		running.Go(func() { errs[i] = g.run(ctx, s.goTest, env, to) })
	}
	running.Wait()
	return errors.Join(errs...)
}
