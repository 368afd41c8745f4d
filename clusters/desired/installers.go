package desired

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/policies/delivery"
)

// installers are the kinds, beside those that are followed, whose controllers install what is not in the manifest and may
// hold CRDs. A HelmRelease that skips a chart's crds/ (spec.install.crds, spec.upgrade.crds) is no exception, as many
// charts have CRDs among their templates.
var installers = map[schema.GroupKind]bool{
	{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:                      true,
	{Group: "source.extensions.fluxcd.io", Kind: "ArtifactGenerator"}:           true,
	{Group: "fluxcd.controlplane.io", Kind: "FluxInstance"}:                     true, // the Flux Operator's
	{Group: "fluxcd.controlplane.io", Kind: "ResourceSet"}:                      true,
	{Group: "fluxcd.controlplane.io", Kind: "ResourceSetInputProvider"}:         true,
	{Group: "helm.cattle.io", Kind: "HelmChart"}:                                true, // of K3s and RKE2
	{Group: "helm.cattle.io", Kind: "HelmChartConfig"}:                          true,
	{Group: "fleet.cattle.io", Kind: "GitRepo"}:                                 true, // Rancher's Fleet
	{Group: "fleet.cattle.io", Kind: "HelmOp"}:                                  true,
	{Group: "fleet.cattle.io", Kind: "Bundle"}:                                  true,
	{Group: "operators.coreos.com", Kind: "Subscription"}:                       true, // of the Operator Lifecycle Manager
	{Group: "operators.coreos.com", Kind: "CatalogSource"}:                      true,
	{Group: "operators.coreos.com", Kind: "ClusterServiceVersion"}:              true,
	{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}:               true,
	{Group: "olm.operatorframework.io", Kind: "ClusterCatalog"}:                 true,
	{Group: "pkg.crossplane.io", Kind: "Provider"}:                              true,
	{Group: "pkg.crossplane.io", Kind: "Configuration"}:                         true,
	{Group: "pkg.crossplane.io", Kind: "Function"}:                              true,
	{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition"}: true, // becomes a CRD
	{Group: "packaging.carvel.dev", Kind: "PackageInstall"}:                     true,
	{Group: "packaging.carvel.dev", Kind: "PackageRepository"}:                  true,
	{Group: "kappctrl.k14s.io", Kind: "App"}:                                    true,
	{Group: "operator.cluster.x-k8s.io", Kind: "CoreProvider"}:                  true, // of Cluster API's operator
	{Group: "operator.cluster.x-k8s.io", Kind: "BootstrapProvider"}:             true,
	{Group: "operator.cluster.x-k8s.io", Kind: "ControlPlaneProvider"}:          true,
	{Group: "operator.cluster.x-k8s.io", Kind: "InfrastructureProvider"}:        true,
	{Group: "operator.cluster.x-k8s.io", Kind: "AddonProvider"}:                 true,
	{Group: "operator.cluster.x-k8s.io", Kind: "IPAMProvider"}:                  true,
	{Group: "operator.cluster.x-k8s.io", Kind: "RuntimeExtensionProvider"}:      true,
	{Group: "addons.cluster.x-k8s.io", Kind: "HelmChartProxy"}:                  true,
}

func installs(object *delivery.Object) bool { return installers[object.GroupVersionKind().GroupKind()] }

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
		h.widen(data)
	}
	return h
}

// whatIsInstalled is the chart of a HelmRelease, as far as its manifest tells.
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
