// Command moult shows how far CustomResourceDefinitions are migrated and migrates them once, without a controller. It
// is a kubectl plug-in as well: installed as kubectl-moult it answers to `kubectl moult`.
//
// One file, or a few of the same name, per subcommand: status.go, migrate.go, opt_in.go, doctor.go, rbac.go and so on. What a subcommand has to say goes to standard output,
// progress and errors to standard error, an error being one line that says what to do next. The exit codes are in
// exit.go and in every help text.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	log.SetLogger(logr.Discard()) // what libraries log is for controllers
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // what does not end at the first signal is ended by the second, as without us
	code := run(ctx, nameFrom(os.Args[0]), os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
