package survivors

import (
	"cmp"

	"github.com/moult-dev/moult/policies/tally"
)

// Survey collects what is found in all objects of a cluster.
type Survey struct {
	walker *Walker
	// most is how many references are kept of each place, CRD and version; the others are counted. 0: all.
	most     int
	all      Batch
	looked   []lookedAt
	unlooked []NotLooked
}

// lookedAt is a resource of which all objects were read.
type lookedAt struct {
	Resource
	objects int64
}

// NotLooked is a resource, or a part of one, that was not read.
type NotLooked struct {
	// Resource is as in deployments.apps.
	Resource string `json:"resource"`
	// Why says why, and which permission is missing if that is why.
	Why string `json:"why"`
	// LeftOut is true if it was not asked for; else it is unknown.
	LeftOut bool `json:"leftOut,omitempty"`

	at Resource
}

// NewSurvey begins with nothing looked at.
func NewSurvey(w *Walker, most int) *Survey {
	s := &Survey{walker: w, most: most}
	s.all = s.NewBatch()
	return s
}

// Batch is what was found in the objects of one resource. A list that starts anew begins a new one.
type Batch = *tally.Tally[about, Reference]

// about is what references have in common.
type about struct {
	place, crd, version string
	state               State
	effect              Effect
	beside              string
}

// mostSorts is how many sorts of references to a CRD are kept of a place and effect: a few kilobytes of patterns name as many sets of
// versions beside one.
const mostSorts = 64

// others is what references beyond that have in common. Which versions they name, and beside which, is not known.
func (a about) others() about {
	return about{place: a.place, crd: a.crd, state: Unknown, effect: cmp.Or(a.effect, Cosmetic)}
}

// NewBatch begins a resource.
func (s *Survey) NewBatch() Batch {
	return &tally.Tally[about, Reference]{MaxExamples: s.most, MaxSorts: mostSorts, Other: about.others}
}

// Add keeps references, or counts them.
func (s *Survey) Add(b Batch, references []Reference) {
	for _, f := range references {
		b.Add(about{f.Place, f.CRD, f.Version, f.State, f.Effect, f.beside}, f)
	}
}

// Covered ends a resource of which all objects were read.
func (s *Survey) Covered(r Resource, objects int64, b Batch) {
	s.looked = append(s.looked, lookedAt{r, objects})
	s.all.Merge(b)
}

// NotLooked ends a resource that could not be read, or not to the end. What was found until then counts.
func (s *Survey) NotLooked(r Resource, why string, b Batch) {
	s.unlooked = append(s.unlooked, NotLooked{Resource: r.String(), Why: why, at: r})
	s.all.Merge(b)
}

// LeftOut notes a resource that was not asked for.
func (s *Survey) LeftOut(r Resource, why string) {
	s.unlooked = append(s.unlooked, NotLooked{Resource: r.String(), Why: why, LeftOut: true, at: r})
}

// Unseen notes that which resources there are is not known in part.
func (s *Survey) Unseen(group, why string) {
	s.unlooked = append(s.unlooked, NotLooked{Resource: anything + "." + group, Why: why, at: Resource{}})
}
