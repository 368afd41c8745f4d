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

// findAside adds what has an object that matters passed over for now, applied at another time, or deleted before it is applied again.
func findAside(u *delivery.Unit) {
	for _, object := range u.Objects {
		if !kinds.Matters(object) && !kinds.Installs(object) && !slices.Contains(kinds.Decisive, object.GetKind()) {
			continue
		}
		if left := object.LeftAlone(); left != "" && !object.IsCRD() { // of a CRD, it is reported where it matters
			addInput(u, "what leaves "+kinds.NameOf(object, u)+" as it is", left)
		}
		if kinds.IsKept(object) || u.Tool == delivery.Flux { // it knows no hooks
			continue
		}
		for key, value := range object.GetAnnotations() {
			isArgoCDs := strings.HasPrefix(key, delivery.ArgoCDHook) && u.Tool != delivery.Helm
			if isArgoCDs || strings.HasPrefix(key, delivery.HelmHook) && !strings.HasSuffix(key, "-weight") {
				addInput(u, "the annotation "+key+" of "+kinds.NameOf(object, u), value)
			}
		}
	}
}

// findSettings adds what settings of Argo CD's leave out about CRDs.
func (f *follower) findSettings(u *delivery.Unit) {
	if u.Tool != delivery.ArgoCD || u.By == nil || len(u.CRDs()) == 0 && u.Unseen == "" {
		return
	}
	for _, project := range f.cluster.Named("AppProject", "", u.By.Text("spec", "project")) {
		for _, field := range []string{"clusterResourceWhitelist", "clusterResourceBlacklist"} {
			addInput(u, "spec."+field+" of AppProject "+project.GetName(), jsonOf(aboutCRDs(project.Entries("spec", field))))
		}
	}
	if slices.Contains(u.By.Texts("spec", "syncPolicy", "syncOptions"), "RespectIgnoreDifferences=true") {
		addInput(u, "spec.ignoreDifferences of "+kinds.NameOf(u.By, u.Parent), jsonOf(aboutCRDs(u.By.Entries("spec", "ignoreDifferences"))))
	}
	for _, settings := range f.cluster.Named("ConfigMap", "", "argocd-cm") {
		data, _ := settings.Field("data").(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(data)) {
			text, _ := data[key].(string)
			if strings.HasPrefix(key, "resource.") && (namesCRDs(text) || namesCRDs(key) || strings.HasSuffix(key, ".all")) {
				addInput(u, key+" in ConfigMap argocd-cm", text)
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
