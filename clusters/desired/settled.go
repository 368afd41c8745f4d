package desired

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/argocd"
	"github.com/moult-dev/moult/clusters/desired/commands"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/rights"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// Settle compares ApplicationSets that are not seen and differ by what their charts make, where that is the same whatever their generators
// give. Only charts of what differs are fetched. Then it compares what other clusters would make of charts.
func Settle(base, head *delivery.Cluster) {
	defer settleCharts(base, head)
	for _, both := range differing(base, head) {
		var settled []string
		if len(both[0]) == 0 || len(both[1]) == 0 {
			continue // it comes or goes as a whole
		}
		for _, u := range slices.Concat(both[0], both[1]) {
			if u.Settled == nil {
				break
			}
			fingerprint, err := u.Settled()
			if err != nil {
				notSettled(both[1], err)
				break
			}
			settled = append(settled, fingerprint)
		}
		for i, u := range slices.Concat(both[0], both[1]) {
			if len(settled) == len(both[0])+len(both[1]) {
				u.Fingerprint = settled[i]
			}
		}
	}
}

// notSettled has the report, which is of the head, give the reason.
func notSettled(head []*delivery.Unseen, err error) {
	why := files.FailureOf(err)
	for _, u := range head {
		u.Offline = u.Offline || errors.Is(err, charts.ErrOffline)
		if !errors.Is(err, charts.ErrNotAsked) && !strings.Contains(u.Why, why) {
			u.Why += "; " + why
		}
	}
}

// differing are what is not seen, before and after, and is not the same.
func differing(base, head *delivery.Cluster) map[string][2][]*delivery.Unseen {
	named := map[string][2][]*delivery.Unseen{}
	for side, c := range []*delivery.Cluster{base, head} {
		for i := range c.Unseen {
			both := named[c.Unseen[i].Name]
			both[side] = append(both[side], &c.Unseen[i])
			named[c.Unseen[i].Name] = both
		}
	}
	maps.DeleteFunc(named, func(_ string, both [2][]*delivery.Unseen) bool {
		return slices.EqualFunc(both[0], both[1], func(a, b *delivery.Unseen) bool { return a.Fingerprint == b.Fingerprint })
	})
	return named
}

// settled is a fingerprint of an ApplicationSet or a HelmRelease by what its charts make; nil for all else.
func (f *follower) settled(ctx context.Context, s delivery.Unseen, holder *delivery.Unit, h hidden) func() (string, error) {
	isSet := s.By.Is("argoproj.io", "ApplicationSet")
	if f.releases == nil || !isSet && !kinds.IsHelmRelease(s.By) {
		return nil
	}
	return func() (string, error) {
		names := f.takenNames()
		made, rest, err := f.settledBy(ctx, s.By, names)
		if err != nil {
			return "", err
		}
		h.built = slices.Clone(h.built)
		taken, can := takenFrom(names), rights.Of(f.cluster, made.Objects...)
		for _, crd := range made.CRDs {
			h.built = append(h.built, "in crds/: "+jsonOf(crd.Object))
		}
		for _, object := range made.Objects {
			switch {
			case kinds.Delivers(object), kinds.Installs(object), commands.InObject(object) != "", kinds.IsSource(object), kinds.IsKept(object) && taken(object.GetName()), appset.IsCluster(object):
				return "", fmt.Errorf("its chart has %s", kinds.NameOf(object, nil))
			case !decidesNothing(object):
				h.built = append(h.built, jsonOf(object.Object))
			}
			if _, program := f.program(can, object, nil); program != "" {
				h.built = append(h.built, program)
			}
		}
		s.Why, s.By = "its charts make the same", rest
		return f.fingerprint(s, holder, h), nil
	}
}

func (f *follower) settledBy(ctx context.Context, by *delivery.Object, names []string) (made *charts.Rendering, rest *delivery.Object, err error) {
	r := f.charts
	for _, name := range names {
		if name != "" && len(f.cluster.Named("ConfigMap", "", name))+len(f.cluster.Named("Secret", "", name)) == 0 {
			r.Taken = append(r.Taken, name)
		}
	}
	if kinds.IsHelmRelease(by) {
		return f.known.Settled(ctx, r, by)
	}
	return argocd.SettledSet(ctx, r, by)
}

// takenFrom reports whether a name is, or may become, that of a text or of values that others take.
func takenFrom(names []string) func(name string) bool {
	return func(name string) bool {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(name), helm.Word, ".*") + "$")
		return slices.ContainsFunc(names, pattern.MatchString)
	}
}

// takenNames are those of what objects that deliver or install something take texts and values from.
func (f *follower) takenNames() (names []string) {
	for _, object := range f.cluster.Objects() {
		if !kinds.Delivers(object) && !kinds.Installs(object) {
			continue
		}
		for at, value := range crdschema.Each(object.Field("spec")) {
			name, isText := value.(string)
			if isText && len(at) > 1 && at.Last() == "name" && slices.ContainsFunc(at, func(step any) bool { return from.MatchString(fmt.Sprint(step)) }) {
				names = append(names, name)
			}
		}
	}
	return names
}

// from finds fields that refer to a ConfigMap or a Secret: valuesFrom, substituteFrom, secretRef.
var from = regexp.MustCompile(`(?i)from|secret|configmap|^values|resources`)
