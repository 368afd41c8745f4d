package faults_test

import (
	"cmp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/faults"
)

// fault is one thing that can go wrong.
type fault struct {
	name string
	// objects is how many widgets there are; 0 is 48.
	objects int
	// crd makes the widgets' CRD what the fault needs; nil leaves it plain.
	crd func(*world, *builders.CRDBuilder)
	// inject begins the fault and has a controller run through it.
	inject func(*world)
	// holds is what must be seen while the fault lasts, beside the invariants; nil is nothing.
	holds func(*world)
	// late faults are met by a walk that only rewrites: the gate is asked for when all is done. With the others it is asked
	// for first, so that the walks repair managedFields, too. -faults.full plays each both ways.
	late bool
	// silent faults are none of anybody's business: the CRD says nothing but how far the migration is.
	silent bool
	// aboutGate is set where the fault is about the gate itself, which then has to be asked for first in any case.
	aboutGate bool
	// always is set where `make test` plays the fault, too; the others take -faults.each or -faults.full.
	always bool
	// long faults take minutes, and -faults.full.
	long bool
	// apart faults need a control plane of their own, with these flags.
	apart []controlplane.Option
}

// Every fault. Whatever happens, at each revision of etcd no gate is open and no storedVersions trimmed while an object is
// stored at the old version, nothing is trimmed before every object was asked about after the settle time, and nothing is
// deleted (faults.Judge); and once the fault has ended the migration completes by itself, of the CRD it hit and of the
// other one, and no object has lost a field or an owner (world.completes).
//
// Not among them is a list that hides an object which was there before it was asked for: that an API server never gives
// one unless it is asked for an old one is what every proof rests on, beside the settle time.
//
// Elsewhere, of the reconciler alone: a missing permission, the in-tree migrator at work, a storage version that is not
// served (controllers/migration/failure_test.go); the label, the storage version or a pause that changes in mid-pass
// (midpass_test.go); a webhook that converts one way only (wipe_test.go); an admission policy that mutates at every write
// (mutation_test.go).
var every = []fault{
	{name: "nothing goes wrong at all", silent: true, objects: 5, inject: unharmed},

	// What networks do.
	{name: "requests are lost, and their connections break after a while",
		inject: through(faults.Rule{Path: objectPath, Probability: 0.1, Fault: faults.Drop(time.Second)})},
	{name: "requests are lost for good", long: true,
		inject: through(faults.Rule{Path: widgetPath, After: 15, Times: 2, Fault: faults.Drop(time.Hour)})},
	{name: "writes are carried out and their answers lost", late: true,
		inject: through(faults.Rule{Verbs: patch, Path: objectPath, Probability: 0.2, Fault: faults.DropAnswer(300 * time.Millisecond)})},
	{name: "the trim is carried out and its answer lost",
		inject: through(faults.Rule{Verbs: patch, Path: crdStatusPath, Probability: 0.5, Times: 4, Fault: faults.DropAnswer(300 * time.Millisecond)})},
	{name: "the gate's status is written and the answer lost", aboutGate: true,
		inject: through(faults.Rule{Verbs: patch, Path: gatePath, Times: 3, Fault: faults.Reset()})},
	{name: "every request is late", silent: true, late: true,
		inject: through(faults.Rule{Fault: faults.Delay(150 * time.Millisecond)})},
	{name: "answers break off in the middle",
		inject: through(faults.Rule{Path: objectPath, Probability: 0.2, Fault: faults.Reset()})},
	{name: "all connections are cut, again and again", inject: cut},
	{name: "the port speaks something that is not TLS", late: true, inject: babble},

	// What API servers answer.
	{name: "409 to one write in three", silent: true,
		inject: through(faults.Rule{Verbs: patch, Path: objectPath, Probability: 0.3, Fault: faults.Conflict()})},
	{name: "409 to every write of one object",
		inject: through(faults.Rule{Verbs: patch, Path: theSeventh, Fault: faults.Conflict()}), holds: only("object-00007", "Conflict")},
	{name: "409 to the first writes of a CRD's status", late: true,
		inject: through(faults.Rule{Verbs: patch, Path: crdStatusPath, Times: 6, Fault: faults.Conflict()})},
	{name: "410 to every continued list, with a token to go on", silent: true, late: true,
		inject: through(faults.Rule{Path: continued, Probability: 0.6, Fault: faults.Expired(true)})},
	{name: "410 to a continued list, without a token", silent: true,
		inject: through(faults.Rule{Path: continued, Times: 3, Fault: faults.Expired(false)})},
	{name: "429, come back in a second", silent: true,
		inject: through(faults.Rule{Path: objectPath, After: 5, Times: 8, Fault: faults.TooMany(1)})},
	{name: "500 to one request in five", late: true,
		inject: through(faults.Rule{Path: objectPath, Probability: 0.2, Fault: faults.InternalError()})},
	{name: "500 to every write of one object",
		inject: through(faults.Rule{Verbs: patch, Path: theSeventh, Fault: faults.InternalError()}), holds: only("object-00007", "InternalError")},
	{name: "503 to everything for a while", inject: forAWhile(faults.Rule{After: 40, Fault: faults.Unavailable()})},
	{name: "lists as they were before the pass", silent: true,
		inject: through(faults.Rule{Verbs: []string{"list"}, Path: widgetsList, Fault: faults.StaleLists()})},
	{name: "any of these at random", inject: chaos},

	// What happens to API servers and to etcd.
	{name: "the API server is killed and another one takes its place", inject: restarted},
	{name: "etcd is compacted in mid-list", silent: true, late: true, apart: compactable, inject: compacted},
	{name: "one of two API servers stands still across the flip", objects: 20, inject: lagging},

	{name: "etcd is restored to before the gate opened, and the CRD is as it was then", apart: alone, crd: ungated, late: true, aboutGate: true, inject: restoredBeforeTheGateOpened},
	{name: "etcd is restored to before the gate opened, and the controller starts anew", apart: alone, crd: ungated, late: true, aboutGate: true, inject: restoredWhileTheControllerIsAway},
	{name: "etcd is restored in mid-check to a state with a stale object, and the CRD is as it was then", apart: alone, late: true, aboutGate: true, inject: restoredInMidCheck},

	// What happens to the controller.
	{name: "the controller is killed at random points", always: true, inject: killed},
	{name: "the controller is killed at each step of the way back to a version that had left", always: true, aboutGate: true, inject: killedOnTheWayBack},
	{name: "the leader is killed in mid-pass", inject: leaderKilled},
	{name: "the leader stands still in mid-pass, loses its lease and comes back", late: true, inject: leaderStopped},

	{name: "the leader stands still in mid-pass, the storage version flips back meanwhile, and it wakes", late: true, aboutGate: true, inject: leaderWakes},
	{name: "the leader stands still while it moves managedFields, the storage version flips back meanwhile, and it wakes", late: true, aboutGate: true, inject: leaderWakesInASurvey},
	{name: "the leader stands still while it moves owner references, the storage version flips back meanwhile, and it wakes", late: true, aboutGate: true, crd: repairsOwners, inject: leaderWakesInARepair},

	{name: "the clock of the controller's machine is set an hour ahead and back", late: true, aboutGate: true, inject: clockIsSet},

	// What webhooks and validation do.
	{name: "the conversion webhook goes down in mid-pass", crd: converted, inject: hookBreaks((*hook).Down), holds: says(v1alpha1.ReasonConversionUnavailable)},
	{name: "the conversion webhook is slow", crd: converted, late: true, inject: hookIsSlow(150 * time.Millisecond)},
	{name: "the conversion webhook is slower than the API server waits", crd: converted, long: true,
		inject: hookIsSlow(40 * time.Second), holds: says(v1alpha1.ReasonConversionUnavailable)},
	{name: "the conversion webhook flaps", crd: converted, late: true, inject: hookFlaps},
	{name: "the conversion webhook answers garbage in mid-pass", crd: converted, late: true,
		inject: hookBreaks(garbage), holds: says(v1alpha1.ReasonConversionUnavailable)},
	{name: "an admission webhook rejects some", inject: rejecting, holds: only("object-00007", "AdmissionDenied", "object-00008", "the freezer is locked")},
	{name: "an admission webhook goes down and takes every update with it", late: true, inject: admissionDown, holds: says(v1alpha1.ReasonObjectsFailed, "failed calling webhook")},
	{name: "a field is required and a rule added that no old object passes", silent: true, inject: stricter},
	{name: "a rule that some objects can no longer pass, whatever is written", late: true, inject: impossible, holds: only("object-00007", "Invalid", "this one is frozen")},

	// What others do.
	{name: "a namespace and all its objects are deleted in mid-pass", inject: namespaceDeleted},
	{name: "the CRD is deleted in mid-pass, and comes back with old objects", inject: crdDeleted},
	{name: "every object gets a new status faster than the pass goes", silent: true, inject: churned},
	{name: "every object gets a new status, without a gate", silent: true, late: true, inject: churned},
	{name: "one object is written without a pause", inject: hot},
}

var patch = []string{"patch"}

func TestEveryFault(t *testing.T) {
	for _, f := range every {
		if !*fullFlag && (f.long || !f.always && !*eachFlag) {
			continue
		}
		for _, late := range []bool{false, true} {
			if late != f.late && (f.aboutGate || !*fullFlag) {
				continue
			}
			order := ", the gate asked first"
			if late {
				order = ", the gate asked late"
			}
			t.Run(f.name+order, func(t *testing.T) {
				t.Parallel()
				play(t, f, late)
			})
		}
	}
}

func play(t *testing.T, f fault, late bool) {
	t.Helper()
	t.Logf("-faults.seed=%d", *seedFlag)
	w := newWorld(t, cmp.Or(f.objects, 48), f)
	w.late = late
	f.inject(w)
	if f.holds != nil {
		f.holds(w)
	}
	w.heal()
	w.completes()
	if f.silent {
		w.Expect(w.judge.Said("widgets." + w.group)).To(HaveEach(BeElementOf(
			v1alpha1.ReasonMigrating, v1alpha1.ReasonSettling, v1alpha1.ReasonVerifying, v1alpha1.ReasonMigrated)))
	}
	t.Logf("complete %s after the flip", time.Since(w.began).Round(100*time.Millisecond))
}

// says is what the CRD must say while a fault lasts.
func says(reason string, words ...string) func(*world) {
	return func(w *world) { w.says(reason, words...) }
}

// only is a fault that must not stop any other object, nor the other CRD, and whose victim is named with these words.
func only(words ...string) func(*world) {
	return func(w *world) {
		w.says(v1alpha1.ReasonObjectsFailed, words...)
		w.until("all others are migrated", func() bool {
			return w.stored("widgets")["v1"] >= w.widgets-2 && w.reason("gadgets") == v1alpha1.ReasonMigrated
		})
		w.Expect(w.stored("widgets")["v1alpha1"]).To(BeNumerically(">", 0), "the fault must have an effect")
		w.Expect(w.live("widgets").Status.StoredVersions).To(Equal([]string{"v1alpha1", "v1"}), "nothing is trimmed")
		if !w.late {
			w.until("the gate says so", func() bool { return w.verdict() == "False "+v1alpha1.ReasonObjectsFailed })
		}
	}
}
