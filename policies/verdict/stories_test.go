package verdict

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// Versions of the CRD, and the world that the gates are about: what etcd has, the CRD, how far Moult is, and the gates. A gate is judged by
// what etcd has. It need not know of objects that were left where no gate could see it.
var all = []string{"v1alpha1", "v1beta1", "v1", "v2"}

type world struct {
	etcd     []string // versions at which objects are stored
	crd      *CRD
	went     Went
	paused   bool
	moult    *plan.MigrationStatus
	uids     int
	gates    []*gate
	latestID int
}

// gate is a VersionRemoval. It has seen the CRD with some versions, and has to know those at which objects were left, and those that the CRD had last.
type gate struct {
	Record

	id        int
	versions  []string
	paused    bool
	missed    bool // it is not looked at
	saw, know []string
}

func some(t *rapid.T, from []string, least int, label string) []string {
	drawn := rapid.SliceOfNDistinct(rapid.SampledFrom(from), least, len(from), rapid.ID).Draw(t, label)
	slices.Sort(drawn)
	return drawn
}

func (w *world) makeCRD(t *rapid.T) {
	if w.crd != nil {
		return
	}
	w.uids++
	w.crd = &CRD{Subject: plan.Subject{UID: strconv.Itoa(w.uids), Generation: 1}, OptedIn: rapid.IntRange(0, 3).Draw(t, "without the label at 0") > 0, InScope: true}
	w.set(t)
}

// set gives the CRD some versions. The folklore fix takes others out of storedVersions.
func (w *world) set(t *rapid.T) {
	listed := some(t, all, 1, "spec.versions")
	w.crd.Versions = nil
	for _, v := range listed {
		w.crd.Versions = append(w.crd.Versions, Version{Name: v})
	}
	w.crd.StorageVersion = rapid.SampledFrom(listed).Draw(t, "storage")
	w.crd.StoredVersions = words.Distinct(append([]string{w.crd.StorageVersion}, slices.DeleteFunc(slices.Clone(w.crd.StoredVersions), func(v string) bool { return !slices.Contains(listed, v) })...))
}

func (w *world) names() []string {
	return words.Of(w.crd.Versions, func(v Version) string { return v.Name })
}

// isUnreadable reports whether the CRD does not have a version.
func (w *world) isUnreadable(version string) bool { return !slices.Contains(w.names(), version) }

// looks is Moult's walk.
func (w *world) looks() {
	if w.crd == nil || !w.crd.OptedIn || w.paused || w.crd.Deleting {
		w.sees()
		return
	}
	w.moult = &plan.MigrationStatus{Subject: w.crd.Subject, Evidence: plan.Evidence{Subject: w.crd.Subject}}
	if slices.ContainsFunc(w.etcd, w.isUnreadable) {
		w.moult.Decision.Reason, w.moult.FailedBy = v1alpha1.ReasonObjectsFailed, map[string]int64{plan.Unreadable: 1}
		return
	}
	if len(w.etcd) > 0 {
		w.etcd = []string{w.crd.StorageVersion}
	}
	w.crd.StoredVersions = []string{w.crd.StorageVersion}
	w.moult.Decision.Reason, w.moult.Evidence.Proved = v1alpha1.ReasonMigrated, true
	w.moult.Evidence.Survey = plan.Surveyed{Versions: all, At: now}
}

// sees is that Moult has got the CRD, and not looked at objects yet. A proof reaches over one change that leaves the storage version.
func (w *world) sees() {
	if w.crd == nil || !w.crd.OptedIn {
		w.moult = nil
		return
	}
	is, was := w.crd.Subject, plan.Evidence{}
	if w.moult != nil {
		was = w.moult.Evidence
	}
	if !was.Proved || was.UID != is.UID || was.StorageVersion != is.StorageVersion || is.Generation > was.Generation+1 {
		was = plan.Evidence{}
	}
	was.Subject = is
	w.moult = &plan.MigrationStatus{Subject: is, Evidence: was, Decision: plan.Decision{Reason: v1alpha1.ReasonMigrating}}
	switch {
	case w.paused:
		w.moult.Decision = plan.Decision{Step: plan.Hold, Reason: v1alpha1.ReasonPaused}
	case was.Proved:
		w.moult.Decision.Reason = v1alpha1.ReasonMigrated
	}
}

// goes takes the CRD away. Gates that have seen the version have to know what remains then.
func (w *world) goes() {
	for _, g := range w.gates {
		if len(g.saw) > 0 {
			g.saw = slices.Concat(g.saw, w.names(), w.crd.StoredVersions)
		}
		g.know = words.Distinct(append(g.know, slices.DeleteFunc(slices.Clone(w.etcd), func(v string) bool { return !slices.Contains(g.saw, v) })...))
		g.saw = nil
	}
	if len(w.gates) > 0 {
		w.went = Went{UID: w.crd.UID, Generation: w.crd.Generation}
	}
	w.crd, w.moult, w.paused = nil, nil, false
}

// deletes is the API server's deletion of what it can read.
func (w *world) deletes() {
	w.etcd = slices.DeleteFunc(w.etcd, func(v string) bool { return !w.isUnreadable(v) })
	if len(w.etcd) == 0 {
		w.goes()
	} else {
		w.crd.DeletionFailed = "InstanceDeletionFailed: cannot be read"
	}
}

func (w *world) makeGate(versions []string) {
	w.latestID++
	made := &gate{id: w.latestID, versions: versions}
	for _, g := range w.gates {
		made.know = words.Distinct(append(made.know, g.know...))
	}
	made.Record = Learn(words.Of(w.gates, func(g *gate) Record { return g.Record }), w.crd == nil)
	w.gates = append(w.gates, made)
}

func (w *world) situation(g *gate) Situation {
	return Situation{Now: now, LabelKey: v1alpha1.MigrateLabel, Paused: g.paused, Record: g.Record, CRD: w.crd, Went: w.went, Migration: w.moult,
		Removal: v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: g.versions}}
}

// answers judges the gates that are looked at, and is the first that is open over objects at its versions which it has to know, as a sentence.
func (w *world) answers() (wrong string) {
	for _, g := range w.gates {
		if g.missed {
			continue
		}
		s := w.situation(g)
		if w.crd != nil && g.StoredAt != nil && w.crd.Generation > g.StoredAt.Generation+1 {
			g.saw = nil // what came and went in between cannot be known
		}
		v := Judge(s)
		g.Record = Record{Before: v.Reason, StoredAt: v.StoredAt}
		g.know = slices.DeleteFunc(g.know, func(version string) bool { return !slices.Contains(w.etcd, version) })
		switch {
		case w.crd != nil && w.crd.DeletionFailed != "":
			g.saw = slices.Clone(w.etcd)
		case w.crd != nil:
			g.saw = words.Distinct(slices.Concat(g.saw, w.names(), w.crd.StoredVersions))
		}
		stale := slices.DeleteFunc(slices.Clone(w.etcd), func(version string) bool { return !slices.Contains(g.versions, version) })
		known := slices.DeleteFunc(slices.Clone(stale), func(version string) bool { return !slices.Contains(g.know, version) })
		switch {
		case v.State != Ready, len(stale) == 0:
		case v.Reason == v1alpha1.ReasonSafeToRemove,
			v.Reason == v1alpha1.ReasonNothingStored && len(known) > 0,
			v.Reason == v1alpha1.ReasonAlreadyRemoved && len(known) > 0 && w.crd.OptedIn:
			wrong = "gate " + strconv.Itoa(g.id) + " for " + list(g.versions) + " says " + v.Reason + " with objects at " + list(stale)
		}
	}
	return wrong
}

// No story of a CRD that is changed, deleted, forced away and made anew, with gates that come and go, opens a gate over objects that are left. Once
// all is well, each gate opens, and so does one that is made after an ordinary uninstall.
func TestNoStoryOpensAGateOverWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{}
		here := func(do func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) {
				if w.crd != nil {
					do(t)
				}
			}
		}
		of := func(do func(*rapid.T, *gate)) func(*rapid.T) {
			return func(t *rapid.T) {
				if len(w.gates) > 0 {
					do(t, rapid.SampledFrom(w.gates).Draw(t, "gate"))
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"the CRD is made": w.makeCRD,
			"an object is written": here(func(*rapid.T) {
				if !w.crd.Deleting {
					w.etcd = words.Distinct(append(w.etcd, w.crd.StorageVersion))
				}
			}),
			"the CRD is changed":   here(func(t *rapid.T) { w.crd.Generation++; w.set(t); w.crd = copied(w.crd) }),
			"the label is changed": here(func(*rapid.T) { w.crd.OptedIn = !w.crd.OptedIn }),
			"the CRD is paused":    here(func(*rapid.T) { w.paused = !w.paused; w.sees() }),
			"Moult sees":           func(*rapid.T) { w.sees() },
			"Moult looks":          func(*rapid.T) { w.looks() },
			"Moult starts anew":    func(*rapid.T) { w.moult, w.went = nil, Went{} },
			"the CRD is deleted":   here(func(*rapid.T) { w.crd.Deleting = true }),
			"its finalizer is taken": here(func(*rapid.T) {
				if w.crd.Deleting {
					w.goes()
				}
			}),
			"the API server deletes": here(func(*rapid.T) {
				if w.crd.Deleting {
					w.deletes()
				}
			}),
			"a gate is made": func(t *rapid.T) {
				if len(w.gates) < 4 {
					w.makeGate(some(t, all, 1, "versions"))
				}
			},
			"a gate is deleted": of(func(_ *rapid.T, g *gate) {
				if w.gates = slices.DeleteFunc(w.gates, func(other *gate) bool { return other == g }); len(w.gates) == 0 {
					w.went = Went{}
				}
			}),
			"a gate is edited": of(func(t *rapid.T, g *gate) { g.versions = some(t, all, 1, "versions") }),
			"a gate is missed": of(func(_ *rapid.T, g *gate) { g.missed = !g.missed }),
			"a gate is paused": of(func(_ *rapid.T, g *gate) { g.paused = !g.paused }),
			"": func(t *rapid.T) {
				if wrong := w.answers(); wrong != "" {
					t.Fatal(wrong)
				}
			},
		})
		w.endsWell(t)
	})
}

func copied(crd *CRD) *CRD {
	c := *crd
	return &c
}

// endsWell brings the CRD back with all versions, and has Moult look. Then it is deleted in the ordinary way, and there is one gate more.
func (w *world) endsWell(t *rapid.T) {
	w.crd, w.paused = &CRD{Subject: plan.Subject{UID: "last", Generation: 1, StorageVersion: "v2"}, OptedIn: true, InScope: true, StoredVersions: []string{"v2"}}, false
	for _, v := range all {
		w.crd.Versions = append(w.crd.Versions, Version{Name: v})
	}
	w.looks()
	for _, g := range w.gates {
		g.missed = false
	}
	expect := func(when string, wants func(*gate) string) {
		_ = w.answers()
		for _, g := range w.gates {
			if g.paused = false; g.Before != wants(g) && g.Before != v1alpha1.ReasonPaused {
				t.Fatalf("%s, gate %d for %s says %s", when, g.id, list(g.versions), g.Before)
			}
		}
	}
	unless := func(asked, otherwise string) func(*gate) string {
		return func(g *gate) string {
			if slices.Contains(g.versions, "v2") {
				return asked
			}
			return otherwise
		}
	}
	expect("proved", unless(v1alpha1.ReasonIntermediateRevisionRequired, v1alpha1.ReasonSafeToRemove))
	_ = w.answers()
	w.crd.Deleting = true
	_ = w.answers()
	w.deletes()
	expect("deleted", unless(v1alpha1.ReasonDeletionUnproved, v1alpha1.ReasonNothingStored))
	w.makeGate([]string{"v1alpha1"})
	expect("deleted, with a gate that is new", unless(v1alpha1.ReasonDeletionUnproved, v1alpha1.ReasonNothingStored))
}
