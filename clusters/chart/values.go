package chart

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Row is one value of the chart, as the README lists it.
type Row struct {
	// Name is its path, as in image.tag.
	Name string
	// Default is JSON.
	Default string
	// About is what its comment in values.yaml says.
	About string
}

// Rows are the values of values.yaml in their order. A value has a comment that begins with "--"; one without is a group.
func Rows(values []byte) (rows []Row, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(values, &document); err != nil {
		return nil, err
	}
	var add func(above string, of *yaml.Node) error
	add = func(above string, of *yaml.Node) error {
		for i := 0; i+1 < len(of.Content); i += 2 {
			key, value := of.Content[i], of.Content[i+1]
			name := above + key.Value
			about, is := strings.CutPrefix(key.HeadComment, "# -- ")
			if !is {
				if value.Kind != yaml.MappingNode {
					return fmt.Errorf("%s has no comment that begins with --", name)
				}
				if err := add(name+".", value); err != nil {
					return err
				}
				continue
			}
			var decoded any
			if err := value.Decode(&decoded); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			asJSON, err := json.Marshal(decoded)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rows = append(rows, Row{name, string(asJSON), about})
		}
		return nil
	}
	return rows, add("", document.Content[0])
}
