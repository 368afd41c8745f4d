package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/policies/delivery"
)

var (
	// openPart is what a template of an ApplicationSet has between braces.
	openPart = regexp.MustCompile(`(?s)\{\{(.*?\}\})?`)
	// simpleName is a name of a parameter that means one value.
	simpleName = regexp.MustCompile(`^[\w-]+(?:\.[\w-]+)*$`)
	// ofSource and ofHelm are the settings of a chart that are followed here.
	ofSource = []string{"chart", "repoURL", "targetRevision", "helm"}
	ofHelm   = []string{"values", "valuesObject", "parameters", "releaseName", "skipCrds", "skipSchemaValidation", "passCredentials", "version"}
)

// SettledSet is what the charts of an ApplicationSet make, whatever its generators give, with objects that bring nothing; and the set without
// what decided that. The error says why it depends on the generators, or is not known.
func SettledSet(ctx context.Context, r helm.Renderer, set *delivery.Object) (all *charts.Rendering, rest *delivery.Object, err error) {
	if appset.HoldsKey(set.Field("spec"), "templatePatch") || appset.HoldsKey(set.Field("spec", "generators"), "template") {
		return nil, nil, errors.New("it has another template beside spec.template")
	}
	all, rest = &charts.Rendering{}, delivery.Wrap(runtime.DeepCopyJSON(set.Object))
	for i, source := range delivery.SourcesOf(set) {
		made, err := settled(ctx, r, set, source.Settings)
		if err != nil {
			return nil, nil, err
		}
		all.Objects = append(all.Objects, made.Objects...)
		if !source.Settings.True("helm", "skipCrds") {
			all.CRDs = append(all.CRDs, made.CRDs...)
		}
		without := delivery.SourcesOf(rest)[i].Settings
		delete(without.Object, "targetRevision")
		if options, is := without.Field("helm").(map[string]any); is {
			delete(options, "values")
			delete(options, "valuesObject")
			delete(options, "parameters")
		}
	}
	return all, rest, nil
}

func settled(ctx context.Context, r helm.Renderer, set, source *delivery.Object) (*charts.Rendering, error) {
	if err := isFollowed(source); err != nil {
		return nil, err
	}
	o := helm.NewOpening(openPart)
	release := charts.Release{
		Name:      o.Release(cmp.Or(source.Text("helm", "releaseName"), set.Text("spec", "template", "metadata", "name"))),
		Namespace: o.Release(set.Text("spec", "template", "spec", "destination", "namespace")), SkipSchema: source.True("helm", "skipSchemaValidation"),
	}
	filled := delivery.Wrap(runtime.DeepCopyJSON(source.Object))
	o.Value(nil, filled.Field("helm", "valuesObject"))
	for _, one := range filled.Entries("helm", "parameters") {
		one.Object["value"] = o.Text(strings.Split(one.Text("name"), "."), fmt.Sprint(one.Field("value")))
	}
	u := &delivery.Unit{By: delivery.Wrap(map[string]any{})}
	chart, err := chartOf(ctx, r, u, filled, "")
	if err != nil {
		return nil, err
	}
	if release.Values, err = (&chartSource{tree: r.Tree, unit: u, source: filled, Chart: chart}).values(); err != nil {
		return nil, err
	}
	return r.Settled(ctx, chart, release, o)
}

// isFollowed is an error for a source that has settings which are not followed here, or open ones that decide which chart it is of.
func isFollowed(source *delivery.Object) error {
	options, _ := source.Field("helm").(map[string]any)
	for field := range source.Object {
		if !slices.Contains(ofSource, field) {
			return fmt.Errorf("its source has %s", field)
		}
	}
	for field := range options {
		if !slices.Contains(ofHelm, field) {
			return fmt.Errorf("its source has helm.%s", field)
		}
	}
	for _, one := range source.Entries("helm", "parameters") {
		if !simpleName.MatchString(one.Text("name")) || strings.Contains(fmt.Sprint(one.Field("value")), "$") {
			return fmt.Errorf("its parameter %s is no plain one", one.Text("name"))
		}
	}
	decides := source.Text("chart") + source.Text("repoURL") + source.Text("targetRevision") + source.Text("helm", "values")
	if source.Text("chart") == "" || strings.Contains(decides, "{{") {
		return errors.New("its chart, or the text of its values, is a template")
	}
	return nil
}
