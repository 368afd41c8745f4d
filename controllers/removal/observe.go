package removal

import (
	"context"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/provenance"
	"github.com/moult-dev/moult/controllers/removal/verdict"
)

// observe looks at the CRD that a VersionRemoval names and at how far its
// migration is, and asks the migration for what is wanted. The CRD is nil if
// there is none.
func (r *Reconciler) observe(ctx context.Context, removal *v1alpha1.VersionRemoval) (*apiextensionsv1.CustomResourceDefinition, verdict.Situation, error) {
	s := verdict.Situation{
		Now:      r.opts.Clock.Now(),
		Removal:  removal.Spec,
		Paused:   removal.Annotations[v1alpha1.PausedAnnotation] == v1alpha1.PausedAnnotationValue,
		LabelKey: r.opts.LabelKey,
	}
	if removal.Status.ObservedGeneration == removal.Generation {
		s.Remembered = removal.Status.Proof // for the versions that are asked for now
	}
	if at := removal.Status.LastWriteAt; at != nil && !at.Time.After(s.Now) {
		s.LastWrite = at.Time
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := r.crds.Get(ctx, types.NamespacedName{Name: removal.Spec.CRDName}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return nil, s, r.forget(ctx, client.ObjectKeyFromObject(removal))
	case err != nil:
		return nil, s, err
	}
	s.CRD = r.describe(crd)
	r.ask(removal, s)
	if standing, known := r.opts.Migration.Standing(crd.Name); known {
		s.Standing = &standing
	}
	return crd, s, nil
}

func (r *Reconciler) describe(crd *apiextensionsv1.CustomResourceDefinition) *verdict.CRD {
	d := &verdict.CRD{
		Subject:        plan.Subject{UID: string(crd.UID), Generation: crd.Generation},
		OptedIn:        crd.Labels[r.opts.LabelKey] == v1alpha1.MigrateLabelValue,
		InScope:        len(r.opts.Groups) == 0 || slices.Contains(r.opts.Groups, crd.Spec.Group),
		Deleting:       crd.DeletionTimestamp != nil,
		StoredVersions: crd.Status.StoredVersions,
		Provenance:     provenance.Of(crd, r.opts.LabelKey),
	}
	for _, v := range crd.Spec.Versions {
		d.Versions = append(d.Versions, verdict.Version{Name: v.Name, Served: v.Served})
		if v.Storage {
			d.StorageVersion = v.Name
		}
	}
	return d
}

// ask wants the managedFields of the objects to let go of the versions. It asks
// for nothing the label does not allow: the migration reconciler does not look
// after a CRD without it.
func (r *Reconciler) ask(removal *v1alpha1.VersionRemoval, s verdict.Situation) {
	name := client.ObjectKeyFromObject(removal)
	requested, _ := meta.ReconcileAnnotationValue(removal.Annotations)
	since, left := r.wishes.due(name, removal.Spec.CRDName, removal.Generation, requested, s.Now, r.opts.SurveyInterval)
	if left != "" {
		r.opts.Migration.Withdraw(left, name)
	}
	r.opts.Migration.Ask(removal.Spec.CRDName, name, plan.Removal{Versions: slices.Sorted(slices.Values(removal.Spec.Versions)), Since: since})
}
