package repair

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/policies/plan"
)

// subject is a CRD, and what is to leave its versions.
type subject struct {
	uid    types.UID
	target owners.Target
	listed []string // all versions that the CRD has
	// asked: VersionRemovals name it.
	asked bool
}

func (s *subject) name() string { return s.target.CRD }

// observe are the CRDs that want it and whose migration is proved, by their names.
func (r *Reconciler) observe(all []apiextensionsv1.CustomResourceDefinition) (subjects []subject) {
	for i := range all {
		crd := &all[i]
		status, known := r.opts.Migration.Status(crd.Name)
		if known && r.wants(crd) && isProved(crd, status) {
			subjects = append(subjects, subjectOf(crd, r.opts.Migration.Asked(crd.Name)))
		}
	}
	slices.SortFunc(subjects, func(a, b subject) int { return cmp.Compare(a.name(), b.name()) })
	return subjects
}

// wants reports whether the CRD lets Moult write to its objects, and to those of others that the kind is about.
func (r *Reconciler) wants(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.DeletionTimestamp == nil && crds.OptedIn(crd, r.opts.LabelKey) && crds.InScope(crd, r.opts.Groups) &&
		r.kind.wanted(crd) && !crds.Paused(crd)
}

// isProved reports whether the migration's proof holds for the CRD as it is here. References to objects that cannot be
// read at the storage version would not help.
func isProved(crd *apiextensionsv1.CustomResourceDefinition, status plan.MigrationStatus) bool {
	return status.Decision.Reason == v1alpha1.ReasonMigrated && status.Subject == plan.SubjectOf(crd)
}

// subjectOf says that what there is leaves the versions of the CRD that are asked for, and all that it does not serve. A tenant may ask for
// any others, as many as it likes.
func subjectOf(crd *apiextensionsv1.CustomResourceDefinition, asked []string) subject {
	t := owners.Target{
		CRD: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, Storage: crds.StorageVersion(crd),
		Served: crds.Served(crd), Unserved: true,
	}
	t.Leaving = slices.DeleteFunc(slices.Clone(asked), func(version string) bool { return version == t.Storage || !crds.Has(crd, version) })
	return subject{uid: crd.UID, target: t, listed: crds.Versions(crd), asked: len(asked) > 0}
}
