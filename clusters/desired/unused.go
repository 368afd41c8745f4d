package desired

import (
	"cmp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// lentTo are the values and sources that a unit may take from others, by a HelmRelease that is not seen. A chart of a registry takes none, nor does
// what goes to another cluster, or what Argo CD applies where nothing of Flux is.
func (f *follower) lentTo(u *delivery.Unit) []*delivery.Object {
	isChart := func(s delivery.Source) bool { return s.Settings != nil && s.Settings.Text("chart") != "" }
	goesElsewhere := u.By != nil && u.By.Field("spec", "kubeConfig") != nil
	if goesElsewhere || len(u.Sources) > 0 && !slices.ContainsFunc(u.Sources, func(s delivery.Source) bool { return !isChart(s) }) {
		return nil
	}
	if u.Tool == delivery.ArgoCD && !f.hasFlux() {
		return nil
	}
	return f.unused()
}

// hasFlux reports whether something of Flux is seen in the cluster.
func (f *follower) hasFlux() bool {
	for _, object := range f.cluster.Objects() {
		if strings.HasSuffix(object.GroupVersionKind().Group, ".fluxcd.io") {
			return true
		}
	}
	return false
}

// findUnused are the values and sources that no other object names.
func (f *follower) findUnused() []*delivery.Object {
	var found []*delivery.Object
	used := map[delivery.Reference]bool{}
	for _, object := range f.cluster.Objects() {
		if !object.IsCRD() {
			uses(object, used)
		}
	}
	for _, o := range f.cluster.Objects() {
		of := func(kind, namespace string) bool {
			return used[delivery.Reference{Kind: kind, Namespace: namespace, Name: o.GetName()}]
		}
		isUsed := slices.ContainsFunc([]string{"", cmp.Or(o.GetNamespace(), anyNamespace)}, func(namespace string) bool {
			return of(o.GetKind(), namespace) || lends(o.GetKind()) && of("", namespace)
		})
		if slices.Contains(kinds.Decisive, o.GetKind()) && !isUsed {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b *delivery.Object) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}

// anyNamespace is for objects that do not say theirs.
const anyNamespace = "*"

func lends(kind string) bool { return kind == "ConfigMap" || kind == "Secret" }

// uses adds what an object names: by a kind and a name, or below a field about ConfigMaps or Secrets, of which no kind is known.
func uses(object *delivery.Object, used map[delivery.Reference]bool) {
	add := func(to delivery.Reference) {
		used[to] = true
		to.Namespace = anyNamespace
		used[to] = true
	}
	for at, value := range crdschema.Each(object.Object) {
		switch v := value.(type) {
		case map[string]any:
			if to := delivery.ReferenceOf(delivery.Wrap(v), object.GetNamespace()); to.Kind != "" && len(at) > 0 {
				add(to)
			}
		case string:
			isLent := func(step any) bool {
				key, _ := step.(string)
				key = strings.ToLower(key)
				return strings.Contains(key, "configmap") || strings.Contains(key, "secret")
			}
			if slices.ContainsFunc(at, isLent) {
				add(delivery.Reference{Namespace: object.GetNamespace(), Name: v})
			}
		}
	}
}
