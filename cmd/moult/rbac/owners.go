package rbac

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// dependents are Kubernetes' own resources in namespaces, by group, as Kubernetes 1.36 serves them: what objects of
// CRDs own. Without Events, which have no owners.
var dependents = map[string][]string{
	"": {"configmaps", "endpoints", "limitranges", "persistentvolumeclaims", "pods", "podtemplates", "replicationcontrollers", "resourcequotas",
		"secrets", "serviceaccounts", "services"},
	"apps":                      {"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"},
	"autoscaling":               {"horizontalpodautoscalers"},
	"batch":                     {"cronjobs", "jobs"},
	"coordination.k8s.io":       {"leases"},
	"discovery.k8s.io":          {"endpointslices"},
	"networking.k8s.io":         {"ingresses", "networkpolicies"},
	"policy":                    {"poddisruptionbudgets"},
	"rbac.authorization.k8s.io": {"rolebindings", "roles"},
	"resource.k8s.io":           {"resourceclaims", "resourceclaimtemplates"},
	"storage.k8s.io":            {"csistoragecapacities"},
}

// others are the rest of Kubernetes' own, which has to be looked at to know that no reference is left. To move one that is there,
// somebody has to grant patch by name: with it on cluster roles or admission webhooks there is little that a client may not do.
var others = map[string][]string{
	"": {"events", "namespaces", "nodes", "persistentvolumes"},
	"admissionregistration.k8s.io": {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"},
	"apiextensions.k8s.io":         {"customresourcedefinitions"},
	"apiregistration.k8s.io":       {"apiservices"},
	"certificates.k8s.io":          {"certificatesigningrequests", "clustertrustbundles", "podcertificaterequests"},
	"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
	"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
	"node.k8s.io":                  {"runtimeclasses"},
	"rbac.authorization.k8s.io":    {"clusterrolebindings", "clusterroles"},
	"resource.k8s.io":              {"deviceclasses", "devicetaintrules", "resourceslices"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"storagemigration.k8s.io":      {"storageversionmigrations"},
	"storage.k8s.io":               {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
}

// repairRole grants what moving owner references takes: to list everything, and to write what may be owned, which the objects of
// the CRDs may be, too.
func (r *command) repairRole(crds []*apiextensionsv1.CustomResourceDefinition) *rbacv1.ClusterRole {
	written := map[string][]string{}
	maps.Copy(written, dependents)
	for _, crd := range crds {
		written[crd.Spec.Group] = append(slices.Clone(written[crd.Spec.Group]), crd.Spec.Names.Plural)
	}
	role := r.empty()
	for _, group := range slices.Sorted(maps.Keys(written)) {
		role.Rules = append(role.Rules, rule(group, written[group], "list", "patch"))
	}
	for _, group := range slices.Sorted(maps.Keys(others)) {
		role.Rules = append(role.Rules, rule(group, others[group], "list"))
	}
	return role
}
