package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/test/e2e/cluster"
)

// inBackground is added to every sync: foreground deletion needs a garbage collector.
const inBackground = "PrunePropagationPolicy=background"

// ApplicationOption changes an Application before it is created.
type ApplicationOption func(application *unstructured.Unstructured)

// AutoSync lets Argo CD sync, prune and heal by itself, with these sync options. A failed sync is retried `retries`
// times, 1 s apart; Argo CD's own default is 5.
func AutoSync(retries int, syncOptions ...string) ApplicationOption {
	return func(application *unstructured.Unstructured) {
		application.Object["spec"].(map[string]any)["syncPolicy"] = map[string]any{
			"automated":   map[string]any{"prune": true, "selfHeal": true},
			"syncOptions": list(append(syncOptions, inBackground)),
			"retry": map[string]any{
				"limit":   int64(retries),
				"backoff": map[string]any{"duration": "1s", "factor": int64(1)},
			},
		}
	}
}

// Automate lets Argo CD sync an Application by itself from now on, as AutoSync does from the beginning.
func (a *ArgoCD) Automate(ctx context.Context, name string, retries int, syncOptions ...string) error {
	application := applicationObject(name)
	application.Object["spec"] = map[string]any{}
	AutoSync(retries, syncOptions...)(application)
	return a.patch(ctx, applicationObject(name), map[string]any{"spec": application.Object["spec"]})
}

// SetAutomated changes spec.syncPolicy.automated of an Application, as a person does; nil turns it off.
func (a *ArgoCD) SetAutomated(ctx context.Context, name string, automated map[string]any) error {
	return a.patch(ctx, applicationObject(name), map[string]any{"spec": map[string]any{"syncPolicy": map[string]any{"automated": automated}}})
}

// IsAutomated reports whether Argo CD syncs the Application by itself.
func (a *ArgoCD) IsAutomated(ctx context.Context, name string) (bool, error) {
	application, err := a.Application(ctx, name)
	if err != nil {
		return false, err
	}
	_, on, err := unstructured.NestedMap(application.Object, "spec", "syncPolicy", "automated")
	return on, err
}

// Kustomized sets what is under spec.source.kustomize, in YAML.
func Kustomized(kustomize string) ApplicationOption {
	return func(application *unstructured.Unstructured) {
		var given map[string]any
		if err := yaml.Unmarshal([]byte(kustomize), &given); err != nil {
			panic(fmt.Sprintf("kustomize of Application %s: %v", application.GetName(), err)) // a literal in a test
		}
		application.Object["spec"].(map[string]any)["source"].(map[string]any)["kustomize"] = given
	}
}

// Annotated adds an annotation to the Application.
func Annotated(key, value string) ApplicationOption {
	return func(application *unstructured.Unstructured) {
		annotations := application.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		application.SetAnnotations(annotations)
	}
}

// CreateApplication makes an Application of the folder `path` in the repository ("." is all of it). Objects without a
// namespace go to "default". It is synced by Sync alone unless AutoSync is among the options.
func (a *ArgoCD) CreateApplication(ctx context.Context, name string, repo *Repo, path string, options ...ApplicationOption) error {
	application := applicationObject(name)
	application.Object["spec"] = map[string]any{
		"project":     "default",
		"source":      map[string]any{"repoURL": repo.URL(), "path": path, "targetRevision": Branch},
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "default"},
	}
	for _, option := range options {
		option(application)
	}
	if err := a.client.Create(ctx, application); err != nil {
		return fmt.Errorf("create Application %s: %w", name, err)
	}
	return nil
}

// CreateFromManifest makes the Application of a manifest, with another repository in place of its own.
func (a *ArgoCD) CreateFromManifest(ctx context.Context, file string, repo *Repo) error {
	objects, err := cluster.ParseFiles(file)
	if err != nil {
		return err
	}
	application := objects[0]
	spec := application.Object["spec"].(map[string]any)
	spec["source"].(map[string]any)["repoURL"] = repo.URL()
	policy := spec["syncPolicy"].(map[string]any)
	policy["syncOptions"] = append(policy["syncOptions"].([]any), inBackground)
	if err := a.client.Create(ctx, application); err != nil {
		return fmt.Errorf("create the Application of %s: %w", file, err)
	}
	return nil
}

// DeleteApplication removes the Application and leaves its objects alone.
func (a *ArgoCD) DeleteApplication(ctx context.Context, name string) error {
	return a.client.Delete(ctx, applicationObject(name))
}

// Sync asks for the newest commit to be applied, with pruning, and returns when Argo CD has begun, at most 30 s later.
// Sync options of the Application's syncPolicy do not count here; give them again.
func (a *ArgoCD) Sync(ctx context.Context, name string, syncOptions ...string) error {
	id := fmt.Sprint(time.Now().UnixNano())
	operation := map[string]any{
		"initiatedBy": map[string]any{"username": cluster.FieldManager},
		"info":        []any{map[string]any{"name": operationID, "value": id}},
		"sync":        map[string]any{"prune": true, "syncOptions": list(append(syncOptions, inBackground))},
	}
	if err := a.patch(ctx, applicationObject(name), map[string]any{"operation": operation}); err != nil {
		return err
	}
	return a.await(ctx, name, "begin the sync", func(application *unstructured.Unstructured) bool {
		return operationOf(application).id == id
	})
}

// Refresh makes Argo CD compare the cluster with the newest commit and returns when it has, at most 30 s later.
func (a *ArgoCD) Refresh(ctx context.Context, name string) error {
	const annotation = "argocd.argoproj.io/refresh"
	asked := map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: "normal"}}}
	if err := a.patch(ctx, applicationObject(name), asked); err != nil {
		return err
	}
	return a.await(ctx, name, "refresh", func(application *unstructured.Unstructured) bool {
		return application.GetAnnotations()[annotation] == ""
	})
}

// Terminate aborts the operation that runs, or that waits to be tried again, and returns when it has ended, at most 30 s later.
func (a *ArgoCD) Terminate(ctx context.Context, name string) error {
	asked := map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": terminating}}}
	if err := a.patch(ctx, applicationObject(name), asked); err != nil {
		return err
	}
	return a.await(ctx, name, "terminate the operation", func(application *unstructured.Unstructured) bool {
		operation := operationOf(application)
		return operation.Ended() && operation.Phase != terminating
	})
}

// await is for what Argo CD does at once when asked; what takes time is awaited in a story.
func (a *ArgoCD) await(ctx context.Context, name, what string, done func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		application, err := a.Application(ctx, name)
		if err == nil && done(application) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("no answer of Argo CD to: %s of Application %s: %w", what, name, errors.Join(ctx.Err(), err))
		}
	}
}

// Application reads the Application as it is.
func (a *ArgoCD) Application(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	application := applicationObject(name)
	return application, a.client.Get(ctx, client.ObjectKeyFromObject(application), application)
}

func (a *ArgoCD) patch(ctx context.Context, object *unstructured.Unstructured, merge map[string]any) error {
	content, err := json.Marshal(merge)
	if err != nil {
		return err
	}
	name := object.GetKind() + " " + object.GetName()
	if err := a.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, content)); err != nil {
		return fmt.Errorf("patch %s: %w", name, err)
	}
	return nil
}

func applicationObject(name string) *unstructured.Unstructured {
	return cluster.Object("argoproj.io/v1alpha1", "Application", Namespace, name)
}

func list(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}
