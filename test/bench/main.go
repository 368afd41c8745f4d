// Command bench measures Moult beside the other ways of migrating a CRD's stored objects, all on one control plane and
// with the same objects. Run it as `make bench`, or here, for a part of it:
//
//	go run . --only ceiling,moult --rtt 0 --rounds 1 --objects 1000
//	go run . lag --only moult --lag-runs 20   # stale objects with an API server that stands still across the flip
//	go run . memory                           # Moult's memory with many objects and with many CRDs
//	go run . restart                          # what a crash and a second pass cost
//	go run . gates                            # how long one VersionRemoval waits beside thousands of another namespace
//	go run . managers                         # how fast objects with many field managers are migrated
//	go run . survivors                        # what it costs to look for what still names a version
//
// A file per contender (moult.go, clusterapi.go, …) tells how it is started and told to begin; lap.go is one run of one
// of them, and report.go what is made of all runs. What was rewritten and when is judged by a watch of etcd (witness.go),
// never by what a contender says.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var modes = map[string]func(context.Context, *options) error{
	"table": runTable, "lag": runLag, "memory": runMemory, "restart": runRestart, "gates": runGates, "managers": runManagers,
	"survivors": runSurvivors,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "child" {
		return runChild(ctx, args[1:])
	}
	log.SetLogger(logr.Discard())  // envtest's
	klog.SetLogger(logr.Discard()) // of watches that are stopped
	mode := "table"
	if len(args) > 0 && modes[args[0]] != nil {
		mode, args = args[0], args[1:]
	}
	o, err := parse(mode, args)
	if err != nil {
		return err
	}
	return modes[mode](ctx, o)
}
