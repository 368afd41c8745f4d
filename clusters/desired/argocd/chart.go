// Package argocd reads the settings of Applications: which repository a source is of, how its folder is built, and what values a chart
// gets. Nothing is followed here.
//
// https://argo-cd.readthedocs.io/en/stable/user-guide/helm/
package argocd

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Chart is a source of an Application that is a chart.
type Chart struct {
	Tree   *files.Tree
	Unit   *delivery.Unit
	Source *delivery.Object
	*charts.Chart
	// Dir is its folder in this repository, empty for one from elsewhere.
	Dir string
}

// Values are put together as the command line of `helm template` that Argo CD runs: files, then values, then parameters.
func (c *Chart) Values() (map[string]any, error) {
	values, err := c.valuesOfFiles()
	if err != nil {
		return nil, err
	}
	own, err := c.ownValues()
	if err != nil {
		return nil, err
	}
	values = charts.Merge(values, own)
	for _, text := range []bool{false, true} { // Helm takes --set before --set-string
		for _, p := range c.Source.Entries("helm", "parameters") {
			if p.True("forceString") != text {
				continue
			}
			if err := c.set(values, p, text); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range c.Source.Entries("helm", "fileParameters") {
		content, err := c.file(p.Text("path"))
		if err != nil {
			return nil, err
		}
		if err := charts.SetContent(values, p.Text("name"), string(content)); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// ownValues are those in the Application itself.
func (c *Chart) ownValues() (map[string]any, error) {
	if values, ok := c.Source.Field("helm", "valuesObject").(map[string]any); ok && len(values) > 0 {
		return values, nil
	}
	text := c.Source.Text("helm", "values")
	var checked any
	if err := unpacking.Unmarshal([]byte(text), &checked); err != nil {
		return nil, fmt.Errorf("helm.values: %w", err)
	}
	return charts.ParseValues([]byte(text))
}

// set is one parameter. Argo CD takes commas for part of the value.
func (c *Chart) set(values map[string]any, parameter *delivery.Object, text bool) error {
	value, err := c.expanded(fmt.Sprint(parameter.Field("value")))
	if err != nil {
		return err
	}
	assignment := parameter.Text("name") + "=" + unescapedComma.ReplaceAllString(value, `$1\,`)
	if text {
		return charts.SetText(values, assignment)
	}
	return charts.Set(values, assignment)
}

var unescapedComma = regexp.MustCompile(`(^|[^\\]),`)

// isOurs reports whether a source that lends its files is of this repository.
func (c *Chart) isOurs(reference string) error {
	i := slices.IndexFunc(c.Unit.Sources, func(s delivery.Source) bool { return s.Settings.Text("ref") == reference })
	if i < 0 {
		return fmt.Errorf("no source has the ref %s", reference)
	}
	if url := Elsewhere(c.Unit, c.Unit.Sources[i].Settings); url != "" {
		return fmt.Errorf("its values come from another repository, %s", url)
	}
	return nil
}

// expanded puts in the variables of Argo CD's build environment.
// https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/
func (c *Chart) expanded(text string) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	known := map[string]string{
		"ARGOCD_APP_NAME": c.Unit.By.GetName(), "ARGOCD_APP_NAMESPACE": c.Unit.By.Text("spec", "destination", "namespace"),
		"ARGOCD_APP_SOURCE_PATH": c.Source.Text("path"), "ARGOCD_APP_SOURCE_REPO_URL": c.Source.Text("repoURL"),
		"ARGOCD_APP_SOURCE_TARGET_REVISION": c.Source.Text("targetRevision"), "$": "$",
	}
	var lacks string
	expanded := os.Expand(text, func(name string) string {
		value, there := known[name]
		if !there && (strings.HasPrefix(name, "ARGOCD_") || name == "KUBE_VERSION" || name == "KUBE_API_VERSIONS") {
			lacks = name
		}
		return value
	})
	if lacks != "" {
		return "", fmt.Errorf("the value of $%s is not known", lacks)
	}
	return expanded, nil
}
