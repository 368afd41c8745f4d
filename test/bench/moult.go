package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// moult is the real moult-controller as people run it. It begins when the CRD gets the opt-in label.
var moult = contender{
	name:    "moult",
	trims:   true,
	proves:  true,
	release: optIn,
	start:   startMoult(),
	end:     optOut,
}

// moultFull is the same with all of the API server for itself: as many writes may wait inside it as one connection
// carries.
var moultFull = contender{
	name:    "moult-full",
	trims:   true,
	proves:  true,
	variant: true,
	release: optIn,
	start:   startMoult("--max-in-flight=100", "--max-queued=100"),
	end:     optOut,
}

// besides are other builds of moult-controller, for a comparison of two commits in the same rounds.
func besides(binaries map[string]string) (found []*contender) {
	for _, name := range slices.Sorted(maps.Keys(binaries)) {
		found = append(found, &contender{
			name:    name,
			trims:   true,
			proves:  true,
			release: optIn,
			start: func(_ context.Context, e *entry) (*process, error) {
				return e.startController(binaries[name])
			},
			end: optOut,
		})
	}
	return found
}

func optIn(crd *apiextensionsv1.CustomResourceDefinition) {
	metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.MigrateLabel, v1alpha1.MigrateLabelValue)
}

func startMoult(flags ...string) func(context.Context, *entry) (*process, error) {
	return func(_ context.Context, e *entry) (*process, error) { return e.startController(e.stage.moult, flags...) }
}

func (e *entry) startController(binary string, flags ...string) (*process, error) {
	args := slices.Concat([]string{"--metrics-addr=0", "--health-addr=0", "--settle=" + e.options.Settle.String()}, flags, e.options.MoultFlags)
	return e.stage.start("moult", e.kubeconfig, binary, args...)
}

// optOut takes the label away and waits until the controller has taken its condition back: what it knows of this run
// is nothing for the next one.
func optOut(ctx context.Context, e *entry) error {
	err := builders.Update(ctx, e.cp.Config, e.set.crdName(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(crd.Labels, v1alpha1.MigrateLabel)
	})
	for deadline := time.Now().Add(20 * time.Second); err == nil; time.Sleep(50 * time.Millisecond) {
		var crd *apiextensionsv1.CustomResourceDefinition
		crd, err = e.crds.Get(ctx, e.set.crdName(), metav1.GetOptions{})
		switch {
		case err != nil:
		case conditionOf(crd) == nil:
			return nil
		case time.Now().After(deadline):
			err = fmt.Errorf("%s still has the condition %s although it has opted out", crd.Name, v1alpha1.StorageMigrated)
		}
	}
	return e.process.failed(err)
}

func conditionOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i, c := range crd.Status.Conditions {
		if c.Type == v1alpha1.StorageMigrated {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}

// buildMoult builds the controller of this repository into the folder, unless a binary is given.
func buildMoult(ctx context.Context, given, folder string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "moult-controller")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, "./cmd/moult-controller")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("moult-controller does not build: %w\n%s", err, output)
	}
	return binary, nil
}

// repository is the folder above this one that has the controller's source.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "moult-controller")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no cmd/moult-controller above %s: run inside the repository", start)
		}
	}
}
