package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

// envIndex is the environment variable that names another index for setup-envtest than its own, such as a mirror.
const envIndex = "MOULT_ENVTEST_INDEX"

// readiness finds programs for the demo, whichever way is the quickest: the person's own, those that were built or
// fetched before, those that setup-envtest offers, and only then by building.
type readiness struct {
	*maker
	index    string        // for setup-envtest; its own if empty
	patience time.Duration // with a fetch that does not go on
	build    func(context.Context, assets.Assets) error
}

func newReadiness(m *maker) *readiness {
	return &readiness{maker: m, index: os.Getenv(envIndex), patience: 5 * time.Second, build: m.build}
}

// find returns the folder of programs that run and are of a version that Moult supports, or of the one that
// MOULT_KUBERNETES chooses. What is taken, and why something is not, is said; what was built before is taken silently.
func (r *readiness) find(ctx context.Context) (dir string, err error) {
	own, err := assets.Locate()
	if err != nil {
		return "", err
	}
	minors, err := chosenMinors()
	if err != nil {
		return "", err
	}
	if own.Given && r.suits(ctx, own, minors, "from "+assets.EnvDir) {
		return own.Dir, nil
	}
	pinned, err := assets.Of(os.Getenv(assets.EnvMinor))
	if err != nil || pinned.Check() == nil {
		return pinned.Dir, err
	}
	found, err := r.takeOrFetch(ctx, minors)
	if err == nil || ctx.Err() != nil {
		return found.Dir, err
	}
	r.say("control plane: %s", err)
	r.say("control plane: building kube-apiserver and etcd instead")
	return pinned.Dir, r.build(ctx, pinned)
}

// takeOrFetch holds a lock, so that of several clones one fetches and the others take what it has fetched.
func (r *readiness) takeOrFetch(ctx context.Context, minors []string) (assets.Assets, error) {
	store, err := assets.Fetched()
	if err != nil {
		return assets.Assets{}, err
	}
	unlock, err := r.lock(ctx, store+".lock")
	if err != nil {
		return assets.Assets{}, err
	}
	defer unlock()
	for _, found := range assets.In(store, minors) {
		if r.suits(ctx, found, minors, "fetched before") {
			return found, nil
		}
	}
	for _, found := range assets.In(assets.SetupEnvtestStore(), minors) {
		if r.suits(ctx, found, minors, "from setup-envtest's store") {
			return found, nil
		}
	}
	return r.fetch(ctx, store, minors)
}

// suits reports whether the programs run and are of one of the minor versions, and says what it finds.
func (r *readiness) suits(ctx context.Context, found assets.Assets, minors []string, origin string) bool {
	version, err := supported(ctx, found, minors)
	if err != nil {
		r.say("control plane: not using the programs %s (%s): %s", origin, found.Dir, err)
		return false
	}
	r.say("control plane: using kube-apiserver %s %s (%s)", version, origin, found.Dir)
	return true
}

// supported is the version of programs that run, or why they are of no use.
func supported(ctx context.Context, found assets.Assets, minors []string) (string, error) {
	version, err := found.Version(ctx)
	if err == nil && !assets.Supported(version, minors) {
		err = fmt.Errorf("kube-apiserver is %s, and Moult's demo needs %s", version, spoken(minors))
	}
	return version, err
}

// chosenMinors are the minor versions that will do: all that are supported, or the one that MOULT_KUBERNETES names.
func chosenMinors() ([]string, error) {
	if minor := os.Getenv(assets.EnvMinor); minor != "" {
		return []string{minor}, nil
	}
	return assets.Minors()
}

func spoken(minors []string) string {
	if len(minors) == 1 {
		return minors[0]
	}
	return minors[0] + " to " + minors[len(minors)-1]
}
