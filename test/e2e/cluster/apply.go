package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply writes the objects server-side, in their order, taking over fields that others own. It stops at the first error,
// which names the object.
func Apply(ctx context.Context, c client.Client, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := applyOnce(ctx, c, object)
		for end := time.Now().Add(10 * time.Second); meta.IsNoMatchError(err) && ctx.Err() == nil && time.Now().Before(end); { // a CRD is Established before all of discovery has it
			time.Sleep(100 * time.Millisecond)
			err = applyOnce(ctx, c, object)
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

func applyOnce(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	configuration := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
	return c.Apply(ctx, configuration, client.FieldOwner(FieldManager), client.ForceOwnership)
}

// Parse reads the YAML documents of a manifest; empty ones are left out.
func Parse(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parse manifest: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// ParseFiles reads the manifests whose names match the pattern (path/filepath.Match), in the order of their names.
// It is an error when there are none.
func ParseFiles(pattern string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no manifests at %s: %w", pattern, errors.Join(err, os.ErrNotExist))
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := Parse(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// ApplyCRDs applies the CustomResourceDefinitions of the files and waits until the API server serves them.
func ApplyCRDs(ctx context.Context, c client.Client, pattern string) error {
	crds, err := ParseFiles(pattern)
	if err != nil {
		return err
	}
	if err := Apply(ctx, c, crds...); err != nil {
		return err
	}
	for _, crd := range crds {
		if err := awaitEstablished(ctx, c, crd); err != nil {
			return err
		}
	}
	return nil
}

func awaitEstablished(ctx context.Context, c client.Client, crd *unstructured.Unstructured) error {
	live := Object(crd.GetAPIVersion(), crd.GetKind(), "", crd.GetName())
	for {
		if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return fmt.Errorf("wait for CRD %s: %w", crd.GetName(), err)
		}
		if status, _ := Condition(live, "Established"); status == "True" {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("CRD %s is not Established: %w", crd.GetName(), ctx.Err())
		}
	}
}

// Condition is the status and the message of a condition in status.conditions; empty when there is none.
func Condition(object *unstructured.Unstructured, conditionType string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		condition, ok := each.(map[string]any)
		if !ok || condition["type"] != conditionType {
			continue
		}
		status, _ = condition["status"].(string)
		message, _ = condition["message"].(string)
		return status, message
	}
	return "", ""
}
