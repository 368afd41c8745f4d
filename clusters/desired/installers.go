package desired

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/render"
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

func installs(object *delivery.Object) bool {
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

// installed is what of this repository decides about what an object installs.
func (f *follower) installed(object *delivery.Object) hidden {
	h := f.chartOf(object)
	if f.tree == nil {
		return h
	}
	switch {
	case object.Is("fluxcd.controlplane.io", "ResourceSet"):
		f.hideResourceSet(&h, object)
	case object.Is("fluxcd.controlplane.io", "FluxInstance"):
		f.hideSync(&h, object)
	case object.Is("source.extensions.fluxcd.io", "ArtifactGenerator"):
		h.widen(scopeOfCopies(object))
	default:
		f.addFolders(&h, object.Field("spec"))
	}
	return h
}

// addFolders adds the folders of this repository that fields such as path and dir name, wherever they stand.
func (f *follower) addFolders(h *hidden, value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			f.addFolders(h, item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"path", "paths", "dir", "subPath"}, key) {
				list, isList := v[key].([]any)
				if !isList {
					list = []any{v[key]}
				}
				for _, item := range list {
					if path, is := item.(string); is {
						h.addBelowRoot(f.tree, path)
					}
				}
			}
			f.addFolders(h, v[key])
		}
	}
}

// hideSync adds what matters in the folder that a FluxInstance has synced, if no unit is built of it: most of them lie in that folder.
func (f *follower) hideSync(h *hidden, instance *delivery.Object) {
	dir := folder(f.tree, instance.Text("spec", "sync", "path"))
	isBuilt := slices.ContainsFunc(f.cluster.Units, func(u *delivery.Unit) bool {
		return slices.ContainsFunc(u.Dirs, func(built string) bool { return inside(f.inRoot(built), dir) || inside(dir, f.inRoot(built)) })
	})
	if dir != "" && !isBuilt && instance.Text("spec", "sync", "kind") == "GitRepository" {
		f.hideFolder(h, dir, func() (*render.Rendering, error) { return render.Folder(dir, f.options(delivery.Source{})) })
	}
}

// hideResourceSet adds what matters in the folders that the Kustomizations and Applications of a ResourceSet may be of, whatever its
// inputs are.
func (f *follower) hideResourceSet(h *hidden, set *delivery.Object) {
	if text := set.Text("spec", "resourcesTemplate"); ofTools.MatchString(text) {
		h.widen(wires)
	}
	for _, resource := range set.Entries("spec", "resources") {
		if from := resource.SourceRef(); from.Kind != "" && from.Kind != "GitRepository" {
			continue
		}
		u := &delivery.Unit{Name: resource.GetName(), Tool: delivery.ToolOf(resource), By: resource}
		for _, source := range delivery.SourcesOf(resource) {
			path := strings.NewReplacer("<<", "{{", ">>", "}}").Replace(source.Path)
			folders := f.foldersLike(resource, path)
			if len(folders) > mostFolders {
				h.widen(wires)
				continue
			}
			for _, dir := range folders {
				f.hideFolder(h, dir, func() (*render.Rendering, error) {
					if u.Tool == delivery.Flux {
						return render.Folder(dir, f.fluxOptions(u, source))
					}
					return f.argoCDFolder(u, source, dir)
				})
			}
		}
	}
}

// whatIsInstalled is the chart of a HelmRelease, as far as its manifest shows it.
func whatIsInstalled(object *delivery.Object) string {
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
