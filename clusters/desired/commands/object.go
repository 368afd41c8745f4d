package commands

import (
	"bytes"
	"encoding/json"
	"maps"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/policies/delivery"
)

// InObject is what commands in an object install or delete; empty if there are none.
func InObject(object *delivery.Object) string {
	says := maps.Clone(object.Object)
	delete(says, "metadata")
	delete(says, "status")
	raw, err := json.Marshal(says)
	if err != nil || !MayRun(raw) && !bytes.Contains(raw, []byte("crd")) {
		return ""
	}
	text, _ := yaml.Marshal(says) // lines, as a person writes them
	return In("object.yaml", text).About
}
