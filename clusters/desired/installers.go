package desired

import (
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
)

// installers are the kinds, beside those that are followed, whose controllers install what is not in the manifest and may
// hold CRDs. A HelmRelease that skips a chart's crds/ (spec.install.crds, spec.upgrade.crds) is no exception, as many
// charts have CRDs among their templates.
var installers = map[string][]string{
	"helm.toolkit.fluxcd.io":      {"HelmRelease"},
	"source.extensions.fluxcd.io": {"ArtifactGenerator"},
	"fluxcd.controlplane.io":      {"FluxInstance", "ResourceSet", "ResourceSetInputProvider"}, // the Flux Operator's
	"helm.cattle.io":              {"HelmChart", "HelmChartConfig"},                            // of K3s and RKE2
	"fleet.cattle.io":             {"GitRepo", "HelmOp", "Bundle"},                             // Rancher's Fleet
	"operators.coreos.com":        {"Subscription", "CatalogSource", "ClusterServiceVersion"},  // of the Operator Lifecycle Manager
	"olm.operatorframework.io":    {"ClusterExtension", "ClusterCatalog"},
	"pkg.crossplane.io":           {"Provider", "Configuration", "Function"},
	"apiextensions.crossplane.io": {"CompositeResourceDefinition"}, // becomes a CRD
	"packaging.carvel.dev":        {"PackageInstall", "PackageRepository"},
	"kappctrl.k14s.io":            {"App"},
	"operator.cluster.x-k8s.io": { // of Cluster API's operator
		"CoreProvider", "BootstrapProvider", "ControlPlaneProvider", "InfrastructureProvider", "AddonProvider", "IPAMProvider", "RuntimeExtensionProvider",
	},
	"addons.cluster.x-k8s.io":  {"HelmChartProxy"},
	"config.projectsveltos.io": {"ClusterProfile", "Profile"},
	"helm.crossplane.io":       {"Release"},
	"core.oam.dev":             {"Application"},
	"operator.knative.dev":     {"KnativeServing", "KnativeEventing"},
	"kro.run":                  {"ResourceGraphDefinition"}, // becomes a CRD
	"templates.gatekeeper.sh":  {"ConstraintTemplate"},      // becomes a CRD
}

// becoming are the fields of kinds that become CRDs, as far as they decide about these. What else an object holds is compared
// by itself, or decides about no CRD.
var becoming = map[string][]string{"ResourceGraphDefinition": {"schema"}, "ConstraintTemplate": {"crd"}}

func installs(object *delivery.Object) bool {
	return slices.Contains(installers[object.GroupVersionKind().Group], object.GetKind())
}

// installed is what of this repository decides about what an object installs.
func (f *follower) installed(object *delivery.Object) hidden {
	h := f.chartOf(object)
	if f.tree == nil {
		return h
	}
	switch {
	case object.Is("fleet.cattle.io", "GitRepo"):
		for _, path := range object.Texts("spec", "paths") {
			h.addBelowRoot(f.tree, path)
		}
	case object.Is("kappctrl.k14s.io", "App"):
		for _, fetch := range object.Entries("spec", "fetch") {
			h.addBelowRoot(f.tree, fetch.Text("git", "subPath"))
		}
	case object.Is("source.extensions.fluxcd.io", "ArtifactGenerator"):
		h.widen(scopeOfCopies(object))
	}
	return h
}

// whatIsInstalled is the chart of a HelmRelease, as far as its manifest shows it.
func whatIsInstalled(object *delivery.Object) string {
	chart := object.Text("spec", "chart", "spec", "chart")
	if chart == "" {
		if name := object.Text("spec", "chartRef", "name"); name != "" {
			return "it installs the chart of " + object.Text("spec", "chartRef", "kind") + " " + name
		}
		return "what it installs is not among these manifests"
	}
	says := "it installs the chart " + strings.TrimSpace(chart+" "+object.Text("spec", "chart", "spec", "version"))
	if name := object.Text("spec", "chart", "spec", "sourceRef", "name"); name != "" {
		says += " of " + object.Text("spec", "chart", "spec", "sourceRef", "kind") + " " + name
	}
	return says
}
