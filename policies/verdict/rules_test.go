package verdict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/plan"
)

func TestEachRule(t *testing.T) {
	servedWarning := blocked(v1alpha1.ReasonStillServed, "v1alpha1 is still served by the CRD "+widgets, "commit served: false on v1alpha1")
	servedBlocker := blocked(v1alpha1.ReasonStillServed, "v1alpha1 is still served by the CRD "+widgets, "in the same commit take the VersionRemoval out")
	writer := blocked(v1alpha1.ReasonStillWritten, "old-tool (Apply) wrote 7 objects at v1alpha1, last ns/o at 2026-01-02T03:03:05Z", "let old-tool write at v1")
	noBackup := []types.GomegaMatcher{blocked(v1alpha1.ReasonNotBackedUp, "asks for a backup", "--annotate")}
	for name, c := range map[string]struct {
		s Situation
		want
	}{
		"a gate closed by hand says how to open it": {
			with(func(s *Situation) { s.Paused = true }),
			want{rule: "Paused", state: Progressing, reason: v1alpha1.ReasonPaused, says: []string{"closed by hand", "remove the annotation moult.dev/paused from this VersionRemoval"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonPaused, "closed by hand", "moult.dev/paused")}}},
		"no CRD, nothing stored": {
			with(func(s *Situation) { s.CRD, s.Migration = nil, nil }),
			want{rule: "NothingStored", state: Ready, reason: v1alpha1.ReasonNothingStored, says: []string{"there is no CRD widgets.example.com"}}},
		"of very many versions five are named": {
			with(func(s *Situation) {
				s.CRD, s.Migration, s.Removal.Versions = nil, nil, []string{"v1", "v2", "v3", "v4", "v5", "v6", "v7"}
			}),
			want{rule: "NothingStored", state: Ready, reason: v1alpha1.ReasonNothingStored, says: []string{"stored at v1, v2, v3, v4, v5 and 2 more"}}},
		"a CRD that is being deleted is waited for": {
			with(remembers, goes),
			want{rule: "CRDIsGoing", state: Progressing, reason: v1alpha1.ReasonNotEstablished, says: []string{"is being deleted"}}},
		"a version that has gone is done with": {
			with(func(s *Situation) { s.CRD.Versions = s.CRD.Versions[1:] }),
			want{rule: "AlreadyRemoved", state: Ready, reason: v1alpha1.ReasonAlreadyRemoved, says: []string{"has no v1alpha1 (it has v1), so nothing is held back"}}},
		"a version that has gone before the objects were checked is done with, and nothing is claimed of them": {
			with(func(s *Situation) { s.CRD.Versions, s.Migration.Evidence.Proved = s.CRD.Versions[1:], false }),
			want{rule: "AlreadyRemoved", state: Ready, reason: v1alpha1.ReasonAlreadyRemoved, says: []string{"not proved that all objects can be read"}}},
		"a version that has gone while objects were stored at it is not done with": {
			with(func(s *Situation) {
				s.CRD.Versions = s.CRD.Versions[1:]
				s.Migration.Decision = plan.Decision{Reason: v1alpha1.ReasonObjectsFailed, Sentence: "the API server cannot read 1 object from etcd"}
				s.Migration.FailedBy = map[string]int64{plan.Unreadable: 1}
				s.Migration.FailedObjects = []plan.FailedObject{{Namespace: "default", Reason: plan.Unreadable, Text: "default/rose: Unreadable: invalid group/version: example.com/v1alpha1"}}
			}),
			want{rule: "LeftUnreadable", state: Progressing, reason: v1alpha1.ReasonObjectsFailed, says: []string{"cannot read 1 object", "take the VersionRemoval out"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonObjectsFailed, "default/rose", "put v1alpha1 back into spec.versions with served: false, and keep it there until all objects are migrated; "+withoutGate)}}},
		"a version that has gone while objects failed is not done with before they are looked at again": {
			with(func(s *Situation) { s.CRD.Versions, s.Migration, s.StoredAt = s.CRD.Versions[1:], nil, lefts }),
			want{rule: "LeftUnreadable", state: Progressing, reason: v1alpha1.ReasonObjectsFailed, says: []string{"may be left that cannot be read", "take the VersionRemoval out"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonObjectsFailed, "", withoutGate)}}},
		"nor before that is proved": {
			with(func(s *Situation) { s.CRD.Versions, s.Migration.Evidence.Proved, s.StoredAt = nil, false, lefts }),
			want{rule: "LeftUnreadable", state: Progressing, reason: v1alpha1.ReasonObjectsFailed, blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonObjectsFailed, "", withoutGate)}}},
		"once it is proved, it is": {
			with(func(s *Situation) { s.CRD.Versions, s.StoredAt = s.CRD.Versions[1:], lefts }),
			want{rule: "AlreadyRemoved", state: Ready, reason: v1alpha1.ReasonAlreadyRemoved}},
		"where nothing looks, it is, and nothing is claimed": {
			with(func(s *Situation) { s.CRD.Versions, s.CRD.OptedIn, s.StoredAt, s.Migration = nil, false, allAtV1, nil }),
			want{rule: "AlreadyRemoved", state: Ready, reason: v1alpha1.ReasonAlreadyRemoved, says: []string{"not proved that all objects can be read"}}},
		"a version that has gone from the spec and is still stored is not done with": {
			with(func(s *Situation) {
				s.CRD.Versions, s.CRD.StoredVersions = s.CRD.Versions[1:], []string{"v1alpha1", "v1"}
			}),
			want{rule: "NotTrimmed", state: Progressing, reason: v1alpha1.ReasonMigrating, says: []string{"storedVersions still names v1alpha1"}}},
		"the storage version needs a commit in between": {
			with(func(s *Situation) { s.CRD.StorageVersion = "v1alpha1" }),
			want{rule: "StillTheStorageVersion", state: Stalled, reason: v1alpha1.ReasonIntermediateRevisionRequired,
				says:     []string{"v1alpha1 is still the storage version", "with v1alpha1 (storage: false)", "leave this VersionRemoval and the removal of v1alpha1 to a later commit"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonIntermediateRevisionRequired, "still the storage version", "first commit a manifest")}}},
		"a CRD without the label, with old versions stored": {
			with(func(s *Situation) { s.CRD.OptedIn, s.CRD.StoredVersions = false, []string{"v1alpha1", "v1"} }),
			want{rule: "NotOptedIn", state: Stalled, reason: v1alpha1.ReasonNotOptedIn, says: []string{`moult.dev/migrate: "true"`, "storedVersions still names v1alpha1", "clusters/components/opt-in"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonNotOptedIn, "lacks the label", "in the same commit take the VersionRemoval out")}}},
		"a CRD without the label that looks clean is not believed": {
			with(func(s *Situation) { s.CRD.OptedIn = false }),
			want{rule: "NotOptedIn", state: Stalled, reason: v1alpha1.ReasonNotOptedIn, says: []string{"it is not proved"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonNotOptedIn, "it is not proved", "add the label")}}},
		"a CRD of a group that this controller leaves alone": {
			with(func(s *Situation) { s.CRD.InScope = false }),
			want{rule: "OutOfScope", state: Stalled, reason: v1alpha1.ReasonOutOfScope, says: []string{"the group of widgets.example.com", "--crd-groups"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonOutOfScope, "not one that this controller looks after", "--crd-groups")}}},
		"a CRD that the migration has not looked at": {
			with(func(s *Situation) { s.Migration = nil }),
			want{rule: "NotSeenYet", state: Progressing, reason: v1alpha1.ReasonMigrating, says: []string{"generation 3 of widgets.example.com has not been looked at"}}},
		"a CRD that the migration saw a generation ago": {
			with(func(s *Situation) { s.CRD.Generation = 4 }),
			want{rule: "NotSeenYet", state: Progressing, reason: v1alpha1.ReasonMigrating, says: []string{"generation 4"}}},
		"a CRD that is older than the one that the migration has seen": {
			with(func(s *Situation) { s.CRD.ResourceVersion, s.Migration.Evidence.SeenRV = "99", "100" }),
			want{rule: "NotSeenYet", state: Progressing, reason: v1alpha1.ReasonMigrating, says: []string{"generation 3 of widgets.example.com has not been looked at"}}},
		"a migration at work tells its counts and blames nobody": {
			with(at(v1alpha1.ReasonMigrating, "rewriting objects at v1: 4 of 10 objects, 0 failed"), counted(4, 0)),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonMigrating, says: []string{"4 of 10 objects"}, progress: &v1alpha1.Progress{Done: 4, Total: 10}}},
		"a settling migration": {
			with(at(v1alpha1.ReasonSettling, "waiting until no API server can still write")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonSettling, says: []string{"waiting until"}}},
		"a verifying migration": {
			with(at(v1alpha1.ReasonVerifying, "checking that every object is stored at v1"), counted(1, 0)),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonVerifying, says: []string{"checking"}, progress: &v1alpha1.Progress{Done: 1, Total: 10}}},
		"objects that cannot be rewritten are named one by one": {
			with(at(v1alpha1.ReasonObjectsFailed, "2 of 10 objects cannot be rewritten"), failed("ns/a: Invalid: no", "ns/b: Invalid: no"), counted(10, 2)),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonObjectsFailed, says: []string{"2 of 10 objects"}, progress: &v1alpha1.Progress{Done: 10, Total: 10, Failed: 2},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonObjectsFailed, "ns/a: Invalid", "make the object acceptable"), blocked(v1alpha1.ReasonObjectsFailed, "ns/b: Invalid", "tried again")}}},
		"failed objects whose names are lost still ask for somebody": {
			with(at(v1alpha1.ReasonObjectsFailed, "2 of 10 objects cannot be rewritten")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonObjectsFailed, says: []string{"2 of 10 objects"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonObjectsFailed, "2 of 10", "make the objects acceptable")}}},
		"a storage version that is not served needs a commit": {
			with(at(v1alpha1.ReasonStorageVersionNotServed, "the storage version v1 is not served")),
			want{rule: "NotProved", state: Stalled, reason: v1alpha1.ReasonStorageVersionNotServed, says: []string{"v1 is not served"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonStorageVersionNotServed, "v1 is not served", "set served: true on the storage version in the CRD's manifest; in the same commit take the VersionRemoval out")}}},
		"fields that would be lost need a commit or a person": {
			with(at(v1alpha1.ReasonFieldsWouldBeLost, "objects have fields that v1 does not have: spec.color")),
			want{rule: "NotProved", state: Stalled, reason: v1alpha1.ReasonFieldsWouldBeLost, says: []string{"spec.color"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonFieldsWouldBeLost, "spec.color", v1alpha1.AllowFieldLossAnnotation+" in the CRD's manifest; in the same commit take the VersionRemoval out")}}},
		"a missing permission": {
			with(at(v1alpha1.ReasonForbidden, `a permission is missing; add this rule: {…}`)),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonForbidden, says: []string{"add this rule"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonForbidden, "add this rule", "ClusterRole")}}},
		"a webhook that is down": {
			with(at(v1alpha1.ReasonConversionUnavailable, "the conversion webhook cannot be used")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonConversionUnavailable, says: []string{"webhook cannot be used"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonConversionUnavailable, "webhook", "bring the conversion webhook up")}}},
		"an aggregated API server in front of the objects": {
			with(at(v1alpha1.ReasonAggregatedAPIServer, "APIService v1.example.com hands the requests on")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonAggregatedAPIServer, says: []string{"APIService"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonAggregatedAPIServer, "hands the requests on", "delete the APIService")}}},
		"a CRD that is paused": {
			with(at(v1alpha1.ReasonPaused, "paused; remove the annotation moult.dev/paused to go on")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonPaused, says: []string{"paused"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonPaused, "paused", "remove the annotation moult.dev/paused from the CRD")}}},
		"a CRD that is not established": {
			with(at(v1alpha1.ReasonNotEstablished, "the API server does not serve this CRD")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonNotEstablished, says: []string{"does not serve this CRD"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonNotEstablished, "does not serve", "NamesAccepted")}}},
		"the in-tree migrator, which needs nobody": {
			with(at(v1alpha1.ReasonStandingBack, "the in-tree migrator is at work")),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonStandingBack, says: []string{"in-tree"},
				blockers: []types.GomegaMatcher{And(blocked(v1alpha1.ReasonStandingBack, "in-tree", ""), HaveField("Action", ""))}}},
		"a proof that something speaks against now does not count": {
			with(func(s *Situation) {
				s.Migration.Decision = plan.Decision{Reason: v1alpha1.ReasonStandingBack, Sentence: "the in-tree migrator is at work"}
			}),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonStandingBack, says: []string{"in-tree"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonStandingBack, "", "")}}},
		"a clean list without a proof is not believed": {
			with(func(s *Situation) { s.Migration.Evidence.Proved = false }),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonMigrated}},
		"a proof of an earlier generation does not count": {
			with(func(s *Situation) { s.Migration.Evidence.Generation = 2 }),
			want{rule: "NotProved", state: Progressing, reason: v1alpha1.ReasonMigrated}},
		"a proof waits for the trim": {
			with(func(s *Situation) { s.CRD.StoredVersions = []string{"v1alpha1", "v1"} }),
			want{rule: "NotTrimmed", state: Progressing, reason: v1alpha1.ReasonMigrating, says: []string{"proved to be stored at v1", "about to be trimmed"}}},
		"managedFields that nobody has looked through": {
			with(unsurveyed, counted(3, 0)),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership, says: []string{"managedFields that still name v1alpha1"}, progress: &v1alpha1.Progress{Done: 3, Total: 10}}},
		"managedFields looked through for another version": {
			with(func(s *Situation) { s.Migration.Evidence.Survey.Versions = []string{"v1beta1"} }),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership, says: []string{"managedFields"}}},
		"managedFields that cannot be repaired name the objects and a time": {
			with(surveyTrouble(v1alpha1.ReasonObjectsFailed, "1 of 10 objects"), failed("ns/a: OwnershipLost: cleared")),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonObjectsFailed, says: []string{"1 of 10 objects"}, until: later,
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonObjectsFailed, "ns/a: OwnershipLost", "make the object acceptable")}}},
		"a survey that lacks a permission asks for it": {
			with(unsurveyed, surveyTrouble(v1alpha1.ReasonForbidden, "a permission is missing")),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonForbidden, says: []string{"a permission is missing"}, until: later,
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonForbidden, "permission", "ClusterRole")}}},
		"a survey that fails closes the gate again, whatever was remembered": {
			with(surveyTrouble(v1alpha1.ReasonUnavailable, "the API server could not serve the objects"), remember(v1)),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonUnavailable, says: []string{"could not serve"}, until: later,
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonUnavailable, "could not serve", "")}}},
		"managedFields that cannot be moved without a loss name the manager, and what it takes": {
			with(unsurveyed, losing(true), func(s *Situation) { losing(true)(s) }, retry),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonOwnershipWouldBeLost, until: later,
				says: []string{"field manager flux (Apply) would no longer own 3 fields of 2 objects; 1 more", `moult.dev/allow-ownership-loss: "v1alpha1" on the CRD`},
				blockers: []types.GomegaMatcher{
					blocked(v1alpha1.ReasonOwnershipWouldBeLost, "for example spec.size of ns/o: no route", "write the objects once at v1"),
					blocked(v1alpha1.ReasonOwnershipWouldBeLost, "for example spec.size of ns/o: no route", "write the objects once at v1")}}},
		"managedFields that were written since the gate opened, and cannot be moved, close it": {
			with(losing(true), retry, remember(v1)),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonOwnershipWouldBeLost, until: later,
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonOwnershipWouldBeLost, "spec.size", "write the objects once at v1")}}},
		"what another version's removal would lose is its own": {
			with(losing(true), func(s *Situation) { s.Migration.Losses[0].Version = "v1beta1" }),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"what was lost is a warning": {
			with(losing(false)),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove,
				warnings: []types.GomegaMatcher{blocked(v1alpha1.OwnershipLost, "flux (Apply) no longer owns 3 fields of 2 objects", "let flux write the objects once at v1")}}},
		"a version that is still served, where that matters": {
			with(served, require(0, v1alpha1.Unserved)),
			want{rule: "StillServed", state: Stalled, reason: v1alpha1.ReasonStillServed, says: []string{"v1alpha1 is still served", "commit served: false on v1alpha1 first", "take the VersionRemoval out"},
				blockers: []types.GomegaMatcher{servedBlocker}}},
		"a version that is still served and written tells both": {
			with(served, require(time.Hour, v1alpha1.Unserved, v1alpha1.Quiet), written("v1alpha1", time.Minute)),
			want{rule: "StillServed", state: Stalled, reason: v1alpha1.ReasonStillServed, blockers: []types.GomegaMatcher{servedBlocker}, warnings: []types.GomegaMatcher{writer}}},
		"a version that is still written, where that matters": {
			with(require(time.Hour, v1alpha1.Quiet), written("v1alpha1", time.Minute), written("v1", 0), written("v1alpha1", 2*time.Hour)),
			want{rule: "StillWritten", state: Progressing, reason: v1alpha1.ReasonStillWritten, says: []string{"at 2026-01-02T03:03:05Z, less than 1h0m0s ago"},
				blockers: []types.GomegaMatcher{writer}, until: now.Add(59 * time.Minute)}},
		"a write that an earlier process saw counts too": {
			with(require(time.Hour, v1alpha1.Quiet), func(s *Situation) { s.LastWrite = now.Add(-time.Minute) }),
			want{rule: "StillWritten", state: Progressing, reason: v1alpha1.ReasonStillWritten, says: []string{"at 2026-01-02T03:03:05Z"}, until: now.Add(59 * time.Minute)}},
		"a version that is not served any more, while a write at it may still land": {
			with(landing(time.Second)),
			want{rule: "StillLanding", state: Progressing, reason: v1alpha1.ReasonSettling, says: []string{"take a write at v1alpha1, which is not served any more"}, until: now.Add(time.Second)}},
		"managedFields looked through while a write could still land": {
			with(landing(-time.Second), surveyed(2*time.Second)),
			want{rule: "LookedTooEarly", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership, says: []string{"looking once more", "right before the gate opens"}}},
		"managedFields looked through since no write can land any more": {
			with(landing(-2*time.Second), surveyed(time.Second)), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"a version that is served is not waited for": {
			with(served, landing(time.Second)),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove, warnings: []types.GomegaMatcher{servedWarning}}},
		"managedFields looked through before anybody asked": {
			with(surveyed(time.Second), func(s *Situation) { s.Asked = now }),
			want{rule: "LookedTooEarly", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership, says: []string{"looking once more"}}},
		"managedFields looked through before the gate was last closed": {
			with(surveyed(time.Second), func(s *Situation) { s.ClosedAt = now }),
			want{rule: "LookedTooEarly", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership, says: []string{"looking once more"}}},
		"managedFields looked through before the quiet period was over": {
			with(require(time.Minute, v1alpha1.Quiet), written("v1alpha1", 2*time.Minute), surveyed(61*time.Second)),
			want{rule: "NotSeenQuiet", state: Progressing, reason: v1alpha1.ReasonStillWritten, says: []string{"written at v1alpha1 at 2026-01-02T03:02:05Z", "looking whether it has been quiet for 1m0s since"}}},
		"managedFields looked through after the quiet period": {
			with(require(time.Minute, v1alpha1.Quiet), written("v1alpha1", 2*time.Minute), surveyed(time.Minute)),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"a gate that is open stays open while it is looked once more": {
			with(surveyed(time.Second), remember(v1), landing(time.Second), func(s *Situation) { s.Asked = now }),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"a last write in the future counts as now": {
			with(require(time.Minute, v1alpha1.Quiet), func(s *Situation) { s.LastWrite = now.Add(time.Hour) }),
			want{rule: "StillWritten", state: Progressing, reason: v1alpha1.ReasonStillWritten, says: []string{"at 2026-01-02T03:04:05Z"}, until: now.Add(time.Minute)}},
		"a write by one of those that are not named counts": {
			with(require(time.Minute, v1alpha1.Quiet), func(s *Situation) { s.Migration.LastWrites = map[string]time.Time{"v1alpha1": now, "v1beta1": later} }),
			want{rule: "StillWritten", state: Progressing, reason: v1alpha1.ReasonStillWritten, until: now.Add(time.Minute)}},
		"nothing left": {
			safe(), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove,
				says: []string{"every object of widgets.example.com is stored at v1 (proved at generation 3), and no managedFields named v1alpha1 when they were looked through at 2026-01-02T03:04:05Z"}}},
		"nothing left, but whoever writes at a version that is served may bring it back": {
			with(served), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove, warnings: []types.GomegaMatcher{servedWarning},
				says: []string{"looked through at 2026-01-02T03:04:05Z; v1alpha1 is still served", "with `require: [Unserved]` no client can write at it"}}},
		"nothing left, told after a restart": {
			with(unsurveyed, remember(v1)), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"what was remembered of another generation does not count": {
			with(unsurveyed, remember(plan.Subject{UID: "u", Generation: 2, StorageVersion: "v1"})),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership}},
		"what was remembered of another storage version does not count": {
			with(unsurveyed, remember(plan.Subject{UID: "u", Generation: 3, StorageVersion: "v1beta1"})),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership}},
		"what was remembered of another CRD does not count": {
			with(unsurveyed, remember(plan.Subject{UID: "other", Generation: 3, StorageVersion: "v1"})),
			want{rule: "OwnershipNotRepaired", state: Progressing, reason: v1alpha1.ReasonRepairingOwnership}},
		"a survey that is repeated does not close the gate": {
			with(counted(3, 0)), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"only what is still there has to be looked through": {
			with(func(s *Situation) { s.Removal.Versions = []string{"v1alpha1", "v1beta1"} }),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"what is still served and written is a warning, where it is not required": {
			with(served, require(time.Hour), written("v1alpha1", time.Minute)),
			want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove, warnings: []types.GomegaMatcher{servedWarning, writer}}},
		"no backup, and one is required": {
			with(require(0, v1alpha1.Backup)),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, says: []string{"stored at v1; spec.require asks for a backup since the flip to it, and the CRD has no annotation moult.dev/backup"},
				blockers: []types.GomegaMatcher{blocked(v1alpha1.ReasonNotBackedUp, "no annotation", "moult backup widgets.example.com -f FILE --annotate")}}},
		"no backup, and none is required": {
			with(require(0)), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
		"a backup whose annotation is garbled": {
			with(require(0, v1alpha1.Backup), func(s *Situation) { s.CRD.Backup.Garbled = true }),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, blockers: noBackup, says: []string{"is not what `moult backup --annotate` writes"}}},
		"a backup from before the flip": {
			with(require(0, v1alpha1.Backup), backedUp(func(b *crds.Backup) { b.Generation, b.StorageVersion = 2, "v1alpha1" })),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, blockers: noBackup, says: []string{"the last backup, of 2026-01-02T02:04:05Z, was taken while v1alpha1 was the storage version"}}},
		"a backup of an earlier generation": {
			with(require(0, v1alpha1.Backup), backedUp(func(b *crds.Backup) { b.Generation = 1 })),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, blockers: noBackup, says: []string{"was taken at generation 1 of the CRD, which is at 3 now"}}},
		"a backup of a CRD of the same name": {
			with(require(0, v1alpha1.Backup), backedUp(func(b *crds.Backup) { b.UID = "w" })),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, blockers: noBackup, says: []string{"is of another CRD of this name"}}},
		"a backup of the future": {
			with(require(0, v1alpha1.Backup), backedUp(func(b *crds.Backup) { b.Time = later })),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, blockers: noBackup, says: []string{"is in the future: a clock is wrong"}}},
		"a backup of a clock that is a little ahead": {
			with(require(0, v1alpha1.Backup), backedUp(func(b *crds.Backup) { b.Time = later }), func(s *Situation) { s.Every = time.Hour }),
			want{rule: "NotBackedUp", state: Progressing, reason: v1alpha1.ReasonNotBackedUp, blockers: noBackup, until: later}},
		"a backup of the CRD as it is": {
			with(require(0, v1alpha1.Backup), backedUp()), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove,
				says: []string{"; the backup of 2026-01-02T02:04:05Z is of the CRD as it is (7 objects)"}}},
		"a quiet period that is over": {
			with(require(time.Minute, v1alpha1.Quiet), written("v1alpha1", time.Minute)), want{rule: "SafeToRemove", state: Ready, reason: v1alpha1.ReasonSafeToRemove}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := Judge(c.s)
			g.Expect(v.Rule).To(Equal(c.rule))
			g.Expect(v.State).To(Equal(c.state))
			g.Expect(v.Reason).To(Equal(c.reason))
			for _, part := range c.says {
				g.Expect(v.Message).To(ContainSubstring(part))
			}
			g.Expect(v.Blockers).To(HaveExactElements(matchers(c.blockers)...))
			g.Expect(v.Warnings).To(HaveExactElements(matchers(c.warnings)...))
			g.Expect(v.Progress).To(Equal(c.progress))
			g.Expect(v.Until).To(Equal(c.until))
			if c.rule == "SafeToRemove" {
				g.Expect(about(v.Proof)).To(Equal(v1))
				g.Expect(v.Message).To(ContainSubstring(v.Proof.SurveyedAt.UTC().Format(time.RFC3339)), "it says when")
			} else {
				g.Expect(v.Proof).To(BeNil(), "only %s proves", "SafeToRemove")
			}
		})
	}
}
