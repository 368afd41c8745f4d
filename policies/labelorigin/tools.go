package labelorigin

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/words"
)

// The traces that tools leave.
const (
	fluxGroup      = "kustomize.toolkit.fluxcd.io"
	fluxManager    = "kustomize-controller"
	helmGroup      = "helm.toolkit.fluxcd.io"
	helmManager    = "helm"
	helmCtlManager = "helm-controller"
	helmRelease    = "meta.helm.sh/release-name"
	helmNamespace  = "meta.helm.sh/release-namespace"
	argoCDManager  = "argocd-controller" // when it applies; when it replaces, it has the name of its program
	argoCDTracking = "argocd.argoproj.io/tracking-id"
	argoCDOptions  = "argocd.argoproj.io/sync-options"
	optionReplace  = "Replace=true"
	optionServer   = "ServerSideApply=true"
	fluxApply      = fluxGroup + "/ssa"
	fluxReconcile  = fluxGroup + "/reconcile"
)

// trace is what a tool has left on a CRD.
type trace struct {
	name   Tool
	object string
	at     time.Time // of its last change, as far as managedFields tell
}

// toolOf is the tool that applies the CRD: of those that have left a trace, the one that changed it last. A CRD that
// has moved from one tool to another carries traces of both.
func toolOf(crd metav1.Object) trace {
	var latest trace
	for _, t := range traces(crd) {
		if latest.name == NoTool || t.at.After(latest.at) {
			latest = t
		}
	}
	return latest
}

// traces are those of all tools, in the order in which they are believed when times are equal.
func traces(crd metav1.Object) (found []trace) {
	labels, annotations := crd.GetLabels(), crd.GetAnnotations()
	// Argo CD leaves no tracking id on CRDs of its own accord; one that is there is from a manifest or an older version.
	application, _, _ := strings.Cut(annotations[argoCDTracking], ":")
	for _, t := range []trace{
		{name: Flux, object: object("Kustomization", labels[fluxGroup+"/namespace"], labels[fluxGroup+"/name"])},
		{name: ArgoCD, object: object("Application", "", application)},
		{name: HelmController, object: object("HelmRelease", labels[helmGroup+"/namespace"], labels[helmGroup+"/name"])},
		{name: Helm, object: object("release", annotations[helmNamespace], annotations[helmRelease])},
	} {
		wrote := false
		for _, entry := range crd.GetManagedFields() {
			if toolNamed(entry.Manager) == t.name && entry.Subresource == "" {
				wrote = true
				if timeOf(entry).After(t.at) {
					t.at = timeOf(entry)
				}
			}
		}
		if wrote || t.object != "" {
			found = append(found, t)
		}
	}
	return found
}

// object is "Kustomization flux-system/crds", empty without a name.
func object(kind, namespace, name string) string {
	if name == "" {
		return ""
	}
	return kind + " " + words.FullName(namespace, name)
}

// toolNamed is the tool whose field manager this is.
func toolNamed(manager string) Tool {
	switch {
	case manager == fluxManager:
		return Flux
	case isArgoCD(manager):
		return ArgoCD
	case manager == helmCtlManager:
		return HelmController
	case manager == helmManager:
		return Helm
	default:
		return NoTool
	}
}

func isArgoCD(manager string) bool {
	return strings.HasPrefix(manager, "argocd") && manager != "argocd-server"
}

// isReplace reports whether an entry is one that Argo CD makes when it replaces an object: it names no field manager
// then, so the API server takes the program's name.
func isReplace(entry metav1.ManagedFieldsEntry) bool {
	return isArgoCD(entry.Manager) && entry.Manager != argoCDManager && entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == ""
}

// modeOf is how Argo CD applies the CRD: as an annotation on it says, or else as it did when it changed it last.
func modeOf(crd metav1.Object) mode {
	options := crd.GetAnnotations()[argoCDOptions]
	switch {
	case strings.Contains(options, optionReplace):
		return replacing
	case strings.Contains(options, optionServer):
		return serverSide
	}
	last, latest := clientSide, time.Time{}
	for _, entry := range crd.GetManagedFields() {
		if !isArgoCD(entry.Manager) || entry.Subresource != "" || timeOf(entry).Before(latest) {
			continue
		}
		latest = timeOf(entry)
		switch {
		case isReplace(entry):
			last = replacing
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			last = serverSide
		default:
			last = clientSide
		}
	}
	return last
}

// fluxSkips is the setting on a CRD that keeps Flux from taking over what kubectl has set: it looks at labels and
// annotations and does not mind capitals. IfNotPresent it looks for in Git alone (fluxcd/pkg/ssa, shouldSkipApply), so that
// one counts only where Flux has put it.
func fluxSkips(crd metav1.Object) string {
	for where, of := range map[string]map[string]string{"labels": crd.GetLabels(), "annotations": crd.GetAnnotations()} {
		for key, value := range of {
			skips := strings.ToLower(value)
			switch {
			case key == fluxApply && skips == "ifnotpresent" && !ownedByFlux(crd, where, key):
			case key == fluxApply && (skips == "merge" || skips == "ignore" || skips == "ifnotpresent"), key == fluxReconcile && skips == "disabled":
				return key + ": " + value
			}
		}
	}
	return ""
}

func ownedByFlux(crd metav1.Object, where, key string) bool {
	return slices.ContainsFunc(crd.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == fluxManager && crds.OwnsField(entry, "metadata", where, key)
	})
}
