package argocd

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/e2e/story"
)

// Status is how Argo CD sees an Application after its last comparison.
type Status struct {
	// Sync is Synced, OutOfSync or Unknown.
	Sync string
	// Revision is the commit it was compared with.
	Revision string
	// Health is the worst of its objects': Healthy, Progressing, Degraded, Suspended, Missing or Unknown.
	Health string
	// Conditions are warnings and errors by type, ComparisonError for example, with their messages.
	Conditions map[string]string
	// Objects are those of the commit and those it tracks.
	Objects []ObjectStatus
}

// ObjectStatus is how Argo CD sees one object. Health is empty for kinds that have none.
type ObjectStatus struct {
	Group, Version, Kind, Namespace, Name string
	Sync, Health, HealthMessage           string
}

// Object finds the object of that kind and name; the zero value when Argo CD does not list it.
func (s Status) Object(kind, name string) ObjectStatus {
	for _, object := range s.Objects {
		if object.Kind == kind && object.Name == name {
			return object
		}
	}
	return ObjectStatus{}
}

func (s Status) String() string {
	text := fmt.Sprintf("%s at %.7s, %s", s.Sync, s.Revision, s.Health)
	for _, object := range s.Objects {
		if object.Health != "" && object.Health != "Healthy" {
			text += fmt.Sprintf(" [%s/%s %s: %s]", object.Kind, object.Name, object.Health, object.HealthMessage)
		}
		if s.Sync == "OutOfSync" && object.Sync == "OutOfSync" && object.Health != "Missing" {
			text += fmt.Sprintf(" [%s/%s differs]", object.Kind, object.Name)
		}
	}
	for kind, message := range s.Conditions {
		text += fmt.Sprintf(" [%s: %s]", kind, message)
	}
	return text
}

// Status reads what the last comparison found. Refresh first when it must be a new one.
func (a *ArgoCD) Status(ctx context.Context, name string) (Status, error) {
	application, err := a.Application(ctx, name)
	if err != nil {
		return Status{}, err
	}
	return statusOf(application), nil
}

// Health is the Application's health alone.
func (a *ArgoCD) Health(ctx context.Context, name string) (string, error) {
	status, err := a.Status(ctx, name)
	return status.Health, err
}

// StatusWhere is a check for story.Await: the Application's status is as wanted.
func (a *ArgoCD) StatusWhere(name string, wanted func(Status) bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		status, err := a.Status(ctx, name)
		return status.String(), err == nil && wanted(status), err
	}
}

// HealthIs is a check for story.Await: the Application is Synced at that commit ("" is any) and has that health.
func (a *ArgoCD) HealthIs(name, commit, health string) story.Check {
	return a.StatusWhere(name, func(s Status) bool {
		return s.Sync == "Synced" && s.Health == health && (commit == "" || commit == s.Revision)
	})
}

func statusOf(application *unstructured.Unstructured) Status {
	var found struct {
		Sync       struct{ Status, Revision string }
		Health     struct{ Status string }
		Conditions []struct{ Type, Message string }
		Resources  []struct {
			Group, Version, Kind, Namespace, Name, Status string
			Health                                        struct{ Status, Message string }
		}
	}
	decode(application, &found, "status")
	status := Status{
		Sync: found.Sync.Status, Revision: found.Sync.Revision, Health: found.Health.Status,
		Conditions: map[string]string{},
	}
	for _, condition := range found.Conditions {
		status.Conditions[condition.Type] = condition.Message
	}
	for _, r := range found.Resources {
		status.Objects = append(status.Objects, ObjectStatus{
			Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name,
			Sync: r.Status, Health: r.Health.Status, HealthMessage: r.Health.Message,
		})
	}
	return status
}

// decode reads a part of the object into plain structs, whose field names JSON matches without regard to case. Absent or
// unfit parts leave zero values: an Application starts without any status.
func decode(object *unstructured.Unstructured, into any, fields ...string) {
	part, found, err := unstructured.NestedMap(object.Object, fields...)
	if err != nil || !found {
		return
	}
	if content, err := json.Marshal(part); err == nil {
		_ = json.Unmarshal(content, into)
	}
}
