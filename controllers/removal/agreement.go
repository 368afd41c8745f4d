package removal

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
)

// vote is what a VersionRemoval says to the question whether its versions may go.
// The set is closed.
type vote string

const (
	// agrees: this process has found them safe, for the VersionRemoval and the CRD
	// as they are.
	agrees vote = "Agrees"
	// agreed: an earlier process had, and this one has not looked yet.
	agreed vote = "Agreed"
	// objects: anything else. The answer is another one, or there is none for what
	// it asks for now.
	objects vote = "Objects"
)

// ballot is the vote of one VersionRemoval.
type ballot struct {
	versions []string
	vote     vote
}

// agreement is which versions of a CRD all that name them and count agree on, sorted. Other names are not kept: tenants
// may make up any number of them. What the CRD says already stays through a restart: an answer of before it takes
// nothing away, but adds nothing either.
func agreement(has []string, ballots []ballot, said []string) (versions []string) {
	votes := map[string]map[vote]bool{}
	for _, version := range has {
		votes[version] = map[vote]bool{}
	}
	for _, b := range ballots {
		for _, version := range b.versions {
			if cast := votes[version]; cast != nil {
				cast[b.vote] = true
			}
		}
	}
	for version, cast := range votes {
		added := cast[agrees] && !cast[agreed]
		kept := slices.Contains(said, version) && (cast[agrees] || cast[agreed])
		if !cast[objects] && (added || kept) {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return versions
}

// isFor reports whether a proof is about a CRD as it is.
func isFor(proof *v1alpha1.ProofStatus, crd *apiextensionsv1.CustomResourceDefinition) bool {
	return proof != nil && proof.UID == string(crd.UID) && proof.Generation == crd.Generation
}

// said are the versions that a CRD says are safe to remove, as it is now and in our
// words.
func said(crd *apiextensionsv1.CustomResourceDefinition, manager string) []string {
	if !crds.Says(crd.ManagedFields, manager, v1alpha1.VersionsRemovable) {
		return nil
	}
	return crds.CalledRemovable(crd)
}
