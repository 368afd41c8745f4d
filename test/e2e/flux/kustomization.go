package flux

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Kustomization is how Flux sees one Kustomization.
type Kustomization struct {
	Name               string
	Generation         int64
	ObservedGeneration int64
	// LastAppliedRevision is the last one that was applied and, where asked for, healthy.
	LastAppliedRevision string
	// LastAttemptedRevision is the last one that was begun.
	LastAttemptedRevision string
	// LastHandledReconcileAt is the last request of RequestReconcile that was fulfilled, successfully or not.
	LastHandledReconcileAt string
	Conditions             []metav1.Condition
	// Inventory are the objects it owns, as namespace_name_group_kind.
	Inventory []string
}

// Condition is the one of that type, or the zero value.
func (k Kustomization) Condition(conditionType string) metav1.Condition {
	for _, condition := range k.Conditions {
		if condition.Type == conditionType {
			return condition
		}
	}
	return metav1.Condition{}
}

// Ready reports whether the Ready condition is True and speaks of the present spec.
func (k Kustomization) Ready() bool {
	return k.Condition("Ready").Status == metav1.ConditionTrue && k.ObservedGeneration == k.Generation
}

func (k Kustomization) String() string {
	ready := k.Condition("Ready")
	return fmt.Sprintf("Kustomization %s Ready=%s %s: %s", k.Name, ready.Status, ready.Reason, ready.Message)
}

// CreateKustomization makes a Kustomization of the source. The spec is YAML, as in a manifest; left out, path is "./",
// prune true, interval 1h, retryInterval 5s and timeout 30s.
func (f *Flux) CreateKustomization(ctx context.Context, name string, source *Source, spec string) error {
	complete := map[string]any{
		"path": "./", "prune": true,
		"interval": "1h", "retryInterval": "5s", "timeout": "30s",
		"sourceRef": map[string]any{"kind": sourceKind, "name": source.name},
	}
	var given map[string]any
	if err := yaml.UnmarshalStrict([]byte(spec), &given); err != nil {
		return fmt.Errorf("spec of Kustomization %s: %w", name, err)
	}
	maps.Copy(complete, given)
	object := kustomizationObject(name)
	object.Object["spec"] = complete
	if err := f.client.Create(ctx, object); err != nil {
		return fmt.Errorf("create Kustomization %s: %w", name, err)
	}
	return nil
}

// DeleteKustomization removes the Kustomization; Flux then deletes what it owns, if it prunes.
func (f *Flux) DeleteKustomization(ctx context.Context, name string) error {
	return f.client.Delete(ctx, kustomizationObject(name))
}

// OrphanKustomization removes the Kustomization and leaves what it has applied.
func (f *Flux) OrphanKustomization(ctx context.Context, name string) error {
	merge := []byte(`{"spec":{"deletionPolicy":"Orphan"}}`)
	if err := f.client.Patch(ctx, kustomizationObject(name), client.RawPatch(types.MergePatchType, merge)); err != nil {
		return fmt.Errorf("have Kustomization %s leave its objects: %w", name, err)
	}
	return f.DeleteKustomization(ctx, name)
}

// Suspend does what `flux suspend kustomization` does, or `flux resume`.
func (f *Flux) Suspend(ctx context.Context, name string, suspended bool) error {
	merge := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspended)
	return f.client.Patch(ctx, kustomizationObject(name), client.RawPatch(types.MergePatchType, merge), client.FieldOwner("flux"))
}

// RequestReconcile makes Flux look at the Kustomization now. It does not wait for it.
func (f *Flux) RequestReconcile(ctx context.Context, name string) error {
	_, err := f.request(ctx, name)
	return err
}

// Reconciled makes Flux look at the Kustomization now, and is a check for story.Await: it has.
func (f *Flux) Reconciled(ctx context.Context, name string) (story.Check, error) {
	asked, err := f.request(ctx, name)
	return f.KustomizationWhere(name, func(k Kustomization) bool { return k.LastHandledReconcileAt == asked }), err
}

func (f *Flux) request(ctx context.Context, name string) (asked string, err error) {
	now := time.Now().Format(time.RFC3339Nano)
	merge := fmt.Appendf(nil, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, now)
	if err := f.client.Patch(ctx, kustomizationObject(name), client.RawPatch(types.MergePatchType, merge)); err != nil {
		return "", fmt.Errorf("request a reconcile of Kustomization %s: %w", name, err)
	}
	return now, nil
}

// Kustomization reads it as it is.
func (f *Flux) Kustomization(ctx context.Context, name string) (Kustomization, error) {
	object := kustomizationObject(name)
	if err := f.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return Kustomization{}, err
	}
	content, err := json.Marshal(object.Object["status"])
	if err != nil {
		return Kustomization{}, err
	}
	var status struct {
		ObservedGeneration                         int64
		LastAppliedRevision, LastAttemptedRevision string
		LastHandledReconcileAt                     string
		Conditions                                 []metav1.Condition
		Inventory                                  struct{ Entries []struct{ ID string } }
	}
	if err := json.Unmarshal(content, &status); err != nil {
		return Kustomization{}, fmt.Errorf("status of Kustomization %s: %w", name, err)
	}
	found := Kustomization{
		Name: name, Generation: object.GetGeneration(), ObservedGeneration: status.ObservedGeneration,
		LastAppliedRevision: status.LastAppliedRevision, LastAttemptedRevision: status.LastAttemptedRevision,
		LastHandledReconcileAt: status.LastHandledReconcileAt,
		Conditions:             status.Conditions,
	}
	for _, entry := range status.Inventory.Entries {
		found.Inventory = append(found.Inventory, entry.ID)
	}
	return found, nil
}

// Ready is the Kustomization's Ready condition; the zero value before there is one.
func (f *Flux) Ready(ctx context.Context, name string) (metav1.Condition, error) {
	found, err := f.Kustomization(ctx, name)
	return found.Condition("Ready"), err
}

// Conditions are all of the Kustomization's conditions.
func (f *Flux) Conditions(ctx context.Context, name string) ([]metav1.Condition, error) {
	found, err := f.Kustomization(ctx, name)
	return found.Conditions, err
}

// KustomizationWhere is a check for story.Await: the Kustomization is as wanted.
func (f *Flux) KustomizationWhere(name string, wanted func(Kustomization) bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		found, err := f.Kustomization(ctx, name)
		return found.String(), err == nil && wanted(found), err
	}
}

// ReadyAt is a check for story.Await: the Kustomization is Ready and has applied that revision.
func (f *Flux) ReadyAt(name, revision string) story.Check {
	return f.KustomizationWhere(name, func(k Kustomization) bool {
		return k.Ready() && k.LastAppliedRevision == revision
	})
}

// NotReady is a check for story.Await: the Kustomization is not Ready and the condition's reason or message contains
// the text.
func (f *Flux) NotReady(name, text string) story.Check {
	return f.KustomizationWhere(name, func(k Kustomization) bool {
		ready := k.Condition("Ready")
		said := ready.Reason + ": " + ready.Message
		return ready.Status != metav1.ConditionTrue && strings.Contains(said, text)
	})
}

func kustomizationObject(name string) *unstructured.Unstructured {
	return cluster.Object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", Namespace, name)
}
