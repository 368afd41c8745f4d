package plan

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
)

// Subject is what a proof is about: one CRD, at one generation of its spec,
// with one storage version. A change of any of them is another subject.
type Subject struct {
	UID            string
	Generation     int64
	StorageVersion string
}

// SubjectOf is a CRD as it is.
func SubjectOf(crd *apiextensionsv1.CustomResourceDefinition) Subject {
	return Subject{UID: string(crd.UID), Generation: crd.Generation, StorageVersion: crds.StorageVersion(crd)}
}

// Mode is what a walk over all objects is for.
type Mode string

const (
	// Rewriting walks early, so that most of the work is done while the settle
	// time runs. It proves nothing.
	Rewriting Mode = "Rewriting"
	// Checking walks after the settle time. If it finds nothing left to
	// rewrite, that is the proof.
	Checking Mode = "Checking"
	// Surveying walks over a proved CRD whose versions are to go, and repairs the
	// managedFields that name them.
	Surveying Mode = "Surveying"
)

// Removal is what is asked for by those who want to remove versions.
type Removal struct {
	// Versions that are to go, sorted; Left stands for all that the CRD does not have.
	// Empty if no VersionRemoval asks.
	Versions []string
	// Since is when they were last asked for: a survey has to be younger.
	Since time.Time
	// Every is how often they are looked for again; 0 for once.
	Every time.Duration
	// Quiet is how long all who ask for a version wait after a write at it: until then, its entry stays where it shows the write. 0 if one does
	// not wait.
	Quiet map[string]time.Duration
}

// Left stands for versions that have left a CRD, or were never there. An entry of
// managedFields at one is moved by any survey.
const Left = "(left)"

// Walking is a walk in progress.
type Walking struct {
	Subject Subject
	Mode    Mode
	Counts  Counts
	// Looking is that the counts are of a look at all objects, for fields that they would lose, before any is rewritten or checked.
	Looking bool
	// MayLose and MayDrop are what the CRD allowed when the walk began.
	MayLose, MayDrop []string
}

// isAllowed reports whether the CRD still allows all that it did when the walk began. To take a permission back stops the walk.
func (w Walking) isAllowed(o Observation) bool {
	within := func(then, now []string) bool {
		return !slices.ContainsFunc(then, func(one string) bool { return !slices.Contains(now, one) })
	}
	return within(w.MayLose, o.MayLose) && within(w.MayDrop, o.MayDrop)
}

// hasLostItsGround reports whether the evidence has begun again since the walk began, at the same subject. Then a survey has no proof
// beside it any more, and a check began too early.
func (w Walking) hasLostItsGround(o Observation) bool {
	return w.Mode == Surveying && !o.Evidence.Proved || w.Mode == Checking && o.Now.Before(o.Evidence.WindowEnd)
}

// Counts are the objects of one walk, by outcome.
type Counts struct {
	Total     int64 // as far as is known; grows with the pages
	Rewritten int64
	Current   int64 // already stored at the storage version
	Gone      int64 // deleted since they were listed
	Failed    int64
	Rate      float64 // objects per second
}

// Done is how many objects have an outcome.
func (c Counts) Done() int64 { return c.Rewritten + c.Current + c.Gone + c.Failed }

// Progress is the part of the counts that a condition has.
func (c Counts) Progress() v1alpha1.Progress {
	return v1alpha1.Progress{Done: c.Done(), Total: c.Total, Failed: c.Failed, Rate: c.Rate}
}

// Observation is everything a decision depends on.
type Observation struct {
	Now time.Time

	Present     bool // the CRD exists and is not being deleted
	OptedIn     bool // it carries the opt-in label
	InScope     bool // its group is one this controller was given
	Paused      bool
	Established bool // the API server serves it
	InTree      InTree
	Served      bool // its storage version is served

	Subject
	ResourceVersion string // of the CRD
	StoredVersions  []string
	// Shape is a digest of its schemas and its conversion.
	Shape string
	// Routed is since when it is seen to be the API server itself that answers, by the same APIServices; zero if that is not known.
	Routed time.Time
	// Unserved are the versions that the CRD lists and does not serve.
	Unserved []string

	// MayLose are the versions of which ownership may be lost, as the CRD says.
	MayLose []string
	// MayDrop are the fields that objects may lose, as the CRD says.
	MayDrop  []string
	Removal  Removal
	Evidence Evidence
	// Flips and Labels are how the storage version and the opt-in label went to and fro.
	Flips, Labels Turns
	Walking       *Walking // nil when no walk is in progress
}

// Clean reports whether storedVersions holds the storage version alone. That
// alone proves nothing: it may have been trimmed by someone who did not look.
func (o Observation) Clean() bool {
	return len(o.StoredVersions) == 1 && o.StoredVersions[0] == o.StorageVersion
}
