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
	"github.com/moult-dev/moult/policies/words"
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
	"pkg.crossplane.io":           {"Provider", "Configuration", "Function", "ProviderRevision", "ConfigurationRevision", "ImageConfig"},
	"apiextensions.crossplane.io": {"CompositeResourceDefinition", "ManagedResourceDefinition", "ManagedResourceActivationPolicy"}, // become CRDs
	"packaging.carvel.dev":        {"PackageInstall", "PackageRepository"},
	"data.packaging.carvel.dev":   {"Package"},
	"kappctrl.k14s.io":            {"App"},
	"operator.cluster.x-k8s.io": { // of Cluster API's operator
		"CoreProvider", "BootstrapProvider", "ControlPlaneProvider", "InfrastructureProvider", "AddonProvider", "IPAMProvider", "RuntimeExtensionProvider",
	},
	"addons.cluster.x-k8s.io":           {"HelmChartProxy", "HelmReleaseProxy", "ClusterResourceSet"},
	"turtles-capi.cattle.io":            {"CAPIProvider"},
	"config.projectsveltos.io":          {"ClusterProfile", "Profile"},
	"lib.projectsveltos.io":             {"EventTrigger"},
	"helm.crossplane.io":                {"Release"},
	"helm.m.crossplane.io":              {"Release"},
	"helm.fluxcd.io":                    {"HelmRelease"}, // of Flux 1
	"core.oam.dev":                      {"Application"},
	"operator.knative.dev":              {"KnativeServing", "KnativeEventing"},
	"configsync.gke.io":                 {"RootSync", "RepoSync"},
	"gitops.kluctl.io":                  {"KluctlDeployment"},
	"management.cattle.io":              {"ManagedChart"}, // of Rancher
	"helm.k0sproject.io":                {"Chart"},
	"k0s.k0sproject.io":                 {"ClusterConfig"},
	"k0smotron.io":                      {"Cluster"},
	"controlplane.cluster.x-k8s.io":     {"K0sControlPlane", "K0smotronControlPlane"},
	"k0rdent.mirantis.com":              {"MultiClusterService", "ClusterDeployment", "ServiceTemplate", "ClusterTemplate", "ProviderTemplate", "Management", "Release"},
	"catalog.cattle.io":                 {"App"}, // of Rancher
	"resources.gardener.cloud":          {"ManagedResource"},
	"extensions.gardener.cloud":         {"Extension"},
	"eks.services.k8s.aws":              {"Addon"},
	"eks.aws.upbound.io":                {"Addon"},
	"kubernetesconfiguration.azure.com": {"Extension", "FluxConfiguration"},
	"configmanagement.gke.io":           {"ConfigManagement"},
	"apps.kubermatic.k8c.io":            {"ApplicationInstallation", "ApplicationDefinition"},
	"package-operator.run":              {"ClusterPackage", "Package", "ClusterObjectSet", "ClusterObjectDeployment", "ObjectDeployment"},
	"deployments.plural.sh":             {"ServiceDeployment", "GlobalService"},
	"operator.kyma-project.io":          {"Kyma"},
	"app.terraform.io":                  {"Workspace", "Module"},
	"tower.ansible.com":                 {"AnsibleJob"},
	"apis.kcp.io":                       {"APIResourceSchema", "APIExport"},
	"platform.kratix.io":                {"Promise", "PromiseRelease"},
	"application.giantswarm.io":         {"App", "Catalog"},
	"deckhouse.io":                      {"ModuleConfig", "ModulePullOverride", "ModuleSource", "ModuleRelease", "ModuleUpdatePolicy"},
	"core.gardener.cloud":               {"ControllerDeployment", "ControllerRegistration"},
	"operator.gardener.cloud":           {"Extension", "Garden"},
	"operator.karmada.io":               {"Karmada"},
	"packages.eks.amazonaws.com":        {"Package", "PackageBundle", "PackageBundleController"},
	"upgrade.cattle.io":                 {"Plan"}, // K3s and RKE2 bring charts with them
	"provisioning.cattle.io":            {"Cluster"},
	"operator.ibm.com":                  {"OperandRequest", "OperandConfig", "OperandRegistry"},
	"delivery.ocm.software":             {"ComponentVersion", "FluxDeployer", "Snapshot"},
	"core.rukpak.io":                    {"Bundle", "BundleDeployment"},
	"config.porch.kpt.dev":              {"PackageVariant", "PackageVariantSet"},
	// These operators install the CRDs of what they are for, in a version that the object or they themselves name.
	"kubevirt.io":                         {"KubeVirt"},
	"hco.kubevirt.io":                     {"HyperConverged"},
	"cdi.kubevirt.io":                     {"CDI"},
	"install.istio.io":                    {"IstioOperator"},
	"sailoperator.io":                     {"Istio", "IstioCNI", "ZTunnel"},
	"operator.tigera.io":                  {"Installation"},
	"operator.tekton.dev":                 {"TektonConfig"},
	"config.openshift.io":                 {"ClusterVersion"},
	"operator.open-cluster-management.io": {"MultiClusterHub", "ClusterManager", "Klusterlet"},
	"multicluster.openshift.io":           {"MultiClusterEngine"},
	"apps.open-cluster-management.io":     {"Subscription", "HelmRelease"},
	"policy.open-cluster-management.io":   {"OperatorPolicy"},
	"infra.contrib.fluxcd.io":             {"Terraform"}, // of the Tofu controller
	"pulumi.com":                          {"Stack", "Program"},
	"tf.upbound.io":                       {"Workspace"},
	"opentofu.upbound.io":                 {"Workspace"},
	"kro.run":                             {"ResourceGraphDefinition"}, // becomes a CRD
	"templates.gatekeeper.sh":             {"ConstraintTemplate"},      // becomes a CRD
	// Policies change objects on their way, or make and delete some. Those about CRDs count.
	"kyverno.io":                   {"ClusterPolicy", "Policy", "ClusterCleanupPolicy", "CleanupPolicy"},
	"policies.kyverno.io":          {"MutatingPolicy", "GeneratingPolicy", "DeletingPolicy"},
	"mutations.gatekeeper.sh":      {"Assign", "AssignMetadata", "ModifySet"},
	"bootstrap.cluster.x-k8s.io":   {"TalosConfig", "TalosConfigTemplate"}, // with manifests
	"policy.karmada.io":            {"ClusterOverridePolicy", "OverridePolicy"},
	"types.kubefed.io":             {"FederatedCustomResourceDefinition"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"},
}

// ofPolicies are the groups of these.
var ofPolicies = []string{"kyverno.io", "policies.kyverno.io", "mutations.gatekeeper.sh", "bootstrap.cluster.x-k8s.io", "policy.karmada.io", "types.kubefed.io", "admissionregistration.k8s.io"}

// becoming are the fields of kinds that become CRDs, or bring those of other objects, as far as they decide about these. What else an
// object holds or names is compared by itself, or decides about no CRD.
var becoming = map[string][]string{
	"ResourceGraphDefinition": {"schema"}, "ConstraintTemplate": {"crd"}, "ClusterResourceSet": {"resources", "strategy", "clusterSelector"},
	"ClusterConfig": {"extensions"}, "Kyma": {"modules", "channel"},
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

// NamesInstaller reports whether a text names a kind that installs something, and its group.
func NamesInstaller(text string) bool {
	for group, names := range installers {
		if strings.Contains(text, group) && slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
			return true
		}
	}
	return false
}

// Decisive are the kinds of objects that decide what a unit or a HelmRelease brings when it refers to them.
var Decisive = []string{"GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket", "ExternalArtifact", "ConfigMap", "Secret"}

// IsSource is for what Flux takes charts or folders from.
func IsSource(object *delivery.Object) bool {
	return slices.Contains(Decisive, object.GetKind()) && !IsKept(object)
}

// IsKept is for what holds texts or values.
func IsKept(object *delivery.Object) bool {
	return object.Is("", "ConfigMap") || object.Is("", "Secret")
}

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

// isAboutCRDs reports whether a policy names CRDs as what it is for, or all kinds. Of a binding, only the policy says that.
func isAboutCRDs(policy *delivery.Object) bool {
	if policy.GetKind() == "MutatingAdmissionPolicyBinding" || policy.GetKind() == "FederatedCustomResourceDefinition" {
		return true
	}
	for at, value := range crdschema.Each(policy.Object) {
		text, _ := value.(string)
		name := path.Base(text)
		switch {
		case len(at) == 0 || at[0] == "metadata":
		case slices.Contains([]string{"CustomResourceDefinition", "customresourcedefinitions", "extraManifests", "inlineManifests"}, name):
			return true
		case name == "*" && slices.ContainsFunc(at, func(step any) bool { return step == "resources" || step == "kinds" }):
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
	return words.FullName(namespace, by.GetName())
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
