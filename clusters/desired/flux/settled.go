package flux

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/policies/delivery"
)

// variable is what Flux puts a value of a cluster in place of.
var variable = regexp.MustCompile(`(?s)\$\{([^}]*\})?`)

// Settled is what the chart of a HelmRelease makes, whatever its variables and values are that are not in this repository, with objects that
// bring nothing. Rest is the HelmRelease without what decided that. The error says why it depends on these, or is not known.
func (o Objects) Settled(ctx context.Context, r helm.Renderer, by *delivery.Object) (made *charts.Rendering, rest *delivery.Object, err error) {
	rest = delivery.Wrap(runtime.DeepCopyJSON(by.Object))
	spec, _ := rest.Field("spec").(map[string]any)
	opening := helm.NewOpening(variable)
	release := charts.Release{Name: opening.Release(releaseName(by)), Namespace: opening.Release(cmp.Or(by.Text("spec", "targetNamespace"), by.GetNamespace())), Upgrade: true}
	own, _ := opening.Value(nil, spec["values"]).(map[string]any)
	delete(spec, "values")
	text, err := json.Marshal(spec)
	delete(spec, "chart")
	delete(spec, "chartRef")
	_, isElsewhere := o.ReferenceOf(by)
	switch {
	case err != nil || variable.Match(text):
		return nil, nil, errors.New("there are variables in more than its values")
	case by.Field("spec", "postRenderers") != nil:
		return nil, nil, errors.New("it has spec.postRenderers")
	case !isElsewhere, by.Field("spec", "kubeConfig") != nil:
		return nil, nil, charts.ErrNotAsked
	}
	chart, files, err := o.chart(ctx, r, &delivery.Unit{By: by})
	if err != nil {
		return nil, nil, err
	}
	if chart, err = files.in(chart, r.Tree); err != nil {
		return nil, nil, err
	}
	release.Values = map[string]any{}
	for _, from := range by.Entries("spec", "valuesFrom") {
		found, err := o.valuesFrom(release.Values, by.GetNamespace(), from)
		if target := from.Text("targetPath"); err == nil {
			release.Values = found
		} else if target == "" || strings.ContainsAny(target, "[\\{") {
			opening.Unknown(nil)
		} else {
			opening.Unknown(strings.Split(target, "."))
		}
	}
	release.Values = charts.Merge(release.Values, own)
	made, err = r.Settled(ctx, chart, release, opening)
	return made, rest, err
}
