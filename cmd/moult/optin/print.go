package optin

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	optincomponent "github.com/moult-dev/moult/clusters/components/opt-in"
)

// snippets are what --print knows.
var snippets = []string{"patch", "component", "argocd", "flux"}

// selection says which CRDs the Component labels, and how.
type selection struct {
	names       string // a regular expression for the whole name
	annotations string // a selector
	labelKey    string
}

// everything reports whether the Component does as it is.
func (s selection) everything() bool {
	return s.names == "" && s.annotations == "" && s.labelKey == v1alpha1.MigrateLabel
}

func (s selection) check() error {
	if _, err := regexp.Compile(s.names); err != nil {
		return fmt.Errorf("--crds is no regular expression: %w", err)
	}
	return nil
}

// component is a copy of the Component with another target.
func (s selection) component() ([]byte, error) {
	text := strings.ReplaceAll(string(optincomponent.Component), v1alpha1.MigrateLabel, s.labelKey)
	component, err := yaml.Parse(text)
	if err != nil {
		return nil, err
	}
	target, err := component.Pipe(yaml.Lookup("patches", "0", "target"))
	if err != nil {
		return nil, err
	}
	for _, field := range []struct{ name, value string }{{"name", s.names}, {"annotationSelector", s.annotations}} {
		if field.value == "" {
			continue
		}
		if err := target.PipeE(yaml.SetField(field.name, yaml.NewStringRNode(field.value))); err != nil {
			return nil, err
		}
	}
	changed, err := wide(component)
	return []byte(changed), err
}

// wide writes YAML with lists indented, as the project's manifests have it.
func wide(node *yaml.RNode) (string, error) {
	text, err := yaml.MarshalWithOptions(node.YNode(), &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
	return string(text), err
}

// printSnippet prints the Component, or its patch under the fields that it has to go under.
func (o *command) printSnippet() error {
	component, err := o.component()
	if err != nil {
		return err
	}
	if o.print == "component" {
		_, err = o.Out.Write(component)
		return err
	}
	parsed, err := yaml.Parse(string(component))
	if err != nil {
		return err
	}
	patches, err := parsed.Pipe(yaml.Lookup("patches"))
	if err != nil {
		return err
	}
	where := map[string]struct {
		comment string
		fields  []string
	}{
		"patch":  {"for a kustomization.yaml", nil},
		"flux":   {"for a Kustomization of Flux", []string{"spec"}},
		"argocd": {"for an Application of Argo CD; with several sources, for the one that holds the CRDs", []string{"spec", "source", "kustomize"}},
	}[o.print]
	snippet := yaml.NewMapRNode(nil)
	around, err := snippet.Pipe(yaml.LookupCreate(yaml.MappingNode, where.fields...))
	if err != nil {
		return err
	}
	if err := around.PipeE(yaml.SetField("patches", patches)); err != nil {
		return err
	}
	text, err := wide(snippet)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "# %s\n%s", where.comment, text)
	return err
}
