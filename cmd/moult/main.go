// Command moult shows how far CustomResourceDefinitions are migrated and migrates them once, without a controller. It
// is a kubectl plug-in as well: installed as kubectl-moult it answers to `kubectl moult`.
//
// Each subcommand is a package of its own, which parses, loads, calls and prints; what they share is in internal. The exit
// codes are in internal/cli and in `moult help exit-codes`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

func main() {
	log.SetLogger(logr.Discard()) // what libraries log is for controllers
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // what does not end at the first signal is ended by the second, as without us
	f := &cli.Factory{Name: nameFrom(os.Args[0]), Out: os.Stdout, ErrOut: os.Stderr}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		f.In = os.Stdin
	}
	code := f.Run(ctx, newRoot(f), os.Args[1:])
	stop()
	os.Exit(code)
}
