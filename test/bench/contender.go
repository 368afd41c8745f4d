package main

import (
	"context"
	"fmt"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// contender is one way to migrate a CRD's objects.
type contender struct {
	name string
	// roundTrips per object, one after the other, if it never has two requests under way: its rate does not depend on
	// how many objects there are, and fewer of them keep the benchmark short. 0 means many at once.
	roundTrips int
	// trims says that it takes the old version out of storedVersions. The others leave that to people.
	trims bool
	// proves says that it checks every object once more before it trims.
	proves bool
	// variant says that it is another contender with other settings, and not asked about what these do not change.
	variant bool
	// hold and release change the CRD so that it does not begin, in the same write as the flip of the storage version,
	// and begins. They are nil for those that begin by being told.
	hold, release func(*apiextensionsv1.CustomResourceDefinition)
	// start has it ready, begin tells it to migrate, end tidies up while it still runs. begin and end may be nil.
	start      func(context.Context, *entry) (*process, error)
	begin, end func(context.Context, *entry) error
}

// entry is one contender's run: where it takes place and who looks on.
type entry struct {
	*stage
	options    *options
	set        *objectSet
	target     string // version
	kubeconfig string // leads through the proxy
	workers    int    // of the ceiling
	process    *process
	witness    *witness
}

func (e *entry) resource() schema.GroupVersionResource { return e.set.gr.WithVersion(e.target) }

// contenders in the order of the table.
var contenders = []*contender{&ceiling, &moult, &moultFull, &clusterAPI, &inTree, &listPut, &listGetPut}

// entrants are the contenders that are asked for.
func (o *options) entrants() ([]*contender, error) {
	named, err := contendersNamed(o.Only)
	return append(named, besides(o.Beside)...), err
}

func contendersNamed(names []string) ([]*contender, error) {
	var found []*contender
	for _, name := range names {
		before := len(found)
		for _, c := range contenders {
			if c.name == name {
				found = append(found, c)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("no contender is called %q; there are %v", name, contenderNames())
		}
	}
	return found, nil
}

func contenderNames() []string {
	names := make([]string, len(contenders))
	for i, c := range contenders {
		names[i] = c.name
	}
	return names
}

// child starts a contender that is a part of this program, and returns when it is ready to be told to go.
func child(ctx context.Context, e *entry, name string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := e.resource()
	p, err := e.stage.start(name, e.kubeconfig, self, append([]string{"child", name, r.Group, r.Version, r.Resource, e.set.kind}, args...)...)
	if err != nil {
		return nil, err
	}
	if _, err := p.answer(ctx, time.Minute); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// sayGo tells a contender that is a part of this program to migrate.
func sayGo(_ context.Context, e *entry) error { return e.process.tell("go") }
