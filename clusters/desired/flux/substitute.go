package flux

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"gopkg.in/yaml.v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// substitute changes an object as Flux does, by its text. What has no value becomes empty with Flux; it stays as it is
// here if it may have one that cannot be known, and is returned.
func substitute(object *delivery.Object, values map[string]string, complete bool) ([]string, error) {
	raw, err := yaml.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(raw), "$") {
		return nil, nil
	}
	unknown := map[string]bool{}
	changed, err := envsubst.Eval(string(raw), func(name string) (string, bool) {
		value, known := values[name]
		if !known && !complete {
			unknown[name] = true
		}
		return value, true
	})
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		return slices.Collect(maps.Keys(unknown)), nil
	}
	content := &unstructured.Unstructured{}
	raw, err = unpacking.YAMLToJSON([]byte(changed))
	if err == nil {
		err = content.UnmarshalJSON(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("it is no manifest afterwards: %w", err)
	}
	object.Unstructured = content
	return nil, nil
}

// variables are what Flux puts in place of ${…}, those of substitute over those of substituteFrom. From a Secret, or
// from a ConfigMap that is encrypted or not in this repository, they cannot be known: then some are missing.
func (o Objects) variables(by *delivery.Object) (values map[string]string, missing []string) {
	values = map[string]string{}
	for _, from := range by.Entries("spec", "postBuild", "substituteFrom") {
		kind, name := from.Text("kind"), from.Text("name")
		found := o.Held("ConfigMap", by.GetNamespace(), name)
		if kind != "ConfigMap" || found == nil || strings.Contains(fmt.Sprint(found.Field("data")), delivery.Encrypted) {
			missing = append(missing, kind+" "+name)
			continue
		}
		maps.Copy(values, found.TextMap("data"))
	}
	maps.Copy(values, by.TextMap("spec", "postBuild", "substitute"))
	return values, missing
}

// Unknown are variables whose values are not in the repository.
type Unknown struct {
	// Names are theirs, and Missing what the values are in.
	Names, Missing []string
	// Matters: some stand in what decides about CRDs, gates or deliveries.
	Matters bool
}

// SubstituteAll does in the objects of a Kustomization what its spec.postBuild says, as far as it can be known.
func (o Objects) SubstituteAll(by *delivery.Object, objects []*delivery.Object) (unknown Unknown, err error) {
	values, missing := o.variables(by)
	if len(values)+len(missing) == 0 && by.Text("spec", "postBuild", "substituteStrategy") != "Always" {
		return unknown, nil
	}
	names := map[string]bool{}
	for _, object := range objects {
		const setting = "kustomize.toolkit.fluxcd.io/substitute"
		if object.GetAnnotations()[setting] == "disabled" || object.GetLabels()[setting] == "disabled" {
			continue
		}
		of, err := substitute(object, values, len(missing) == 0)
		if err != nil {
			return unknown, fmt.Errorf("variables of %s %s cannot be substituted: %w", object.GetKind(), object.GetName(), err)
		}
		for _, name := range of {
			names[name], o.Templated[object] = true, true
			unknown.Matters = unknown.Matters || kinds.Matters(object)
		}
	}
	unknown.Names, unknown.Missing = slices.Sorted(maps.Keys(names)), missing
	return unknown, nil
}
