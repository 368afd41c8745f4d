package desired

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// argoCDChart adds a chart, as Argo CD renders it, or says why it cannot be seen. dir is its folder in this repository,
// empty for one from elsewhere.
// https://argo-cd.readthedocs.io/en/stable/user-guide/helm/
func (f *follower) argoCDChart(u *delivery.Unit, source *delivery.Object, dir string) {
	err := errors.New("nothing is followed") // a survey asks about files only
	if f.releases != nil {
		err = f.addArgoCDChart(u, source, dir)
	}
	if err == nil {
		return
	}
	u.Unseen = fmt.Sprintf("%s is a chart", source.Text("path"))
	if dir == "" {
		u.Unseen = strings.TrimSpace(fmt.Sprintf("it comes from the chart %s %s", source.Text("chart"), source.Text("targetRevision")))
	}
	f.hideChart(u, source, dir)
	if f.releases != nil {
		f.notRendered[u.By] = err
	}
}

func (f *follower) addArgoCDChart(u *delivery.Unit, source *delivery.Object, dir string) error {
	chart, err := f.argoCDChartOf(u, source, dir)
	if err != nil {
		return err
	}
	a := &argoCDChart{follower: f, unit: u, source: source, chart: chart, dir: dir}
	values, err := a.values()
	if err != nil {
		return err
	}
	rendering, err := f.render(chart, charts.Release{
		Name: cmp.Or(source.Text("helm", "releaseName"), u.By.GetName()), Values: values,
		Namespace:   cmp.Or(source.Text("helm", "namespace"), u.By.Text("spec", "destination", "namespace")),
		KubeVersion: source.Text("helm", "kubeVersion"), APIVersions: source.Texts("helm", "apiVersions"),
		SkipSchema: source.True("helm", "skipSchemaValidation"),
	})
	if err != nil {
		return err
	}
	if dir != "" {
		u.Dirs = append(u.Dirs, f.tree.Relative(dir))
		if at := source.Text("targetRevision"); isPin(at) {
			u.Pinned = "revision " + at
		}
	}
	u.Charts = append(u.Charts, nameChart(chart))
	if !source.True("helm", "skipCrds") {
		u.Objects = append(u.Objects, f.placedInChart(rendering.CRDs)...)
	}
	u.Objects = append(u.Objects, f.placedInChart(rendering.Objects)...)
	return nil
}

func (f *follower) argoCDChartOf(u *delivery.Unit, source *delivery.Object, dir string) (*charts.Chart, error) {
	if dir != "" {
		if files := overrides(u, dir); len(files) > 0 {
			return nil, fmt.Errorf("its source is overridden by %s", f.tree.Relative(files[0]))
		}
		chart, err := f.chartIn(dir)
		if err != nil {
			err = f.tree.Shorten(err)
		}
		return chart, err
	}
	repository := source.Text("repoURL")
	if repository != "" && !strings.Contains(repository, "://") {
		repository = "oci://" + repository // Argo CD writes registries without a scheme
	}
	return f.chartSource.Chart(f.ctx, charts.Reference{Repository: repository, Name: source.Text("chart"), Version: source.Text("targetRevision")})
}

// argoCDChart is one source of an Application.
type argoCDChart struct {
	*follower

	unit   *delivery.Unit
	source *delivery.Object
	chart  *charts.Chart
	dir    string
}

// values are put together as the command line of `helm template` that Argo CD runs: files, then values, then parameters.
func (a *argoCDChart) values() (map[string]any, error) {
	values, err := a.valuesOfFiles()
	if err != nil {
		return nil, err
	}
	own, err := a.ownValues()
	if err != nil {
		return nil, err
	}
	values = charts.Merge(values, own)
	for _, text := range []bool{false, true} { // Helm takes --set before --set-string
		for _, p := range a.source.Entries("helm", "parameters") {
			if p.True("forceString") != text {
				continue
			}
			if err := a.set(values, p, text); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range a.source.Entries("helm", "fileParameters") {
		content, err := a.file(p.Text("path"))
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
func (a *argoCDChart) ownValues() (map[string]any, error) {
	if values, ok := a.source.Field("helm", "valuesObject").(map[string]any); ok && len(values) > 0 {
		return values, nil
	}
	text := a.source.Text("helm", "values")
	var checked any
	if err := unpacking.Unmarshal([]byte(text), &checked); err != nil {
		return nil, fmt.Errorf("helm.values: %w", err)
	}
	return charts.ParseValues([]byte(text))
}

// set is one parameter. Argo CD takes commas for part of the value.
func (a *argoCDChart) set(values map[string]any, parameter *delivery.Object, text bool) error {
	value, err := a.expanded(fmt.Sprint(parameter.Field("value")))
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
func (a *argoCDChart) isOurs(reference string) error {
	i := slices.IndexFunc(a.unit.Sources, func(s delivery.Source) bool { return s.Settings.Text("ref") == reference })
	if i < 0 {
		return fmt.Errorf("no source has the ref %s", reference)
	}
	if url := elsewhere(a.unit, a.unit.Sources[i].Settings); url != "" {
		return fmt.Errorf("its values come from another repository, %s", url)
	}
	return nil
}

// expanded puts in the variables of Argo CD's build environment.
// https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/
func (a *argoCDChart) expanded(text string) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	known := map[string]string{
		"ARGOCD_APP_NAME": a.unit.By.GetName(), "ARGOCD_APP_NAMESPACE": a.unit.By.Text("spec", "destination", "namespace"),
		"ARGOCD_APP_SOURCE_PATH": a.source.Text("path"), "ARGOCD_APP_SOURCE_REPO_URL": a.source.Text("repoURL"),
		"ARGOCD_APP_SOURCE_TARGET_REVISION": a.source.Text("targetRevision"), "$": "$",
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
