package builders

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// YAML is what objects look like in one file.
func YAML[Object interface{ UnstructuredContent() map[string]any }](objects []Object) string {
	documents := make([]string, len(objects))
	for i, object := range objects {
		raw, err := yaml.Marshal(object.UnstructuredContent())
		if err != nil {
			panic(err) // it was YAML before
		}
		documents[i] = string(raw)
	}
	return strings.Join(documents, "---\n")
}
