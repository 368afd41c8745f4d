package inspect

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/lua"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/plan"
)

// Examination says what the doctor looks at.
type Examination struct {
	// CRDs are the names of those to examine; empty for all that are opted in.
	CRDs []string
	// LabelKey opts CRDs in.
	LabelKey string
	// Controller is the user that moult-controller runs as. Default: ControllerUser, if that ServiceAccount is there.
	Controller string
	// ArgoCDNamespace is where the ConfigMap argocd-cm is.
	ArgoCDNamespace string
	// Helm reads the Secrets of Helm's releases, in HelmNamespaces if there are some.
	Helm           bool
	HelmNamespaces []string
}

// Examine reads what policies/doctor examines. It is an error if CRDs cannot be read; with the error there may be some
// of them. What else may not be read, or cannot be, is reported as such.
func (c *Cluster) Examine(ctx context.Context, e Examination) (doctor.ClusterState, error) {
	p := doctor.ClusterState{Now: c.clock.Now(), LabelKey: e.LabelKey, FieldManager: v1alpha1.FieldManagerOf(v1alpha1.FieldManager, e.LabelKey)}
	p.Namespaces = c.namespaces(ctx, p.Namespaces) // and once more behind the objects: each may come and go
	var incomplete error
	for crd, err := range c.ReadCRDs(ctx, e.CRDs, e.LabelKey+"="+v1alpha1.MigrateLabelValue) {
		if err != nil {
			incomplete = err
			break
		}
		examined := doctor.ExaminedCRD{CustomResourceDefinition: withoutSchemas(crd), Aggregated: c.aggregated(ctx, crd)}
		c.lookAtObjects(ctx, &examined)
		p.CRDs = append(p.CRDs, examined)
	}
	if incomplete != nil && len(p.CRDs) == 0 {
		return p, incomplete
	}
	p.Server = c.version()
	p.Namespaces = c.namespaces(ctx, p.Namespaces)
	c.readController(ctx, e, &p)
	p.Gates = c.gates(ctx, e.CRDs)
	p.Migrations = c.migrations(ctx)
	p.ArgoCD = c.argoCD(ctx, e.ArgoCDNamespace)
	p.Releases = doctor.Known[[]doctor.Release]{Not: "the Secrets of Helm's releases are read only with --helm", NotAsked: true}
	if e.Helm || len(e.HelmNamespaces) > 0 {
		p.Releases, p.ReleasesNotSeen = c.releases(ctx, e.HelmNamespaces)
	}
	return p, incomplete
}

// version is the API server's.
func (c *Cluster) version() (known doctor.Known[string]) {
	info, err := c.discovery.ServerVersion()
	if err != nil {
		known.Not = unread(err, "the API server's version", "get on /version")
		return known
	}
	known.Value = info.GitVersion
	return known
}

// aggregated are the served versions of a CRD for which another API server answers.
func (c *Cluster) aggregated(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (known doctor.Known[[]doctor.Aggregated]) {
	routes, err := c.objects.Routes(ctx, crd.Spec.Group, crds.Served(crd)...)
	if err != nil {
		known.Not = unread(err, "the APIServices of "+crd.Name, "get on apiservices in apiregistration.k8s.io")
		return known
	}
	for _, r := range routes {
		if r.Aggregated() {
			known.Value = append(known.Value, doctor.Aggregated{APIService: r.APIService, Service: r.Service})
		}
	}
	return known
}

// namespaces adds those that there are to those that were seen before.
func (c *Cluster) namespaces(ctx context.Context, seen doctor.Known[[]string]) doctor.Known[[]string] {
	if seen.Not != "" {
		return seen
	}
	err := each(ctx, c, metav1.ListOptions{Limit: defaultPageSize}, func() {}, c.core.Namespaces().List, func(ns *corev1.Namespace) error {
		seen.Value = append(seen.Value, ns.Name)
		return nil
	})
	if err != nil {
		seen.Not = unread(err, "Namespaces", "list on namespaces")
	}
	return seen
}

// gates are the VersionRemovals of the named CRDs, or all. Without their CRD there are none.
func (c *Cluster) gates(ctx context.Context, names []string) (known doctor.Known[[]v1alpha1.VersionRemoval]) {
	group := v1alpha1.GroupVersion.Group
	if _, served := c.served(group); !served {
		return known
	}
	found, err := c.removals(ctx, defaultPageSize, names)
	if known.Value = found; err != nil {
		known.Not = unread(err, "VersionRemovals", "list on versionremovals in "+group)
	}
	return known
}

// migrations are the objects of other migrators, as far as their APIs are there.
func (c *Cluster) migrations(ctx context.Context) (all []doctor.Known[[]doctor.Migration]) {
	for _, group := range []string{doctor.InTree, doctor.KSVM} {
		version, served := c.served(group)
		if !served {
			continue
		}
		known := doctor.Known[[]doctor.Migration]{}
		resource := schema.GroupVersionResource{Group: group, Version: version, Resource: "storageversionmigrations"}
		query, restart := metav1.ListOptions{Limit: defaultPageSize}, func() { known.Value = nil }
		err := each(ctx, c, query, restart, c.dynamic.Resource(resource).List, func(object *unstructured.Unstructured) error {
			known.Value = append(known.Value, migrationOf(group, object))
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) {
			known.Not = unread(err, "StorageVersionMigrations of "+group, "list on storageversionmigrations in "+group)
		}
		all = append(all, known)
	}
	return all
}

// migrationOf reads what the objects of both migrators have in common.
func migrationOf(group string, object *unstructured.Unstructured) doctor.Migration {
	m := plan.MigrationOf(object)
	found := doctor.Migration{API: group, Name: m.Name, Resource: m.Resource, Ended: m.Ended != "", Changed: m.Changed}
	if m.Ended == plan.Failed {
		found.Failed = cmp.Or(m.Message, m.Ended)
	}
	return found
}

// ArgoCDConfig is the data of the ConfigMap argocd-cm.
func (c *Cluster) ArgoCDConfig(ctx context.Context, namespace string) (map[string]string, error) {
	var found *corev1.ConfigMap
	err := c.retry(ctx, func(ctx context.Context) (err error) {
		found, err = c.core.ConfigMaps(namespace).Get(ctx, lua.ConfigMap, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	return found.Data, nil
}

// argoCD is what `moult check argocd` looks at.
func (c *Cluster) argoCD(ctx context.Context, namespace string) (known doctor.Known[[]lua.Entry]) {
	data, err := c.ArgoCDConfig(ctx, namespace)
	switch {
	case apierrors.IsNotFound(err):
		known.NotAsked = true
		known.Not = fmt.Sprintf("there is no ConfigMap %s in namespace %s; if Argo CD is in another, name it with --argocd-namespace", lua.ConfigMap, namespace)
	case err != nil:
		known.Not = unread(err, "ConfigMap "+lua.ConfigMap, "get on configmaps in namespace "+namespace)
	default:
		known.Value = lua.Compare(data)
	}
	return known
}
