package desired

import (
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// notApplied reports whether Argo CD passes over an object: it is a hook of an occasion that is no sync. To take it for a hook, it also takes it
// from what it keeps in the cluster.
func notApplied(object *delivery.Object) bool {
	phases, isHook := object.Phases()
	return isHook && len(phases) == 0
}

// set remembers a setting of a unit, also if it is empty.
func set(u *delivery.Unit, name, content string) {
	if u.Settings == nil {
		u.Settings = map[string]string{}
	}
	u.Settings[name] += content
}

// findAside adds what has an object that matters passed over for now, applied at another time, or deleted before it is applied again.
func findAside(u *delivery.Unit) {
	for _, object := range u.Objects {
		if !kinds.Matters(object) && !kinds.Installs(object) && !slices.Contains(kinds.Decisive, object.GetKind()) {
			continue
		}
		name := kinds.NameOf(object, u)
		if !object.IsCRD() { // of a CRD, it is reported where it matters
			set(u, "what leaves "+name+" as it is", object.LeftAlone())
		}
		if !kinds.IsKept(object) && u.Tool != delivery.Flux { // it knows no hooks
			set(u, "what makes "+name+" a hook", hooksOf(object, u.Tool))
		}
	}
}

// hooksOf is what annotations say about when an object is run, and what becomes of it.
func hooksOf(object *delivery.Object, tool delivery.Tool) (says string) {
	annotations := object.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		isArgoCDs := strings.HasPrefix(key, delivery.ArgoCDHook) && tool != delivery.Helm
		if isArgoCDs || strings.HasPrefix(key, delivery.HelmHook) && !strings.HasSuffix(key, "-weight") {
			says += key + ": " + annotations[key] + "\n"
		}
	}
	return says
}

// findSettings adds what settings of Argo CD's leave out about CRDs.
func (f *follower) findSettings(u *delivery.Unit) {
	if u.Tool != delivery.ArgoCD || u.By == nil || len(u.CRDs()) == 0 && u.Unseen == "" {
		return
	}
	project := u.By.Text("spec", "project")
	for _, field := range []string{"clusterResourceWhitelist", "clusterResourceBlacklist"} {
		name := "spec." + field + " of AppProject " + project
		set(u, name, "")
		for _, one := range f.cluster.Named("AppProject", "", project) {
			set(u, name, jsonOf(aboutCRDs(one.Entries("spec", field))))
		}
	}
	ignored := "spec.ignoreDifferences of " + kinds.NameOf(u.By, u.Parent)
	if set(u, ignored, ""); slices.Contains(u.By.Texts("spec", "syncPolicy", "syncOptions"), "RespectIgnoreDifferences=true") {
		set(u, ignored, jsonOf(aboutCRDs(u.By.Entries("spec", "ignoreDifferences"))))
	}
	const all = "the settings of resources in ConfigMap argocd-cm"
	set(u, all, "")
	for _, settings := range f.cluster.Named("ConfigMap", "", "argocd-cm") {
		data, _ := settings.Field("data").(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(data)) {
			text, _ := data[key].(string)
			if strings.HasPrefix(key, "resource.") && (namesCRDs(text) || namesCRDs(key) || strings.HasSuffix(key, ".all")) {
				set(u, all, key+text)
			}
		}
	}
}

// aboutCRDs are the entries of a list of kinds that include CRDs.
func aboutCRDs(entries []*delivery.Object) (found []any) {
	for _, entry := range entries {
		if says := jsonOf(entry.Object); namesCRDs(says) {
			found = append(found, entry.Object)
		}
	}
	return found
}

// namesCRDs reports whether a setting may be about CRDs.
func namesCRDs(text string) bool {
	return strings.ContainsAny(text, "*?") || strings.Contains(text, "apiextensions") || strings.Contains(text, "CustomResourceDefinition")
}
