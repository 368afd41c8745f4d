// Package deciding leaves out of an object what decides about no CRD, so that a change of it is none for those who ask what is brought.
package deciding

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// TextOf are what decides about CRDs in some objects, and who they are.
func TextOf(objects []*delivery.Object) string {
	var all []any
	for _, object := range objects {
		all = append(all, Of(object), object.GetKind(), object.Field("metadata"))
	}
	text, _ := json.Marshal(all) // they were read from YAML
	return string(text)
}

// InFile is what decides in a file of manifests, and all of a kustomization or any other file.
func InFile(file string, content []byte) []byte {
	read, err := render.Stream(file, bytes.NewReader(content))
	if err != nil || len(read.Objects) == 0 || render.KustomizationIn(filepath.Dir(file)) == file {
		return content
	}
	return []byte(TextOf(read.Objects))
}

// Of is an object without what says who it is, how it is doing, and when it is looked at.
func Of(object *delivery.Object) map[string]any {
	content := runtime.DeepCopyJSON(object.Object)
	delete(content, "metadata")
	if selects := selectedBy(object); len(selects) > 0 {
		content["selected by"] = selects
	}
	delete(content, "status")
	for _, field := range whenNotWhat {
		unstructured.RemoveNestedField(content, "spec", field)
	}
	for _, fields := range howOften {
		unstructured.RemoveNestedField(content, fields...)
		if around := fields[:len(fields)-1]; isEmpty(content, around) {
			unstructured.RemoveNestedField(content, around...)
		}
	}
	if replicas, isNumber := object.Field("spec", "replicas").(int64); isNumber && replicas > 0 && object.GroupVersionKind().Group == "apps" {
		unstructured.RemoveNestedField(content, "spec", "replicas")
	}
	if group := object.GroupVersionKind().Group; strings.HasSuffix(group, ".toolkit.fluxcd.io") {
		content["apiVersion"] = group // each version of Flux' own says the same
	}
	if fields := kinds.Becoming(object); len(fields) > 0 {
		becomes := map[string]any{"kind": object.GetKind()}
		for _, field := range fields {
			becomes[field] = object.Field("spec", field)
		}
		return becomes
	}
	withoutResources(content["spec"])
	if spec, ok := content["spec"].(map[string]any); ok && (kinds.IsHelmRelease(object) || object.Is("argoproj.io", "Application")) {
		decidingValues(spec)
	}
	return content
}

// selectedBy are the labels by which another object takes one, and what its annotations say about what it brings, or that it brings nothing
// for now.
func selectedBy(object *delivery.Object) map[string]string {
	found := map[string]string{}
	if object.GetKind() == "ResourceSetInputProvider" {
		maps.Copy(found, object.GetLabels())
	}
	for key, value := range object.GetAnnotations() {
		of, name, _ := strings.Cut(key, "/")
		isDeciding := of == "fluxcd.controlplane.io" && name != "reconcileEvery" || of == "apps.open-cluster-management.io"
		if isDeciding {
			found[key] = value
		}
	}
	if left := object.LeftAlone(); left != "" {
		found["left alone"] = left
	}
	return found
}

// whenNotWhat are fields of spec that say when and how patiently something is brought, and nothing about what. What is not
// listed counts, so that a field that we do not know is a change.
var whenNotWhat = []string{
	"interval", "retryInterval", "timeout", "wait", "dependsOn", "healthChecks", "healthCheckExprs", "maxHistory", "revisionHistoryLimit",
}

func isEmpty(content map[string]any, fields []string) bool {
	value, found, err := unstructured.NestedMap(content, fields...)
	return found && err == nil && len(value) == 0
}

// howOften are fields of a HelmRelease that say when and how patiently a chart is installed.
var howOften = [][]string{
	{"spec", "chart", "spec", "interval"}, {"spec", "install", "timeout"}, {"spec", "install", "createNamespace"}, {"spec", "upgrade", "timeout"},
}

// decidingValues leaves values for containers out of the spec of a HelmRelease or an Application.
func decidingValues(spec map[string]any) {
	WithoutContainers(spec["values"])
	sources, _ := spec["sources"].([]any)
	for _, one := range slices.Concat(sources, []any{spec["source"]}) {
		source, _ := one.(map[string]any)
		helm, _ := source["helm"].(map[string]any)
		WithoutContainers(helm["valuesObject"])
		text, _ := helm["values"].(string)
		if values, err := charts.ParseValues([]byte(text)); text != "" && err == nil {
			WithoutContainers(values)
			helm["values"] = values
		}
	}
}

// ofContainers are values that charts hand on to their containers and pods: what runs in them, how many, and where. They decide
// about no CRD, as in a Deployment that is not of a chart.
var ofContainers = []string{
	"image", "images", "imagePullSecrets", "resources", "replicas", "replicaCount", "nodeSelector", "tolerations", "affinity",
	"topologySpreadConstraints", "podAnnotations", "podLabels", "podSecurityContext", "securityContext", "priorityClassName",
	"livenessProbe", "readinessProbe", "startupProbe", "terminationGracePeriodSeconds", "containers", "initContainers",
}

// WithoutContainers leaves values for containers out of others.
func WithoutContainers(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			WithoutContainers(item)
		}
	case map[string]any:
		for key, item := range v {
			if strings.Contains(strings.ToLower(key), "crd") {
				continue // a Job that applies them has an image, too
			}
			if slices.Contains(ofContainers, key) && !bringsMore(item) && !hasCommands(key, item) && isOfContainers(key, item) {
				delete(v, key)
				continue
			}
			WithoutContainers(item)
			if inside, isMap := item.(map[string]any); isMap && len(inside) == 0 {
				delete(v, key) // as if it were not there
			}
		}
	}
}

// hasCommands reports whether a value is of containers with commands that install or delete something.
func hasCommands(key string, value any) bool {
	isOfContainers := strings.HasSuffix(strings.ToLower(key), "containers")
	return isOfContainers && commands.InObject(delivery.Wrap(map[string]any{key: value})) != ""
}

// isOfContainers reports whether a value is what containers have by that name: a number of replicas, images without switches.
func isOfContainers(key string, value any) bool {
	_, isMap := value.(map[string]any)
	switch key {
	case "resources":
		return areResources(value)
	case "replicas", "replicaCount":
		return !isMap
	case "image", "images":
		for _, inner := range crdschema.Each(value) {
			if _, isSwitch := inner.(bool); isSwitch {
				return false
			}
		}
	}
	return true
}

// withoutResources leaves out what containers ask for, of whatever object they are.
func withoutResources(value any) {
	for _, inner := range crdschema.Each(value) {
		if v, isMap := inner.(map[string]any); isMap && areResources(v["resources"]) && !bringsMore(v["resources"]) {
			delete(v, "resources")
		}
	}
}

// areResources reports whether a value is what containers ask for, and not a list of anything.
func areResources(value any) bool {
	asked, ok := value.(map[string]any)
	for key := range asked {
		ok = ok && slices.Contains([]string{"limits", "requests", "claims"}, key)
	}
	return ok
}

// bringsMore reports whether a value may be more than it is called: charts for raw manifests have these below resources.
func bringsMore(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, bringsMore)
	case map[string]any:
		for key, item := range v {
			if key == "kind" || key == "apiVersion" || strings.Contains(strings.ToLower(key), "crd") || bringsMore(item) {
				return true
			}
		}
	case string:
		return strings.Contains(v, "\n") || strings.Contains(v, "{{") || strings.Contains(strings.ToLower(v), "crd")
	}
	return false
}
