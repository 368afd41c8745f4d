package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

var inTreeResource = schema.GroupResource{Group: "storagemigration.k8s.io", Resource: "storageversionmigrations"}

var errTooMany = errors.New("there are more than are looked at")

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

// inTreeMigrations are the StorageVersionMigrations of a resource; nil if they cannot be read. Each may be as large as etcd takes, and
// any client that may make some decides how many there are. So they are read as whole objects are.
func (r *Reconciler) inTreeMigrations(ctx context.Context, resource schema.GroupResource) []plan.StorageVersionMigration {
	ctx, cancel := context.WithTimeout(ctx, inTreeTimeout)
	defer cancel()
	for _, version := range inTreeVersions {
		found, seen := []plan.StorageVersionMigration{}, 0
		_, err := r.objects.EachWhole(ctx, inTreeResource.WithVersion(version), r.opts.Clock, func() { found, seen = found[:0], 0 }, func(page []map[string]any, _ int64) error {
			for _, object := range page {
				if m := plan.MigrationOf(&unstructured.Unstructured{Object: object}); m.Resource == resource {
					found = append(found, m)
				}
			}
			if seen += len(page); seen > maxInTree {
				return errTooMany
			}
			return nil
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil
		}
		slices.SortFunc(found, func(a, b plan.StorageVersionMigration) int { return strings.Compare(a.Name, b.Name) })
		return found
	}
	return nil
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
