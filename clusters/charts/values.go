package charts

import (
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// ParseValues reads a file of values. Several documents are merged, as Helm does.
func ParseValues(content []byte) (map[string]any, error) {
	values, err := loader.LoadValues(strings.NewReader(string(content)))
	if values == nil {
		values = map[string]any{}
	}
	return values, err
}

// Merge puts values over others; maps are merged, and all else is replaced.
func Merge(below, above map[string]any) map[string]any {
	return loader.MergeMaps(below, copied(above))
}

// WithFile adds a file of values to others, which it takes precedence over; the error names it.
func WithFile(values map[string]any, name string, content []byte) (map[string]any, error) {
	parsed, err := ParseValues(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return Merge(values, parsed), nil
}

// Set changes a value as `helm template --set` does: name=value, where the name may have dots, and a list in braces.
func Set(values map[string]any, assignment string) error {
	return strvals.ParseInto(assignment, values)
}

// SetText is Set for a value that stays a string, as with `--set-string`.
func SetText(values map[string]any, assignment string) error {
	return strvals.ParseIntoString(assignment, values)
}

// SetContent sets a value to a text that is not parsed, as with `--set-file`.
func SetContent(values map[string]any, name, content string) error {
	return strvals.ParseIntoFile(name+"=content", values, func([]rune) (any, error) { return content, nil })
}

// copied is a copy that is not shared, with the types that YAML has.
func copied(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	if raw, err := yaml.Marshal(values); err == nil {
		if again, err := ParseValues(raw); err == nil {
			return again
		}
	}
	return runtime.DeepCopyJSON(values)
}

// inOneLine is an error in one line; of a long one, such as the stack of templates, where it began and what it is.
func inOneLine(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	const most = 400
	if len(text) > most {
		text = text[:most/2] + " … " + text[len(text)-most/2:]
	}
	return errors.New(text)
}

// ValuesWithCRDs are the chart's own values that switch its CRDs off, switched on: those that are false and have crd in
// their path, such as crds.enabled and installCRDs.
func (c *Chart) ValuesWithCRDs() map[string]any { return switchedOn(c.chart.Values, false) }

func switchedOn(values map[string]any, about bool) map[string]any {
	on := map[string]any{}
	for name, value := range values {
		about := about || strings.Contains(strings.ToLower(name), "crd")
		switch v := value.(type) {
		case bool:
			if about && !v {
				on[name] = true
			}
		case map[string]any:
			if below := switchedOn(v, about); len(below) > 0 {
				on[name] = below
			}
		}
	}
	return on
}
