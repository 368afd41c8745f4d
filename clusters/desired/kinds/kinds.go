// Package kinds reports which objects of a cluster have more applied than they hold themselves. Flux and Argo CD apply what some
// name, the controllers of others install something, and these refer to still others.
package kinds

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// installers are the kinds, beside those that are followed, whose controllers install what is not in the manifest and may
// hold CRDs. A HelmRelease that skips a chart's crds/ (spec.install.crds, spec.upgrade.crds) is no exception, as many
// charts have CRDs among their templates.
var installers = map[string][]string{
	"helm.toolkit.fluxcd.io":      {"HelmRelease"},
	"source.extensions.fluxcd.io": {"ArtifactGenerator"},
	"fluxcd.controlplane.io":      {"FluxInstance", "ResourceSet", "ResourceSetInputProvider"},               // the Flux Operator's
	"helm.cattle.io":              {"HelmChart", "HelmChartConfig"},                                          // of K3s and RKE2
	"fleet.cattle.io":             {"GitRepo", "HelmOp", "Bundle"},                                           // Rancher's Fleet
	"operators.coreos.com":        {"Subscription", "CatalogSource", "ClusterServiceVersion", "InstallPlan"}, // of the Operator Lifecycle Manager
	"olm.operatorframework.io":    {"ClusterExtension", "ClusterCatalog"},
	"pkg.crossplane.io":           {"Provider", "Configuration", "Function"},
	"apiextensions.crossplane.io": {"CompositeResourceDefinition", "ManagedResourceDefinition"}, // become CRDs
	"packaging.carvel.dev":        {"PackageInstall", "PackageRepository"},
	"data.packaging.carvel.dev":   {"Package"},
	"kappctrl.k14s.io":            {"App"},
	"operator.cluster.x-k8s.io": { // of Cluster API's operator
		"CoreProvider", "BootstrapProvider", "ControlPlaneProvider", "InfrastructureProvider", "AddonProvider", "IPAMProvider", "RuntimeExtensionProvider",
	},
	"addons.cluster.x-k8s.io":           {"HelmChartProxy", "ClusterResourceSet"},
	"config.projectsveltos.io":          {"ClusterProfile", "Profile"},
	"helm.crossplane.io":                {"Release"},
	"core.oam.dev":                      {"Application"},
	"operator.knative.dev":              {"KnativeServing", "KnativeEventing"},
	"configsync.gke.io":                 {"RootSync", "RepoSync"},
	"gitops.kluctl.io":                  {"KluctlDeployment"},
	"management.cattle.io":              {"ManagedChart"}, // of Rancher
	"helm.k0sproject.io":                {"Chart"},
	"k0s.k0sproject.io":                 {"ClusterConfig"},
	"deployments.plural.sh":             {"ServiceDeployment"},
	"operator.kyma-project.io":          {"Kyma"},
	"apps.open-cluster-management.io":   {"Subscription", "HelmRelease"},
	"policy.open-cluster-management.io": {"OperatorPolicy"},
	"infra.contrib.fluxcd.io":           {"Terraform"}, // of the Tofu controller
	"pulumi.com":                        {"Stack", "Program"},
	"tf.upbound.io":                     {"Workspace"},
	"opentofu.upbound.io":               {"Workspace"},
	"kro.run":                           {"ResourceGraphDefinition"}, // becomes a CRD
	"templates.gatekeeper.sh":           {"ConstraintTemplate"},      // becomes a CRD
	// Policies change objects on their way, or make and delete some. Those about CRDs count.
	"kyverno.io":                   {"ClusterPolicy", "Policy", "ClusterCleanupPolicy", "CleanupPolicy"},
	"policies.kyverno.io":          {"MutatingPolicy", "GeneratingPolicy", "DeletingPolicy"},
	"mutations.gatekeeper.sh":      {"Assign", "AssignMetadata", "ModifySet"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingWebhookConfiguration"},
}

// ofPolicies are the groups of these.
var ofPolicies = []string{"kyverno.io", "policies.kyverno.io", "mutations.gatekeeper.sh", "admissionregistration.k8s.io"}

// becoming are the fields of kinds that become CRDs, or bring those of other objects, as far as they decide about these. What else an
// object holds or names is compared by itself, or decides about no CRD.
var becoming = map[string][]string{
	"ResourceGraphDefinition": {"schema"}, "ConstraintTemplate": {"crd"}, "ClusterResourceSet": {"resources"},
	"ClusterConfig": {"extensions"}, "Kyma": {"modules"},
}

// Becoming are the fields of spec that decide about the CRDs which an object becomes, or brings; none if all of it may.
func Becoming(object *delivery.Object) []string {
	if !Installs(object) {
		return nil
	}
	return becoming[object.GetKind()]
}

// InstallerGroups are the API groups of what installs something, in their order.
func InstallerGroups() []string { return slices.Sorted(maps.Keys(installers)) }

// Decisive are the kinds of objects that decide what a unit or a HelmRelease brings when it refers to them.
var Decisive = []string{"GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket", "ExternalArtifact", "ConfigMap", "Secret"}

// Delivers reports whether an object makes Flux or Argo CD apply something.
func Delivers(object *delivery.Object) bool { return delivery.ToolOf(object) != "" }

// IsHelmRelease reports whether an object is one of Flux.
func IsHelmRelease(o *delivery.Object) bool { return o.Is("helm.toolkit.fluxcd.io", "HelmRelease") }

// Matters reports whether an object decides about CRDs, gates or what Flux and Argo CD apply.
func Matters(o *delivery.Object) bool { return o.IsCRD() || o.IsGate() || Delivers(o) }

// Installs reports whether the controller of an object installs what is not in its manifest.
func Installs(object *delivery.Object) bool {
	group := object.GroupVersionKind().Group
	return slices.Contains(installers[group], object.GetKind()) && (!slices.Contains(ofPolicies, group) || isAboutCRDs(object))
}

// isAboutCRDs reports whether a policy names CRDs as what it is for.
func isAboutCRDs(policy *delivery.Object) bool {
	for at, value := range crdschema.Each(policy.Object) {
		text, _ := value.(string)
		if len(at) > 0 && at[0] != "metadata" && slices.Contains([]string{"CustomResourceDefinition", "customresourcedefinitions"}, path.Base(text)) {
			return true
		}
	}
	return false
}

// Describe is what an object installs: the chart of a HelmRelease, as far as its manifest shows it.
func Describe(object *delivery.Object) string {
	if object.GetKind() == "ClusterResourceSet" {
		return "it has what ConfigMaps and Secrets hold applied to other clusters"
	}
	if slices.Contains(ofPolicies, object.GroupVersionKind().Group) {
		return "it may change, make or delete CRDs"
	}
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

// UnitName is the namespace/name of an object that has something applied, in the unit that it was found in.
func UnitName(by *delivery.Object, in *delivery.Unit) string {
	namespace := by.GetNamespace()
	if namespace == "" && in != nil && in.Tool == delivery.ArgoCD && in.By != nil {
		namespace = in.By.Text("spec", "destination", "namespace")
	}
	return delivery.FullName(namespace, by.GetName())
}

// NameOf is the same with the kind before it.
func NameOf(object *delivery.Object, in *delivery.Unit) string {
	return object.GetKind() + " " + UnitName(object, in)
}

// CRDs are those among some objects.
func CRDs(objects []*delivery.Object) []*delivery.Object {
	var found []*delivery.Object
	for _, object := range objects {
		if object.IsCRD() {
			found = append(found, object)
		}
	}
	return found
}

// MostUnits is how many units there may be: more than any cluster has, and an end to manifests that make ever new ones.
const MostUnits = 10_000
