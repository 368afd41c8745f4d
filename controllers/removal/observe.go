package removal

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/verdict"
)

// observe looks at the CRD that a VersionRemoval names and at how far its
// migration is. The CRD is nil if there is none.
func (r *Reconciler) observe(ctx context.Context, removal *v1alpha1.VersionRemoval, from client.Reader, read readsCRD) (*apiextensionsv1.CustomResourceDefinition, verdict.Situation, error) {
	s := verdict.Situation{
		Now:      r.opts.Clock.Now(),
		Machine:  r.opts.machine.Now(),
		Removal:  removal.Spec,
		Paused:   crds.Paused(removal),
		LabelKey: r.opts.LabelKey,
		Every:    r.opts.SurveyInterval,
		Looks:    r.looks != nil,
	}
	if open(removal) {
		s.Remembered = removal.Status.Proof // for the versions that are asked for now
	}
	if removal.Status.ObservedGeneration == removal.Generation {
		s.Noted = verdict.Noted(removal.Status.Warnings)
	}
	s.Record = verdict.RecordOf(removal)
	crd, err := read(ctx, removal.Spec.CRDName)
	gone := isGone(err, removal.Spec.CRDName)
	if err != nil && !gone {
		return nil, s, err
	}
	if removal.Status.ObservedGeneration != removal.Generation {
		if s.Record, err = r.learn(ctx, removal, s.Record, gone, from); err != nil {
			return nil, s, err
		}
	}
	s.Went = r.crds.Went(removal.Spec.CRDName, gone)
	if gone {
		r.forget(client.ObjectKeyFromObject(removal))
		return nil, s, nil
	}
	s.CRD = verdict.Describe(crd, r.opts.LabelKey, r.opts.Groups)
	request, left := r.states.request(removal, s.Now)
	s.Asked, s.ClosedAt, s.Requested = request.asked, request.closedAt, request.requestedAt
	if left != "" {
		r.opts.Migration.Withdraw(left, client.ObjectKeyFromObject(removal))
	}
	if status, known := r.opts.Migration.Status(crd.Name); known {
		status = verdict.Disclose(status, removal.Namespace)
		s.Migration = &status
	}
	if versions := s.Removable(); r.looks != nil && len(versions) > 0 {
		if s.References = r.looks.found(crd, versions); s.References != nil {
			s.References = s.References.Disclose(removal.Namespace)
		}
	}
	return crd, s, nil
}

// learn is what a VersionRemoval that has yet to be answered as it is learns of the others of its CRD. When was written last is true for all. Where
// objects may be stored is learnt by one that is new, of its own namespace: another team's would hold this gate.
func (r *Reconciler) learn(ctx context.Context, removal *v1alpha1.VersionRemoval, own verdict.Record, gone bool, from client.Reader) (verdict.Record, error) {
	list := &v1alpha1.VersionRemovalList{}
	if err := r.client.List(ctx, list, client.MatchingFields{crdNameIndex: removal.Spec.CRDName}, client.UnsafeDisableDeepCopy); err != nil {
		return own, fmt.Errorf("listing the VersionRemovals of %s: %w", removal.Spec.CRDName, err)
	}
	for i := range list.Items {
		own.LearnLastWrite(&list.Items[i], removal.Spec.Versions)
	}
	if isNew := own.Before == "" && own.StoredAt == nil; !isNew {
		return own, nil
	}
	known, isFound := []verdict.Record{}, false
	for i := range list.Items {
		other := &list.Items[i]
		if other.Namespace != removal.Namespace || other.UID == removal.UID {
			continue
		}
		record := verdict.RecordOf(other)
		if holds := verdict.Learn([]verdict.Record{record}, gone).MayLeave(removal.Spec.Versions); holds && !isFound { // the cache may have one that was deleted
			now := &v1alpha1.VersionRemoval{}
			err := from.Get(ctx, client.ObjectKeyFromObject(other), now)
			if client.IgnoreNotFound(err) != nil {
				return own, fmt.Errorf("getting another VersionRemoval of %s: %w", removal.Spec.CRDName, err)
			}
			if err != nil || now.UID != other.UID {
				continue
			}
			isFound = true
		}
		known = append(known, record)
	}
	own.StoredAt = verdict.Learn(known, gone).StoredAt
	return own, nil
}

// readsCRD reads a CRD by name.
type readsCRD func(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error)

// ask wants the managedFields of the objects to let go of the versions, and a look for
// what else names them. It asks for nothing the label does not allow: the migration
// reconciler does not look after a CRD without it. One that names the storage version
// asks for nothing: what it wants cannot be, and others wait for the same objects.
func (r *Reconciler) ask(crd *apiextensionsv1.CustomResourceDefinition, removal *v1alpha1.VersionRemoval, s verdict.Situation, v verdict.Verdict) {
	if slices.Contains(removal.Spec.Versions, s.CRD.StorageVersion) {
		r.withdraw(removal.Spec.CRDName, client.ObjectKeyFromObject(removal))
		return
	}
	since := s.Asked
	if v.SurveyFrom.After(since) {
		since = v.SurveyFrom
	}
	r.opts.Migration.Ask(removal.Spec.CRDName, client.ObjectKeyFromObject(removal), plan.Removal{
		Versions: slices.Sorted(slices.Values(removal.Spec.Versions)), Since: since, Every: r.opts.SurveyInterval, Quiet: s.Quiet(),
	})
	r.askForLook(crd, removal, s, v)
}

// askForLook wants the cluster looked through for the versions that can go, if any can.
func (r *Reconciler) askForLook(crd *apiextensionsv1.CustomResourceDefinition, removal *v1alpha1.VersionRemoval, s verdict.Situation, v verdict.Verdict) {
	name, versions := client.ObjectKeyFromObject(removal), s.Removable()
	switch {
	case r.looks == nil:
	case len(versions) == 0:
		r.looks.withdraw(name)
	default:
		since := s.Asked
		if v.LookFrom.After(since) {
			since = v.LookFrom
		}
		r.looks.want(name, crd, versions, since, r.counts(removal, crd))
	}
}
