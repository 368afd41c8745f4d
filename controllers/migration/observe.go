package migration

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/labelorigin"
	"github.com/moult-dev/moult/controllers/plan"
)

// observe looks at a CRD and at what is known about it. The CRD is nil if it
// does not exist.
func (r *Reconciler) observe(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, plan.Observation, error) {
	crd, err := r.read(ctx, name)
	if err != nil || crd == nil {
		return nil, plan.Observation{}, err
	}
	o := r.describe(crd)
	if o.Present && o.OptedIn && o.InScope && o.StorageVersion != "" {
		recorded := plan.Recall(o, r.said(crd))
		r.states.evidence(name, o.Subject, o.Now, r.opts.Settle, func() plan.Evidence {
			return plan.Begin(o.Subject, recorded, o.Now, r.opts.Settle)
		})
		o.Evidence = r.states.update(name, o.Subject, func(e plan.Evidence) plan.Evidence {
			if recorded.Proved && !e.Proved {
				e = plan.Begin(o.Subject, recorded, o.Now, r.opts.Settle) // another process of ours was faster
			}
			e = e.At(o.ResourceVersion, o.Now, r.opts.Settle)
			e.Survey = e.Survey.Allowing(o.MayLose)
			return e.Seen(o.Clean(), o.Now, r.opts.Settle).Serving(o.Unserved, o.Now, r.opts.Settle)
		})
		r.states.noteOwner(name, labelorigin.Of(crd, r.opts.LabelKey).Owner)
		o.Removal = r.removal(name, o.StorageVersion)
		o.Walking = r.walks.state(name)
	}
	return crd, o, nil
}

// read gets a CRD from the cache, which holds opted-in CRDs only. One that is
// not there may have lost its label, so it is looked up at the API server.
func (r *Reconciler) read(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := r.cached.Get(ctx, types.NamespacedName{Name: name}, crd)
	if apierrors.IsNotFound(err) {
		err = r.live.Get(ctx, types.NamespacedName{Name: name}, crd)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return crd, nil
}

// removal is what is asked for of a CRD, without what can never be: nobody
// removes the storage version.
func (r *Reconciler) removal(name, storageVersion string) plan.Removal {
	asked := r.opts.StateStore.removal(name)
	asked.Versions = slices.DeleteFunc(asked.Versions, func(v string) bool { return v == storageVersion })
	return asked
}

// describe is the part of an observation that stands in the CRD.
func (r *Reconciler) describe(crd *apiextensionsv1.CustomResourceDefinition) plan.Observation {
	o := plan.Observation{
		Now:            r.opts.Clock.Now(),
		Present:        crd.DeletionTimestamp == nil,
		OptedIn:        crd.Labels[r.opts.LabelKey] == v1alpha1.MigrateLabelValue,
		InScope:        len(r.opts.Groups) == 0 || slices.Contains(r.opts.Groups, crd.Spec.Group),
		Paused:         crd.Annotations[v1alpha1.PausedAnnotation] == v1alpha1.PausedAnnotationValue,
		Established:    crds.IsTrue(crd, string(apiextensionsv1.Established)),
		InTree:         crds.IsTrue(crd, v1alpha1.StorageMigrating),
		Subject:        plan.Subject{UID: string(crd.UID), Generation: crd.Generation},
		StoredVersions: crd.Status.StoredVersions,
		MayLose:        mayLose(crd.Annotations),
	}
	o.ResourceVersion = crd.ResourceVersion
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			o.StorageVersion, o.Served = v.Name, v.Served
		}
		if !v.Served {
			o.Unserved = append(o.Unserved, v.Name)
		}
	}
	return o
}

// said is our condition on a CRD; nil if there is none, or if somebody else
// wrote any of what it says: then it proves nothing.
func (r *Reconciler) said(crd *apiextensionsv1.CustomResourceDefinition) *plan.Said {
	c := condition(crd)
	if c == nil || !crds.Says(crd.ManagedFields, r.opts.FieldManager, v1alpha1.StorageMigrated) {
		return nil
	}
	return &plan.Said{True: c.Status == apiextensionsv1.ConditionTrue, Reason: c.Reason, Message: c.Message}
}

// condition is our condition on a CRD, by whomever it was written.
func condition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	return crds.Condition(crd, v1alpha1.StorageMigrated)
}

// applied tells whether there is anything of our condition on a CRD that we can
// take back.
func (r *Reconciler) applied(entries []metav1.ManagedFieldsEntry) bool {
	return crds.HasApplied(entries, r.opts.FieldManager, v1alpha1.StorageMigrated)
}
