package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// task is what a contender that is a part of this program is started with, in a process of its own.
type task struct {
	config   *rest.Config
	resource schema.GroupVersionResource
	kind     string
	args     []string
}

// children are those contenders. Each calls await when it is ready, and returns when it has done its work.
var children = map[string]func(ctx context.Context, t task, await func() error) error{
	"ceiling":      runCeiling,
	"search":       runSearch,
	"cluster-api":  runClusterAPI,
	"list+put":     runListPut,
	"list+get+put": runListGetPut,

	"survivors":            runSurvey,
	"survivors-everything": runEverything,
	"survivors-at-once":    runAtOnce,
}

// runChild is `bench child NAME GROUP VERSION RESOURCE KIND [ARG…]`.
func runChild(ctx context.Context, args []string) error {
	if len(args) < 5 || children[args[0]] == nil {
		return errors.New("child is for the benchmark itself")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1 // each as fast as its way of working allows
	config.WarningHandler = rest.NoWarnings{}
	t := task{
		config: config, kind: args[4], args: args[5:],
		resource: schema.GroupVersionResource{Group: args[1], Version: args[2], Resource: args[3]},
	}
	input := bufio.NewReader(os.Stdin)
	await := func() error {
		fmt.Println("ready")
		_, err := input.ReadString('\n')
		return err
	}
	if err := children[args[0]](ctx, t, await); err != nil {
		return err
	}
	<-ctx.Done() // its memory is read until it is killed
	return nil
}
