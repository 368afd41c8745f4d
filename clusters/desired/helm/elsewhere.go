package helm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// A chart is rendered for one cluster, and another one may have other APIs, another version, or objects that templates look up. What the
// chart makes of these is compared as well, as far as it matters for CRDs.

// Elsewhere notes with a unit what a chart makes in other clusters, to be asked if the chart or its release changes. Installed: Helm itself
// installs it.
func (r Renderer) Elsewhere(ctx context.Context, unit *delivery.Unit, chart *charts.Chart, release charts.Release, installed bool) {
	key := fmt.Sprint(chart.Key(release), installed)
	if slices.ContainsFunc(unit.Depending, func(d delivery.Depending) bool { return d.Key == key }) {
		return // Kustomize may ask more than once
	}
	unit.Depending = append(unit.Depending, delivery.Depending{Key: key, What: func() (names []string, fingerprint string, err error) {
		return r.otherwise(ctx, chart, release, installed)
	}})
}

// otherwise names the objects that are not the same in all clusters, and stands for what they are in each.
func (r Renderer) otherwise(ctx context.Context, chart *charts.Chart, release charts.Release, installed bool) (names []string, fingerprint string, err error) {
	inValues := slices.ContainsFunc(chart.AllValues(release.Values), func(values map[string]any) bool {
		text, err := yaml.Marshal(values)
		return err != nil || mayBring(text)
	})
	all, err := chart.Elsewhere(ctx, release, installed, func(d charts.Dependent) bool {
		return inValues || filesBring(chart, d) || mayBring([]byte(separator.ReplaceAllString(detect.WithoutComments(d.Text), "")))
	})
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	first, err := chart.RenderOnce(ctx, all[0])
	if err != nil {
		return nil, "", err
	}
	known := saying{}
	here, sum := known.whatMatters(first), sha256.New()
	for _, release := range all[1:] {
		made, err := chart.RenderOnce(ctx, release)
		if err != nil {
			if !isRefusal(err) { // what it would make there is not known
				names = append(names, err.Error())
				fmt.Fprintln(sum, chart.Key(release))
			}
			continue
		}
		there := known.whatMatters(made)
		for _, name := range slices.Sorted(maps.Keys(labels.Merge(here, there))) {
			if here[name] != there[name] {
				names = append(names, name)
				fmt.Fprintln(sum, clusterOf(release), name, there[name])
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil, "", nil
	}
	return names, hex.EncodeToString(sum.Sum(nil)), nil
}

// clusterOf distinguishes one other cluster from the next. One that has all APIs is the same, whichever are named.
func clusterOf(r charts.Release) string {
	if len(r.APIVersions) > 0 && r.APIVersions[0] == charts.AnyAPI {
		r.APIVersions = r.APIVersions[:1]
	}
	return fmt.Sprint(r.KubeVersion, r.APIVersions, r.Upgrade, r.Cluster.Found, r.Cluster.OnlyAPIs, r.Cluster.Without, r.Cluster.Helm)
}

// OnCluster says that objects of a chart are not the same in each cluster.
func OnCluster(names []string) error {
	return fmt.Errorf("what it makes depends on the cluster (%s)", words.Few(names, 3))
}

// isRefusal reports whether a chart says itself that it is not for such a cluster, so that nothing is applied there.
func isRefusal(err error) bool { return strings.Contains(err.Error(), "execution error at") }

// saying is what objects say about CRDs, by their whole text: most are the same in each cluster.
type saying map[string]string

// whatMatters are the objects that decide about CRDs, or bring others, and stands for what each says about that.
func (s saying) whatMatters(rendering *charts.Rendering) map[string]string {
	found := map[string]string{}
	for _, object := range rendering.Objects {
		text, err := json.Marshal(object.Object)
		says, isKnown := s[string(text)]
		if err != nil || !isKnown {
			says = saysOf(object)
			s[string(text)] = says
		}
		if says != "" {
			found[kinds.NameOf(object, nil)] += says
		}
	}
	return found
}

// saysOf is empty for an object that brings nothing.
func saysOf(object *delivery.Object) string {
	says := map[string]any{}
	crds, unread := object.Inside()
	switch about := commands.InObject(object); {
	case object.IsCRD():
		says["spec"], says["hook"] = object.Field("spec"), object.Annotation(delivery.HelmHook)
	case kinds.Matters(object), kinds.Installs(object), appset.IsCluster(object), kinds.IsSource(object):
		maps.Copy(says, object.Object)
		delete(says, "metadata") // the labels have the version of the chart
	case about != "":
		says["commands"] = about
	case len(crds)+len(unread) == 0:
		return ""
	}
	for _, crd := range crds {
		unread = append(unread, fmt.Sprint(crd.Object))
	}
	says["inside"] = unread
	text, err := json.Marshal(says)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
