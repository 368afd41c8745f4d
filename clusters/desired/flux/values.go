package flux

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
)

// valuesFiles are files of values that take the place of the chart's own.
type valuesFiles struct {
	names []string
	// below is the folder that they are relative to, of the repository; empty if they are in the chart.
	below         string
	ignoreMissing bool
}

// values are those of a HelmRelease, the later over the earlier: valuesFrom in its order, and spec.values.
func (o Objects) values(by *delivery.Object) (values map[string]any, err error) {
	values = map[string]any{}
	for _, from := range by.Entries("spec", "valuesFrom") {
		if values, err = o.valuesFrom(values, by.GetNamespace(), from); err != nil {
			return nil, err
		}
	}
	own, _ := by.Field("spec", "values").(map[string]any)
	return charts.Merge(values, own), nil
}

// in puts the values of valuesFiles in place of the chart's own: those of the repository with a GitRepository, else of the chart. If all are
// missing, and may be, none take their place.
// https://github.com/fluxcd/source-controller/blob/main/internal/helm/chart/builder_local.go
func (v valuesFiles) in(chart *charts.Chart, t *files.Tree) (*charts.Chart, error) {
	if len(v.names) == 0 {
		return chart, nil
	}
	values := map[string]any{}
	for _, name := range v.names {
		content, found := chart.File(name)
		if v.below != "" {
			content, found = t.Read(strings.TrimPrefix(name, "/"))
		}
		if !found && v.ignoreMissing {
			continue
		}
		if !found {
			return nil, fmt.Errorf("there is no file of values %s", name)
		}
		var err error
		if values, err = charts.WithFile(values, name, content); err != nil {
			return nil, err
		}
	}
	return chart.WithDefaults(values)
}

// valuesFrom adds the values of a ConfigMap or a Secret of this repository.
func (o Objects) valuesFrom(values map[string]any, namespace string, from *delivery.Object) (map[string]any, error) {
	name := from.Text("kind") + " " + from.Text("name")
	content, err := o.contentOf(namespace, from)
	if err != nil {
		// Whether one that is optional is there, the cluster knows; in this repository it is not.
		return values, err
	}
	if strings.Contains(content, "ENC[AES256_GCM,") { // as SOPS writes it, in a file that a generator takes
		return values, fmt.Errorf("%s, which holds some of its values, is encrypted", name)
	}
	if target := from.Text("targetPath"); target != "" {
		values = charts.Merge(nil, values)
		if from.True("literal") {
			return values, charts.SetContent(values, target, content)
		}
		return values, charts.Set(values, target+"="+content)
	}
	parsed, err := charts.ParseValues([]byte(content))
	if err != nil {
		return values, fmt.Errorf("the values in %s: %w", name, err)
	}
	return charts.Merge(values, parsed), nil
}

// contentOf is the entry of a ConfigMap or a Secret that a HelmRelease takes values from.
func (o Objects) contentOf(namespace string, from *delivery.Object) (string, error) {
	kind, name, key := from.Text("kind"), from.Text("name"), cmp.Or(from.Text("valuesKey"), "values.yaml")
	object := o.Held(kind, namespace, name)
	if object == nil {
		return "", fmt.Errorf("%s %s, which holds some of its values, is not in this repository", kind, name)
	}
	if o.Templated[object] {
		return "", fmt.Errorf("some variables of %s %s, which holds some of its values, are not known", kind, name)
	}
	if object.Field("sops") != nil {
		return "", fmt.Errorf("%s %s, which holds some of its values, is encrypted", kind, name)
	}
	if text, found := object.TextMap("stringData")[key]; found && kind == "Secret" {
		return text, nil
	}
	text, found := object.TextMap("data")[key]
	if !found {
		return "", fmt.Errorf("%s %s has no %s, which holds some of its values", kind, name, key)
	}
	if kind == "Secret" {
		decoded, err := base64.StdEncoding.DecodeString(text)
		return string(decoded), err
	}
	return text, nil
}
