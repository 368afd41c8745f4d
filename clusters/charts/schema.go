package charts

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
)

// nothing loads no schema, from nowhere.
type nothing struct{}

// Load implements jsonschema.URLLoader.
func (nothing) Load(string) (any, error) { return nil, errors.New("nothing is read from elsewhere") }

// validate holds values against values.schema.json, of the dependencies too, as Helm does. Helm also reads the files and
// addresses that a schema refers to; such a schema is passed over.
func validate(c *chartv2.Chart, values map[string]any) error {
	if len(c.Schema) > 0 {
		if err := validateOne(c.Schema, values); err != nil {
			return fmt.Errorf("the values of %s break its values.schema.json: %w", c.Name(), inOneLine(err))
		}
	}
	for _, dependency := range c.Dependencies() {
		if own, ok := values[dependency.Name()].(map[string]any); ok {
			if err := validate(dependency, own); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateOne(schema []byte, values map[string]any) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothing{})
	const name = "file:///values.schema.json"
	if err := compiler.AddResource(name, parsed); err != nil {
		return err
	}
	compiled, err := compiler.Compile(name)
	if errors.As(err, new(*jsonschema.LoadURLError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return compiled.Validate(values)
}
