package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/e2e/story"
)

// Exists is a check for story.Await: the object is there.
func Exists(c client.Client, apiVersion, kind, namespace, name string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		object, err := Get(ctx, c, apiVersion, kind, namespace, name)
		if apierrors.IsNotFound(err) {
			return fmt.Sprintf("no %s %s", kind, name), false, nil
		}
		return fmt.Sprintf("%s %s at resourceVersion %s", kind, name, object.GetResourceVersion()), err == nil, err
	}
}

// Absent is a check for story.Holds: the object is not there.
func Absent(c client.Client, apiVersion, kind, namespace, name string) story.Check {
	exists := Exists(c, apiVersion, kind, namespace, name)
	return func(ctx context.Context) (string, bool, error) {
		seen, found, err := exists(ctx)
		return seen, !found, err
	}
}

// PatchStatus merges into the object's status, by its /status endpoint.
func PatchStatus(ctx context.Context, c client.Client, object *unstructured.Unstructured, status map[string]any) error {
	content, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if err := c.Status().Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, content)); err != nil {
		return fmt.Errorf("patch the status of %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	return nil
}
