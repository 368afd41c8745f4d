package flux

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"gopkg.in/yaml.v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Substitute changes an object as Flux does, by its text. What has no value becomes empty with Flux; it stays as it is
// here if it may have one that cannot be known, and is returned.
func Substitute(object *delivery.Object, values map[string]string, complete bool) ([]string, error) {
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
