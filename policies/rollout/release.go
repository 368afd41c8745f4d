package rollout

import (
	"path"
	"reflect"
	"slices"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// release is what brings a commit to a unit that another one holds. The set is closed.
type release int

const (
	// created: nothing of the commit is applied to the unit before its parent's turn, as the unit itself comes with it.
	created release = iota
	// repointed: the unit is pinned to a revision, and its own manifest changes in the commit.
	repointed
	// onItsOwn: the unit follows its source by itself, whatever its parent waits for.
	onItsOwn
)

// releaseOf compares a unit with what it was before the commit.
// https://github.com/argoproj/argo-cd/issues/8778; test/e2e/argocd plays it with Argo CD.
func releaseOf(base *delivery.Cluster, u *delivery.Unit) release {
	was := base.Unit(u.Name)
	switch {
	case (was == nil || was.By == nil) && takenBefore(base, u):
		return onItsOwn
	case was == nil || was.By == nil:
		return created
	case was.Pinned == "" || reflect.DeepEqual(was.By.Field("spec"), u.By.Field("spec")):
		return onItsOwn
	}
	return repointed
}

// releaseWith is releaseOf where the parent applies some objects together with the unit's own. A HelmRelease with an exact version of a chart gets a commit only
// through its own manifest, its source, and the objects with its values. If its parent applies those that change together, it waits as they do.
// A chart in a repository that is followed does not wait: source-controller packs it again.
// https://fluxcd.io/flux/components/source/helmcharts/
func releaseWith(base, head *delivery.Cluster, u *delivery.Unit, beside []*delivery.Object) release {
	was := base.Unit(u.Name)
	if u.Tool != delivery.Helm || was == nil || was.By == nil {
		return releaseOf(base, u)
	}
	if !hasExactChart(base, was.By) || !hasExactChart(head, u.By) {
		return onItsOwn
	}
	for _, to := range readBy(base, was.By, u.By.GetNamespace()) {
		before, after := base.Named(to.Kind, to.Namespace, to.Name), head.Named(to.Kind, to.Namespace, to.Name)
		held := func(o *delivery.Object) bool { return slices.Contains(beside, o) }
		if !slices.EqualFunc(before, after, sameContent) && (len(after) == 0 || !slices.ContainsFunc(after, held)) {
			return onItsOwn
		}
	}
	if u.Parent.Tool == delivery.ArgoCD {
		return repointed
	}
	return created
}

func sameContent(a, b *delivery.Object) bool {
	content := func(o *delivery.Object) []any {
		return []any{o.Field("spec"), o.Field("data"), o.Field("stringData"), o.Field("binaryData")}
	}
	return reflect.DeepEqual(content(a), content(b))
}

// hasExactChart reports whether the manifests say which chart a HelmRelease, or a HelmChart, has, and not only where it comes from.
func hasExactChart(c *delivery.Cluster, by *delivery.Object) bool {
	chart := delivery.ChartOf(by)
	found := c.Named(chart.Source.Kind, chart.Source.Namespace, chart.Source.Name)
	switch kind := chart.Source.Kind; {
	case kind == "HelmRepository" && !chart.ByReference:
		return delivery.IsExact(chart.Text("version"))
	case kind == "HelmChart" && chart.ByReference:
		return len(found) == 1 && hasExactChart(c, found[0])
	case kind == "OCIRepository" && chart.ByReference, kind == "GitRepository" && !chart.ByReference:
		return len(found) == 1 && isPinned(found[0])
	}
	return false
}

// isPinned reports whether a source of Flux names a tag or a commit.
func isPinned(source *delivery.Object) bool {
	ref := func(field string) string { return source.Text("spec", "ref", field) }
	if ref("digest")+ref("commit") != "" {
		return true
	}
	return ref("tag") != "" && ref("tag") != "latest" && ref("semver") == "" && ref("name") == ""
}

// readBy are the sources and the values that an object names, and those that these name.
func readBy(c *delivery.Cluster, by *delivery.Object, namespace string) (all []delivery.Reference) {
	var visit func(value any)
	visit = func(value any) {
		for _, v := range crdschema.Each(value) {
			v, _ := v.(map[string]any)
			to := delivery.ReferenceOf(delivery.Wrap(v), namespace)
			if to.Kind != "" && to.Name != "" && !slices.Contains(all, to) {
				all = append(all, to)
				for _, found := range c.Named(to.Kind, to.Namespace, to.Name) {
					if found.GetKind() == "HelmChart" {
						visit(found.Field("spec"))
					}
				}
			}
		}
	}
	for _, field := range []string{"chart", "chartRef", "valuesFrom"} {
		visit(by.Field("spec", field))
	}
	return all
}

// takenBefore reports whether another unit took a folder of this one before the commit. It goes on doing so until its parent
// deletes it, for a unit that is renamed as for one that is split.
func takenBefore(base *delivery.Cluster, u *delivery.Unit) bool {
	return slices.ContainsFunc(base.Units, func(was *delivery.Unit) bool {
		return was.By != nil && slices.ContainsFunc(was.Sources, func(before delivery.Source) bool {
			return slices.ContainsFunc(u.Sources, func(now delivery.Source) bool {
				return before.Path != "" && path.Clean(before.Path) == path.Clean(now.Path)
			})
		})
	})
}
