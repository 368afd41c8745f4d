package flux

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/process"
	"github.com/moult-dev/moult/test/e2e/story"
	"github.com/moult-dev/moult/test/e2e/tools"
)

const (
	releaseAPI  = "helm.toolkit.fluxcd.io/v2"
	releaseKind = "HelmRelease"
)

// StartHelm runs the real helm-controller beside kustomize-controller. Charts come from an address that has each as
// CHART-VERSION.tgz: what source-controller would do with a HelmChart is done here.
func (f *Flux) StartHelm(ctx context.Context, config *rest.Config, charts string) (stop func(), err error) {
	program, err := tools.HelmController()
	if err != nil {
		return nil, err
	}
	if err := cluster.ApplyCRDs(ctx, f.client, filepath.Join(program.Source, "config", "crd", "bases", "*.yaml")); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(f.work, "kubeconfig")
	if err := cluster.WriteKubeconfig(config, kubeconfig); err != nil {
		return nil, err
	}
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	controller, err := process.Start(process.Command{
		Name:   "helm-controller",
		Path:   program.Binary,
		Args:   []string{"--metrics-addr=" + process.Loopback(ports[0]), "--health-addr=" + process.Loopback(ports[1]), "--requeue-dependency=5s"},
		Env:    []string{"RUNTIME_NAMESPACE=" + Namespace, "KUBECONFIG=" + kubeconfig, "TMPDIR=" + f.work, "HOME=" + f.work},
		LogDir: f.work, Scratch: f.work,
	})
	if err != nil {
		return nil, err
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	go f.serveCharts(serving, charts)
	stop = func() { end(); controller.Stop() }
	if err := controller.Await(ctx, "its workers run", controller.Logged("Starting workers")); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// serveCharts offers each HelmChart the archive of the version that it asks for. What fails is tried again.
func (f *Flux) serveCharts(ctx context.Context, charts string) {
	for ctx.Err() == nil {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(sourceAPI, "HelmChartList"))
		if err := f.client.List(ctx, list); err == nil {
			for i := range list.Items {
				_ = f.offer(ctx, &list.Items[i], charts)
			}
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (f *Flux) offer(ctx context.Context, chart *unstructured.Unstructured, charts string) error {
	name, _, _ := unstructured.NestedString(chart.Object, "spec", "chart")
	version, _, _ := unstructured.NestedString(chart.Object, "spec", "version")
	if has, _, _ := unstructured.NestedString(chart.Object, "status", "artifact", "revision"); has == version {
		return nil
	}
	archive := name + "-" + version + ".tgz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, charts+"/"+archive, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %w", archive, response.Status, err)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": chart.GetGeneration(), "observedChartName": name,
		"url": charts + "/" + archive,
		"artifact": map[string]any{
			"url": charts + "/" + archive, "path": archive, "revision": version,
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(content)), "size": len(content), "lastUpdateTime": now,
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "ChartPullSucceeded", "observedGeneration": chart.GetGeneration(),
			"message": "pulled '" + name + "' chart with version '" + version + "'", "lastTransitionTime": now,
		}},
	}})
	if err != nil {
		return err
	}
	return f.client.Status().Patch(ctx, chart, client.RawPatch(types.MergePatchType, status))
}

// ReleasedAt is a check for story.Await: the HelmRelease is Ready with that version of its chart.
func (f *Flux) ReleasedAt(namespace, name, version string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		release, err := cluster.Get(ctx, f.client, releaseAPI, releaseKind, namespace, name)
		if err != nil {
			return err.Error(), false, client.IgnoreNotFound(err)
		}
		history, _, _ := unstructured.NestedSlice(release.Object, "status", "history")
		at := ""
		if len(history) > 0 {
			at, _ = history[0].(map[string]any)["chartVersion"].(string)
		}
		ready, message := cluster.Condition(release, "Ready")
		return fmt.Sprintf("HelmRelease at %s, Ready=%s: %s", at, ready, message), at == version && ready == "True", nil
	}
}

// ReleaseFails is a check for story.Await: the HelmRelease is not Ready, with that text in its message.
func (f *Flux) ReleaseFails(namespace, name, text string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		release, err := cluster.Get(ctx, f.client, releaseAPI, releaseKind, namespace, name)
		ready, message := cluster.Condition(release, "Ready")
		return fmt.Sprintf("HelmRelease Ready=%s: %s", ready, message), ready == "False" && strings.Contains(message, text), err
	}
}

// SuspendRelease does what `flux suspend helmrelease` does, or `flux resume`.
func (f *Flux) SuspendRelease(ctx context.Context, namespace, name string, suspended bool) error {
	merge := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspended)
	return f.client.Patch(ctx, cluster.Object(releaseAPI, releaseKind, namespace, name), client.RawPatch(types.MergePatchType, merge), client.FieldOwner("flux"))
}
