package render

import (
	"fmt"
	"io"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Stream reads manifests that are rendered already, YAML or JSON, and takes Lists apart. The name is what their places
// call the stream, and so does the error when it cannot be read. Documents that are no objects, such as a chart's
// values, are left out.
func Stream(name string, r io.Reader) (*Rendering, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	parsed, err := sourceOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s is neither YAML nor JSON: %w", name, err)
	}
	rendering := &Rendering{Name: name}
	for _, d := range parsed.documents {
		object, err := d.object()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, d.node.Line, err)
		}
		rendering.Objects = append(rendering.Objects, &delivery.Object{
			Unstructured: object,
			At:           func(fields ...string) finding.Place { return d.place(name, fields) },
		})
	}
	return rendering, nil
}
