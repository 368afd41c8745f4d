package migration

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/plan"
)

// observe looks at a CRD and at what is known about it. The CRD is nil if it
// does not exist.
func (r *Reconciler) observe(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, plan.Observation, error) {
	crd, err := r.read(ctx, name)
	if err != nil || crd == nil {
		return nil, plan.Observation{}, err
	}
	routed := r.routed(ctx, crd) // before the time of the observation, so that one settle time does for all that it shows
	o := r.describe(crd)
	o.Routed = routed
	if o.Present && o.OptedIn && o.InScope && o.StorageVersion != "" {
		r.turned(crd, &o)
		o.Evidence = r.states.observe(name, o, plan.FromCondition(o, r.said(crd)), r.opts.Settle)
		o.Removal = r.states.removal(name, o, crds.Versions(crd))
		o.Walking = r.walks.state(name)
		o.InTree = r.inTree(ctx, crd, o.Now)
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
	return r.caughtUp(ctx, crd)
}

// errBehind: the cache does not know yet what this process has written itself.
var errBehind = errors.New("the cache is behind this process' own writes")

// caughtUp is a CRD that is not older than the last write of this process. If the cache has none, either it will soon,
// or etcd was restored: that the API server knows, and then all that is known is from before the restore. A write that
// names the resourceVersion of a CRD from a cache that is behind would be accepted by an etcd that was restored to that
// very state.
func (r *Reconciler) caughtUp(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	if !r.states.isBefore(crd.Name, crd.ResourceVersion) {
		return crd, nil
	}
	now := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.live.Get(ctx, types.NamespacedName{Name: crd.Name}, now); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !r.states.isBefore(now.Name, now.ResourceVersion) {
		return nil, errBehind
	}
	r.walks.stop(now.Name)
	r.states.restart(now.Name)
	return now, nil
}

// describe is the part of an observation that the CRD itself shows.
func (r *Reconciler) describe(crd *apiextensionsv1.CustomResourceDefinition) plan.Observation {
	o := plan.Observation{
		Now:            r.opts.Clock.Now(),
		Present:        crd.DeletionTimestamp == nil,
		OptedIn:        crds.OptedIn(crd, r.opts.LabelKey),
		InScope:        crds.InScope(crd, r.opts.Groups),
		Paused:         crds.Paused(crd),
		Established:    apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established),
		InTree:         plan.InTree{Running: apihelpers.IsCRDConditionTrue(crd, v1alpha1.StorageMigrating), Since: r.opts.Clock.Now()},
		Subject:        plan.SubjectOf(crd),
		StoredVersions: crd.Status.StoredVersions,
		Shape:          shapeOf(crd),
		Unserved:       crds.Unserved(crd),
		MayLose:        mayLose(crd.Annotations),
		MayDrop:        mayDrop(crd.Annotations),
	}
	o.ResourceVersion, o.Served = crd.ResourceVersion, apihelpers.HasServedCRDVersion(crd, o.StorageVersion)
	return o
}

// mayLose are the versions of which a CRD allows ownership to be lost.
func mayLose(annotations map[string]string) []string {
	versions := strings.FieldsFunc(annotations[v1alpha1.AllowOwnershipLossAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(versions)
	return versions
}

// mayDrop are the fields that objects may lose, as their CRD says.
func mayDrop(annotations map[string]string) []string {
	return crdschema.Patterns(annotations[v1alpha1.AllowFieldLossAnnotation])
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

// condition is our condition on a CRD; somebody else may have written it.
func condition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	return apihelpers.FindCRDCondition(crd, v1alpha1.StorageMigrated)
}

// applied reports whether there is anything of our condition on a CRD that we can
// take back.
func (r *Reconciler) applied(entries []metav1.ManagedFieldsEntry) bool {
	return crds.HasApplied(entries, r.opts.FieldManager, v1alpha1.StorageMigrated)
}
