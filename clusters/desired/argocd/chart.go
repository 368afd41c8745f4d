// Package argocd reads the settings of Applications: which repository a source is of, how its folder is built, and what values a chart
// gets. Nothing is followed here.
//
// https://argo-cd.readthedocs.io/en/stable/user-guide/helm/
package argocd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// AddChart adds to a unit what a source makes that is a chart. Dir is its folder in the repository, empty for a chart from elsewhere.
func AddChart(ctx context.Context, r helm.Renderer, u *delivery.Unit, source *delivery.Object, dir string) error {
	chart, err := chartOf(ctx, r, u, source, dir)
	if err != nil {
		return err
	}
	values, err := (&chartSource{tree: r.Tree, unit: u, source: source, Chart: chart, dir: dir}).values()
	if err != nil {
		return err
	}
	release := charts.Release{
		Name: cmp.Or(source.Text("helm", "releaseName"), u.By.GetName()), Values: values,
		Namespace:   cmp.Or(source.Text("helm", "namespace"), u.By.Text("spec", "destination", "namespace")),
		KubeVersion: source.Text("helm", "kubeVersion"), APIVersions: source.Texts("helm", "apiVersions"),
		SkipSchema: source.True("helm", "skipSchemaValidation"), Hooks: []string{charts.AnyHook},
	}
	rendering, chart, err := r.Render(ctx, chart, release)
	if err != nil {
		return err
	}
	r.Elsewhere(ctx, u, chart, release, false)
	if dir != "" {
		u.Dirs = append(u.Dirs, r.Tree.Relative(dir))
		if at := source.Text("targetRevision"); IsPin(at) {
			u.Pinned = "revision " + at
		}
	}
	u.Charts = append(u.Charts, helm.Name(chart))
	if !source.True("helm", "skipCrds") {
		u.Objects = append(u.Objects, helm.Placed(r.Tree, rendering.CRDs)...)
	}
	objects := helm.WithoutHooks(rendering.Objects, func(hook string) bool { return source.True("helm", "skipTests") && helm.IsTest(hook) })
	u.Objects = append(u.Objects, helm.Placed(r.Tree, objects)...)
	return nil
}

func chartOf(ctx context.Context, r helm.Renderer, u *delivery.Unit, source *delivery.Object, dir string) (*charts.Chart, error) {
	if dir != "" {
		if files := Overrides(u, dir); len(files) > 0 {
			return nil, fmt.Errorf("its source is overridden by %s", r.Tree.Relative(files[0]))
		}
		chart, err := helm.Load(r.Tree, dir)
		if err != nil {
			err = r.Tree.Shorten(err)
		}
		return chart, err
	}
	repository := source.Text("repoURL")
	if IsArtifact(source) && source.Text("chart") == "" {
		reference := charts.Reference{Repository: repository, Version: source.Text("targetRevision")}
		if !rangeOfVersions.MatchString(reference.Version) {
			reference.Tag, reference.Version = cmp.Or(reference.Version, "latest"), ""
		}
		return r.Chart(ctx, reference)
	}
	if repository != "" && !strings.Contains(repository, "://") {
		repository = registry + repository // Argo CD writes registries without a scheme
	}
	return r.Chart(ctx, charts.Reference{Repository: repository, Name: source.Text("chart"), Version: source.Text("targetRevision")})
}

// chartSource is a source of an Application that is a chart.
type chartSource struct {
	*charts.Chart

	tree   *files.Tree
	unit   *delivery.Unit
	source *delivery.Object
	dir    string
}

// values are put together as the command line of `helm template` that Argo CD runs: files, then values, then parameters.
func (c *chartSource) values() (map[string]any, error) {
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
		for _, p := range c.source.Entries("helm", "parameters") {
			if p.True("forceString") != text {
				continue
			}
			if err := c.set(values, p, text); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range c.source.Entries("helm", "fileParameters") {
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
func (c *chartSource) ownValues() (map[string]any, error) {
	if values, ok := c.source.Field("helm", "valuesObject").(map[string]any); ok && len(values) > 0 {
		return values, nil
	}
	text := c.source.Text("helm", "values")
	var checked any
	if err := unpacking.Unmarshal([]byte(text), &checked); err != nil {
		return nil, fmt.Errorf("helm.values: %w", err)
	}
	return charts.ParseValues([]byte(text))
}

// set is one parameter. Argo CD takes commas for part of the value.
func (c *chartSource) set(values map[string]any, parameter *delivery.Object, text bool) error {
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
func (c *chartSource) isOurs(reference string) error {
	i := slices.IndexFunc(c.unit.Sources, func(s delivery.Source) bool { return s.Settings.Text("ref") == reference })
	if i < 0 {
		return fmt.Errorf("no source has the ref %s", reference)
	}
	if url := Elsewhere(c.unit, c.unit.Sources[i].Settings); url != "" {
		return fmt.Errorf("its values come from another repository, %s", url)
	}
	return nil
}

// expanded puts in the variables of Argo CD's build environment.
// https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/
func (c *chartSource) expanded(text string) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	known := map[string]string{
		"ARGOCD_APP_NAME": c.unit.By.GetName(), "ARGOCD_APP_NAMESPACE": c.unit.By.Text("spec", "destination", "namespace"),
		"ARGOCD_APP_SOURCE_PATH": c.source.Text("path"), "ARGOCD_APP_SOURCE_REPO_URL": c.source.Text("repoURL"),
		"ARGOCD_APP_SOURCE_TARGET_REVISION": c.source.Text("targetRevision"), "$": "$",
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
