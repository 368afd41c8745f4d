package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

// inTree is Kubernetes' own migrator: a kube-controller-manager with it, and with the garbage collector, whose graph it
// takes the objects from, and nothing else. It begins when a StorageVersionMigration is created.
var inTree = contender{
	name:       "in-tree",
	roundTrips: 1,
	trims:      true,
	start:      startInTree,
	begin:      beginInTree,
	end:        endInTree,
}

// migrations are how one asks for it; nudges holds the object that moves the garbage collector's cache on.
var (
	migrations = schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: "v1beta1", Resource: "storageversionmigrations"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

const nudges = "bench-nudges"

func startInTree(ctx context.Context, e *entry) (*process, error) {
	if err := createNudge(ctx, e); err != nil {
		return nil, err
	}
	p, err := e.stage.start("in-tree", e.kubeconfig, e.stage.controllerManager,
		"--kubeconfig="+e.kubeconfig, "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=false",
		"--controllers=garbage-collector-controller,storage-version-migrator-controller",
		"--feature-gates=StorageVersionMigrator=true")
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		select {
		case <-p.ended:
			return nil, p.failed(errors.New("it has ended"))
		default:
		}
		log, err := os.ReadFile(p.log)
		switch {
		case err == nil && strings.Contains(string(log), "all resource monitors have synced"):
			return p, nil
		case err != nil || ctx.Err() != nil || time.Now().After(deadline):
			p.stop()
			return nil, p.failed(errors.Join(errors.New("its garbage collector has not synced"), err, ctx.Err()))
		}
	}
}

// createNudge makes an object of the same resource, in a namespace of its own.
func createNudge(ctx context.Context, e *entry) error {
	client, err := dynamic.NewForConfig(e.cp.Config)
	if err != nil {
		return err
	}
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": nudges}}}
	_, _ = client.Resource(namespaces).Create(ctx, space, metav1.CreateOptions{}) // it may be there
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "nudge"}}}
	object.SetGroupVersionKind(e.resource().GroupVersion().WithKind(e.set.kind))
	_, err = client.Resource(e.resource()).Namespace(nudges).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// beginInTree asks for the migration. It waits until the garbage collector's cache has seen something newer than the
// request, which takes up to a minute where nobody writes: so an object is written each second until it begins.
func beginInTree(ctx context.Context, e *entry) error {
	client, err := dynamic.NewForConfig(e.cp.Config)
	if err != nil {
		return err
	}
	wish := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": e.set.gr.Group + "-" + e.target},
		"spec":     map[string]any{"resource": map[string]any{"group": e.set.gr.Group, "resource": e.set.gr.Resource}},
	}}
	wish.SetGroupVersionKind(migrations.GroupVersion().WithKind("StorageVersionMigration"))
	if _, err := client.Resource(migrations).Create(ctx, wish, metav1.CreateOptions{}); err != nil {
		return err
	}
	witness, nudge := e.witness, client.Resource(e.resource()).Namespace(nudges)
	go func() {
		for i := 0; ctx.Err() == nil && witness.sees().First.IsZero(); i++ {
			patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, i)
			_, _ = nudge.Patch(ctx, "nudge", types.MergePatchType, patch, metav1.PatchOptions{})
			time.Sleep(time.Second)
		}
	}()
	return nil
}

func endInTree(ctx context.Context, e *entry) error {
	client, err := dynamic.NewForConfig(e.cp.Config)
	if err != nil {
		return err
	}
	if err := inTreeFinished(ctx, e); err != nil {
		return err
	}
	return errors.Join(
		client.Resource(migrations).Delete(ctx, e.set.gr.Group+"-"+e.target, metav1.DeleteOptions{}),
		client.Resource(e.resource()).Namespace(nudges).Delete(ctx, "nudge", metav1.DeleteOptions{}))
}

// inTreeFinished waits until the migrator has said so on the CRD, which it would otherwise never do, and Moult stands
// back for as long.
func inTreeFinished(ctx context.Context, e *entry) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		crd, err := e.crds.Get(ctx, e.set.crdName(), metav1.GetOptions{})
		if err != nil || apihelpers.IsCRDConditionFalse(crd, apiextensionsv1.StorageMigrating) {
			return err
		}
		if time.Now().After(deadline) {
			return e.process.failed(fmt.Errorf("%s is still being migrated", crd.Name))
		}
	}
}

// controllerManager finds what `make kube-controller-manager` has built.
func controllerManager(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	binary, err := assets.ControllerManager()
	if err != nil {
		return "", fmt.Errorf("%w, or leave in-tree out with --only", err)
	}
	return binary, nil
}
