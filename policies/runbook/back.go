package runbook

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/bridge"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// Return is the way back to a version that objects were stored at before: the To of the Observation.
type Return struct {
	// Release is the CRD of the release to go back to, and Place is where it is. It is nil if none was named; then the
	// cluster's CRD has to have the version.
	Release *apiextensionsv1.CustomResourceDefinition
	Place   string
	// Context is that of the kubeconfig, for the commands.
	Context string
	// Released is what the release's schema of the version makes of the objects; nil if that is not another one than the flip's, or if
	// they were not looked at. Rehearsals fills it in.
	Released *conversion.Report
}

// returning are the rules of the way back. What would be lost is known before anything is changed.
var returning = []func(Observation) Step{rehearseBack, backUp, serveAgain, optIn, flipBack, migrate, look, unserve, ask, backUpAgain, wait, remove}

// way is the way back; an empty one on the way forth.
func (o Observation) way() Return {
	if o.Return == nil {
		return Return{}
	}
	return *o.Return
}

// goesBack is an error if there is no way back to To.
func (o Observation) goesBack() error {
	name, stored, release := o.CRD.Name, crds.StorageVersion(o.CRD), o.Return.Release
	has := strings.Join(crds.Versions(o.CRD), ", ")
	switch {
	case release == nil && !crds.Has(o.CRD, o.To):
		return fmt.Errorf("%s has no version %s, it has %s; if a release had it, name its manifests or a backup with --release, for example --release git:v1.2.0:config/crd", name, o.To, has)
	case release != nil && !crds.Has(release, o.To):
		return fmt.Errorf("%s has no version %s in %s, which has %s; name the manifests of a release that had it, or an older backup", name, o.To, o.Return.Place, strings.Join(crds.Versions(release), ", "))
	case release != nil && crds.StorageVersion(release) != o.To:
		return fmt.Errorf("%s in %s stores at %s and not at %s; name a release that stored at %[4]s, or go back to %[3]s", name, o.Return.Place, crds.StorageVersion(release), o.To)
	case release == nil && o.isNewer(o.To, stored):
		return fmt.Errorf("%s stores at %s, and %s is newer, so that is no way back; plan it with --to %[3]s, or name the release that stored at it with --release", name, stored, o.To)
	case release == nil && stored == o.To && len(o.Leaving) == 0 && len(o.newer()) == 0:
		return fmt.Errorf("%s stores at %s already, and no newer version is there to leave; if one is, name it with --version", name, o.To)
	case release != nil:
		return bridge.Immutable(o.CRD, release)
	}
	return nil
}

// isNewer reports whether a version is newer than another: status.storedVersions has the later one behind. If it does not name
// both, their names say it, in the order of Kubernetes. So they do if To is the last: the flip back may have put it there.
func (o Observation) isNewer(name, than string) bool {
	stored := o.CRD.Status.StoredVersions
	one, other := slices.Index(stored, name), slices.Index(stored, than)
	if appended := o.flipped() && len(stored) > 0 && stored[len(stored)-1] == o.To; one >= 0 && other >= 0 && !appended {
		return one > other
	}
	return version.CompareKubeAwareVersionStrings(name, than) > 0
}

// newer are the versions that leave on the way back: those of the CRD that the release does not have, and what VersionRemovals name
// beyond. Without a release they are those that are newer than To, and the one that is stored.
func (o Observation) newer() (names []string) {
	all := crds.Versions(o.CRD)
	for i := range o.Removals {
		all = append(all, o.Removals[i].Spec.Versions...)
	}
	for _, name := range words.Distinct(all) {
		release := o.Return.Release
		switch {
		case name == o.To, release != nil && crds.Has(release, name):
		case o.isNewer(name, o.To), name == crds.StorageVersion(o.CRD), release != nil && crds.Has(o.CRD, name):
			names = append(names, name)
		}
	}
	return names
}

// returned reports whether the CRD is the older release's again, which need not have the label.
func (o Observation) returned() bool {
	return o.Return != nil && o.removed() && o.flipped() && slices.Equal(o.CRD.Status.StoredVersions, []string{o.To})
}

// against are the VersionRemovals of the upgrade: they want To gone, and no CRD that stores at it gets by them.
func (o Observation) against() (all []*v1alpha1.VersionRemoval) {
	if o.Return == nil {
		return nil
	}
	for i := range o.Removals {
		if r := &o.Removals[i]; slices.Contains(r.Spec.Versions, o.To) {
			all = append(all, r)
		}
	}
	return all
}

// assumed are the notes of a way back.
func (o Observation) assumed() (notes []string) {
	stored := o.CRD.Status.StoredVersions
	if len(stored) > 1 && slices.Contains(stored, o.To) && !o.flipped() {
		notes = append(notes, fmt.Sprintf("the upgrade is in the middle: status.storedVersions names %s, so objects may be stored at each of them; the steps are the same, and the walk looks at every object", strings.Join(stored, ", ")))
	}
	if o.Return.Release == nil && !slices.Contains(stored, o.To) {
		notes = append(notes, fmt.Sprintf("nothing shows that objects were ever stored at %s: status.storedVersions does not name it, and no --release shows a CRD that stored at it", o.To))
	}
	if is := crds.StorageVersion(o.CRD); version.CompareKubeAwareVersionStrings(o.To, is) > 0 {
		from := "status.storedVersions, which names it first"
		if o.Return.Release != nil {
			from = o.Return.Place
		}
		notes = append(notes, fmt.Sprintf("by its name %s would be newer than %s; that it is the older one is taken from %s", o.To, is, from))
	}
	return notes
}

// bridge prints the CRD between into a file.
func (o Observation) bridge(file string, flags ...string) string {
	where := slices.Clone(o.ClusterFlags)
	if !slices.Contains(where, "--context") && o.Return.Context != "" {
		where = append(where, "--context", o.Return.Context)
	}
	args := slices.Concat([]string{"bridge", "--live", "--head", o.Return.Place, "--crd", o.CRD.Name}, flags, where)
	return o.local(args...) + " > " + words.Shell(file)
}
