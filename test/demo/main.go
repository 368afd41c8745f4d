// Command demo tells in under a minute what Moult is for, with nothing played: a real kube-apiserver on a real etcd, the
// real moult-controller, and every number counted in etcd.
//
// Run it with `make demo`. The story itself is story.go, one function per step, with migration.go and gate.go for what
// Moult does in it; cast.go starts and stops everything that acts, census.go reads the objects as a client does, and
// teller.go is how it looks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type options struct {
	objects    int
	keep       bool
	settle     time.Duration
	controller string
}

func main() { os.Exit(tell(os.Args[1:])) }

// tell plays the story and returns the exit code.
func tell(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // envtest's; the story tells what matters

	o, err := parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 2
	}
	t := newTeller(os.Stdout)
	return exitCode(ctx, t, run(ctx, t, o))
}

func parse(args []string) (options, error) {
	var o options
	fs := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	fs.IntVar(&o.objects, "objects", 1000, "How many objects to migrate.")
	fs.BoolVar(&o.keep, "keep", false, "Leave everything running at the end, until Ctrl-C.")
	fs.DurationVar(&o.settle, "settle", 5*time.Second, "Settle time of the controller; in a real cluster it is 90s.")
	fs.StringVar(&o.controller, "controller", "bin/moult-controller", "The moult-controller binary to run.")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; everything is set by flags, see --help", fs.Arg(0))
	}
	if o.objects < 1 || o.settle <= 0 {
		return o, errors.New("--objects must be at least 1 and --settle longer than 0")
	}
	if _, err := os.Stat(o.controller); err != nil {
		return o, fmt.Errorf("no moult-controller at %s; run `make demo`, which builds it", o.controller)
	}
	return o, nil
}

// exitCode says how the story ended, if it did not end well: 130 after Ctrl-C, as shells do, else 1.
func exitCode(ctx context.Context, t *teller, err error) int {
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		t.say("\nInterrupted. Everything the demo started is stopped.")
		return 130
	default:
		t.failed(err)
		return 1
	}
}
