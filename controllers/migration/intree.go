package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

// The in-tree migrator (storagemigration.k8s.io) marks a CRD with the condition StorageMigrating and Moult stands back. What has
// become of it is in its StorageVersionMigration, which the component clusters/components/in-tree-migrator lets Moult read.

const (
	// inTreeTimeout bounds the look at StorageVersionMigrations, without which Moult waits longer.
	inTreeTimeout = 10 * time.Second
	// maxInTree is how many StorageVersionMigrations are looked at.
	maxInTree = 500
)

// inTreeVersions are those of the API, the newest first.
var inTreeVersions = []string{"v1", "v1beta1"}

// inTree is how far the in-tree migrator is with a CRD.
func (r *Reconciler) inTree(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, now time.Time) plan.InTree {
	condition := apihelpers.FindCRDCondition(crd, v1alpha1.StorageMigrating)
	if condition == nil || condition.Status != apiextensionsv1.ConditionTrue {
		r.states.inTreeChanged(crd.Name, "", now)
		return plan.InTree{}
	}
	seen := fmt.Sprint(condition.LastTransitionTime.UTC(), condition.Message)
	t := plan.InTree{Running: true, Migrations: r.inTreeMigrations(ctx, resourceOf(crd))}
	for _, m := range t.Migrations {
		seen += fmt.Sprint("/", m.Name, m.Progress)
	}
	t.Since, t.Begun = r.states.inTreeChanged(crd.Name, seen, now)
	return t
}

// inTreeMigrations are the StorageVersionMigrations of a resource; nil if they cannot be read.
func (r *Reconciler) inTreeMigrations(ctx context.Context, resource schema.GroupResource) []plan.StorageVersionMigration {
	ctx, cancel := context.WithTimeout(ctx, inTreeTimeout)
	defer cancel()
	for _, version := range inTreeVersions {
		list, err := r.dynamic.Resource(schema.GroupVersionResource{Group: "storagemigration.k8s.io", Version: version, Resource: "storageversionmigrations"}).
			List(ctx, metav1.ListOptions{Limit: maxInTree})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil || list.GetContinue() != "" {
			return nil
		}
		found := []plan.StorageVersionMigration{}
		for i := range list.Items {
			if m := plan.MigrationOf(&list.Items[i]); m.Resource == resource {
				found = append(found, m)
			}
		}
		slices.SortFunc(found, func(a, b plan.StorageVersionMigration) int { return strings.Compare(a.Name, b.Name) })
		return found
	}
	return nil
}

// migrations reads StorageVersionMigrations.
type migrations interface {
	Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface
}

// inTreeChanged notes what is seen of the in-tree migrator, nothing while it is not at work. It returns since when it is the
// same, and since when it has been something.
func (s *StateStore) inTreeChanged(crd, seen string, now time.Time) (since, begun time.Time) {
	since, begun = now, now
	s.with(crd, func(known *state) {
		if known.inTree == "" {
			known.inTreeBegun = now
		}
		if known.inTree != seen {
			known.inTree, known.inTreeAt = seen, now
		}
		since, begun = known.inTreeAt, known.inTreeBegun
	})
	return since, begun
}
