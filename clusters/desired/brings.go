package desired

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// CompareCharts has sources compared by the CRDs of their charts that are not seen and differ. Most charts bring the same ones whatever their
// values are, so it need not matter that these are not known. Only charts of what differs are fetched.
func CompareCharts(base, head *delivery.Cluster) {
	for name, all := range differing(base, head) {
		isIn := func(c *delivery.Cluster) bool {
			return slices.ContainsFunc(c.Unseen, func(u delivery.Unseen) bool { return u.Name == name })
		}
		if !isIn(base) || !isIn(head) {
			continue
		}
		byCharts := words.Of(all, func(u *delivery.Unseen) string {
			if u.ByCharts == nil {
				return ""
			}
			return u.ByCharts()
		})
		for i, u := range all {
			if !slices.Contains(byCharts, "") {
				u.Fingerprint = byCharts[i]
			}
		}
	}
}

// differing are what is not seen, by name, and is not the same before and after.
func differing(base, head *delivery.Cluster) map[string][]*delivery.Unseen {
	named := map[string][]*delivery.Unseen{}
	sums := [2]map[string]string{{}, {}}
	for side, c := range []*delivery.Cluster{base, head} {
		for i := range c.Unseen {
			u := &c.Unseen[i]
			named[u.Name] = append(named[u.Name], u)
			sums[side][u.Name] += u.Fingerprint + " "
		}
	}
	maps.DeleteFunc(named, func(name string, _ []*delivery.Unseen) bool { return sums[0][name] == sums[1][name] })
	return named
}

// byCharts is a fingerprint by the CRDs that charts bring, empty if that is not known.
func (f *follower) byCharts(ctx context.Context, s delivery.Unseen, holder *delivery.Unit, h hidden) func() string {
	if f.Charts == nil {
		return nil
	}
	return func() string {
		by, references := f.withoutCharts(s.By)
		if len(references) == 0 {
			return ""
		}
		var found []string
		for _, reference := range references {
			chart, err := f.Charts.Chart(ctx, reference)
			if err != nil {
				return ""
			}
			crds, known := helm.Brings(chart)
			if !known {
				return ""
			}
			found = append(found, crds...)
		}
		h.built = append(slices.Clone(h.built), found...)
		s.Why, s.By = "by its charts", by
		return f.fingerprint(s, holder, h)
	}
}

// withoutCharts is an object without the charts of registries that it brings and their values, and these charts. There are none if it
// brings something else, or if the values may.
func (f *follower) withoutCharts(by *delivery.Object) (*delivery.Object, []charts.Reference) {
	rest := &delivery.Object{Unstructured: &unstructured.Unstructured{Object: runtime.DeepCopyJSON(by.Object)}, At: by.At}
	var references []charts.Reference
	var values []any
	take := func(from map[string]any, fields ...string) {
		for _, field := range fields {
			values = append(values, from[field])
			delete(from, field)
		}
	}
	switch spec, _ := rest.Field("spec").(map[string]any); {
	case kinds.IsHelmRelease(by):
		reference, known := f.known.ReferenceOf(by)
		if !known {
			return nil, nil
		}
		references = append(references, reference)
		take(spec, "chart", "chartRef", "values")
	case by.Is("argoproj.io", "ApplicationSet") && (appset.HoldsKey(spec, "templatePatch") || appset.HoldsKey(spec["generators"], "template")):
		return nil, nil
	default:
		for _, source := range delivery.SourcesOf(rest) {
			settings := source.Settings
			switch {
			case settings.Text("chart") == "" && settings.Text("path") == "" && settings.Text("ref") != "":
				continue
			case settings.Text("chart") == "":
				return nil, nil
			}
			references = append(references, argocd.ReferenceOf(settings))
			take(settings.Object, "chart", "repoURL", "targetRevision")
			if options, is := settings.Field("helm").(map[string]any); is {
				take(options, "values", "valuesObject", "parameters")
			}
		}
	}
	text, err := json.Marshal(values)
	if err != nil || detect.CRD.Match(text) || detect.Tool.Match(text) || detect.Installer.Match(text) || openPart.MatchString(fmt.Sprint(references)) {
		return nil, nil
	}
	var open []any // parts that may be anything, and are the same as long as they are written the same
	for at, value := range crdschema.Each(values) {
		text, _ := value.(string)
		for _, part := range openPart.FindAllString(text, -1) {
			open = append(open, fmt.Sprint(at), part)
		}
	}
	rest.Object["open"] = open
	return rest, references
}

// openPart is what a generator, or a variable of Flux, fills in.
var openPart = regexp.MustCompile(`(?s)\{\{.*?\}\}|\$\{[^}]*\}`)
