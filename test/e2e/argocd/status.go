package argocd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/e2e/story"
)

// The phases of an operation.
const (
	Running   = "Running"
	Succeeded = "Succeeded"
	Failed    = "Failed"
	Error     = "Error"

	terminating = "Terminating"
)

// operationID names the mark by which Sync finds its own operation again: their times have a resolution of 1 s.
const operationID = "moult-e2e"

// Operation is the running or the last sync. The zero value means there was none.
type Operation struct {
	Phase   string
	Message string
	// Revision is the commit it applies.
	Revision string
	// StartedAt and FinishedAt have a resolution of 1 s. FinishedAt is zero while it runs.
	StartedAt, FinishedAt time.Time
	// RetryCount is how often the operation was begun anew.
	RetryCount int64
	// Resources are the objects it has come to so far.
	Resources []Resource

	id string
}

// Resource is what an operation did with one object.
type Resource struct {
	Group, Kind, Namespace, Name string
	// Status is Synced, SyncFailed, Pruned or PruneSkipped; empty while it is open.
	Status string
	// Phase tells how the object's health is seen: Running while the next wave waits for it.
	Phase   string
	Message string
}

// Ended is false while the operation waits or works.
func (o Operation) Ended() bool { return !o.FinishedAt.IsZero() }

// Resource finds what was done with an object of that kind and name; the zero value when it was not reached yet.
func (o Operation) Resource(kind, name string) Resource {
	for _, resource := range o.Resources {
		if resource.Kind == kind && resource.Name == name {
			return resource
		}
	}
	return Resource{}
}

func (o Operation) String() string {
	if o.Phase == "" {
		return "no operation"
	}
	text := fmt.Sprintf("operation %s at %.7s: %s", o.Phase, o.Revision, o.Message)
	for _, r := range o.Resources {
		if r.Status != "Synced" && r.Status != "Pruned" {
			text += fmt.Sprintf(" [%s/%s %s%s: %s]", r.Kind, r.Name, r.Status, r.Phase, r.Message)
		}
	}
	return text
}

// Operation reads the running or last operation.
func (a *ArgoCD) Operation(ctx context.Context, name string) (Operation, error) {
	application, err := a.Application(ctx, name)
	if err != nil {
		return Operation{}, err
	}
	return operationOf(application), nil
}

// OperationWhere is a check for story.Await: the Application's operation is as wanted.
func (a *ArgoCD) OperationWhere(name string, wanted func(Operation) bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		operation, err := a.Operation(ctx, name)
		return operation.String(), err == nil && wanted(operation), err
	}
}

// OperationIs is a check for story.Await: the operation is in that phase and its message contains the text. After a
// commit that Argo CD syncs by itself, ask with OperationWhere for the commit too: the last operation is still seen.
func (a *ArgoCD) OperationIs(name, phase, text string) story.Check {
	return a.OperationWhere(name, func(o Operation) bool {
		return o.Phase == phase && strings.Contains(o.Message, text)
	})
}

// operationJSON is the part of an Application's status.operationState that is of use here.
type operationJSON struct {
	Operation struct {
		Info []struct{ Name, Value string }
		Sync struct{ Revision string }
	}
	Phase, Message        string
	StartedAt, FinishedAt time.Time
	RetryCount            int64
	SyncResult            struct {
		Revision  string
		Resources []struct{ Group, Kind, Namespace, Name, Status, HookPhase, Message string }
	}
}

func operationOf(application *unstructured.Unstructured) Operation {
	var state operationJSON
	decode(application, &state, "status", "operationState")
	operation := Operation{
		Phase: state.Phase, Message: state.Message, Revision: state.SyncResult.Revision,
		StartedAt: state.StartedAt, FinishedAt: state.FinishedAt, RetryCount: state.RetryCount,
	}
	if operation.Revision == "" {
		operation.Revision = state.Operation.Sync.Revision
	}
	for _, info := range state.Operation.Info {
		if info.Name == operationID {
			operation.id = info.Value
		}
	}
	for _, r := range state.SyncResult.Resources {
		operation.Resources = append(operation.Resources, Resource{
			Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name,
			Status: r.Status, Phase: r.HookPhase, Message: r.Message,
		})
	}
	return operation
}
