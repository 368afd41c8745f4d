package snapshot

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/verdict"
)

// A gate that looks at Secrets may find something there.
func TestWhatTheSnapshotHasNotLookedAtIsReported(t *testing.T) {
	g := NewWithT(t)
	leftOut := crd(func(c *CRD) {
		c.References = &survivors.Report{
			NotLooked: []survivors.NotLooked{{Resource: "secrets", Why: "Secrets are read only with --secrets", LeftOut: true}},
			Places:    []survivors.Coverage{{Place: "helm-releases", Effect: survivors.BreaksAtUse, Outcome: survivors.NotLookedAt, Not: []string{"secrets"}}},
		}
	})
	for _, what := range []v1alpha1.Requirement{v1alpha1.NoReferences, v1alpha1.NoStashes} {
		a := with(gated(v1alpha1.ReasonMigrating, "", requires(0, what)), leftOut).Judge(ask, now)
		g.Expect(a.Warnings).To(ContainElement(HaveField("Message", "not looked at for what names v1alpha1: secrets")), string(what))
	}
}

func TestWhatTheSnapshotMeansForTheRemoval(t *testing.T) {
	const (
		ready       = verdict.Ready
		progressing = verdict.Progressing
		stalled     = verdict.Stalled
	)
	for name, c := range map[string]struct {
		snapshot *Snapshot
		state    verdict.State
		reason   string
		says     string // part of the message or of a blocker's action
	}{
		"all is proved and nobody owns fields at the version":         {safe(), ready, v1alpha1.ReasonSafeToRemove, "is stored at v1 (proved at generation 3)"},
		"there is no such CRD":                                        {with(func(s *Snapshot) { s.CRDs = nil }), ready, v1alpha1.ReasonNothingStored, "there is no CRD"},
		"there is no such CRD and it was asked for":                   {with(func(s *Snapshot) { s.CRDs, s.Named = nil, []string{widgets} }), ready, v1alpha1.ReasonNothingStored, "there is no CRD"},
		"the version has left already":                                {with(crd(func(c *CRD) { c.Versions = c.Versions[1:] })), ready, v1alpha1.ReasonAlreadyRemoved, "has no v1alpha1"},
		"the version is the storage version":                          {with(crd(func(c *CRD) { c.Versions[0].Storage, c.Versions[1].Storage = true, false })), stalled, v1alpha1.ReasonIntermediateRevisionRequired, "first commit a manifest"},
		"the CRD is being deleted":                                    {with(crd(func(c *CRD) { c.Deleting = true })), progressing, v1alpha1.ReasonDeletionUnproved, "is being deleted"},
		"the CRD is not opted in and lists old versions":              {with(unlabelled, stored("v1alpha1", "v1")), stalled, v1alpha1.ReasonNotOptedIn, "still names v1alpha1"},
		"the CRD is not opted in, and has no objects":                 {with(unlabelled, empty), ready, v1alpha1.ReasonNothingStored, "has no objects, and storedVersions is [v1]"},
		"the CRD is not opted in, and lists what has no objects":      {with(unlabelled, empty, stored("v1alpha1", "v1")), stalled, v1alpha1.ReasonNotOptedIn, "still names v1alpha1"},
		"the CRD is not opted in, and managedFields name the version": {with(unlabelled, ownedBy("old-tool", time.Hour)), stalled, v1alpha1.ReasonNotOptedIn, "add the label"},
		"the CRD is not opted in, and nobody looked at the objects":   {with(unlabelled, unread(ObjectsOfCRD, widgets, "left out")), stalled, v1alpha1.ReasonNotOptedIn, "add the label"},
		"the CRD is not opted in, and a VersionRemoval waits for it":  {with(unlabelled, gated(v1alpha1.ReasonNotOptedIn, "")), stalled, v1alpha1.ReasonNotOptedIn, "add the label"},
		"it is being rewritten":                                       {with(at(v1alpha1.ReasonMigrating, "rewriting objects at v1: 3 of 7 objects, 0 failed, 10/s")), progressing, v1alpha1.ReasonMigrating, "3 of 7 objects"},
		"the settle time runs":                                        {with(at(v1alpha1.ReasonSettling, "waiting; rewritten: 7 of 7 objects, 0 failed")), progressing, v1alpha1.ReasonSettling, "7 of 7 objects"},
		"it is being checked":                                         {with(at(v1alpha1.ReasonVerifying, "checking: 3 of 7 objects, 0 failed")), progressing, v1alpha1.ReasonVerifying, "checking that every object"},
		"objects failed":                                              {with(at(v1alpha1.ReasonObjectsFailed, "7 of 7 objects, 1 failed and tried again with growing pauses")), progressing, v1alpha1.ReasonObjectsFailed, "make the objects acceptable"},
		"an aggregated API server hides the objects":                  {with(at(v1alpha1.ReasonAggregatedAPIServer, "APIService v1.example.com hands the requests on")), progressing, v1alpha1.ReasonAggregatedAPIServer, "delete the APIService"},
		"two clients undo each other":                                 {with(at(v1alpha1.ReasonUndone, "the storage version goes to and fro")), progressing, v1alpha1.ReasonUndone, "make the two agree"},
		"the conversion webhook is down":                              {with(at(v1alpha1.ReasonConversionUnavailable, "the conversion webhook cannot be used")), progressing, v1alpha1.ReasonConversionUnavailable, "bring the conversion webhook up"},
		"Moult lacks a permission":                                    {with(at(v1alpha1.ReasonForbidden, "a permission is missing")), progressing, v1alpha1.ReasonForbidden, "add the rule"},
		"the migration is paused":                                     {with(crd(func(c *CRD) { c.Paused = true })), progressing, v1alpha1.ReasonPaused, "remove the annotation"},
		"the in-tree migrator is at work": {with(crd(func(c *CRD) {
			c.Conditions = append(c.Conditions, Condition{Type: v1alpha1.StorageMigrating, Status: "True"})
		})), progressing, v1alpha1.ReasonStandingBack, "in-tree migrator"},
		"the storage version is not served":             {with(crd(func(c *CRD) { c.Versions[1].Served = false })), stalled, v1alpha1.ReasonStorageVersionNotServed, "set served: true"},
		"objects would lose fields":                     {with(at(v1alpha1.ReasonFieldsWouldBeLost, "objects have fields"), stored("v1alpha1", "v1")), stalled, v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.AllowFieldLossAnnotation},
		"the CRD is not established":                    {with(crd(func(c *CRD) { c.Conditions[0].Status = "False" })), progressing, v1alpha1.ReasonNotEstablished, "NamesAccepted"},
		"the list is clean but unproved":                {with(at(v1alpha1.ReasonMigrating, "rewriting"), stored("v1")), progressing, v1alpha1.ReasonMigrating, ""},
		"the list is dirty beside a proof":              {with(stored("v1alpha1", "v1")), progressing, v1alpha1.ReasonMigrating, ""},
		"the list was emptied beside a proof":           {with(stored()), progressing, v1alpha1.ReasonMigrating, ""},
		"the list names another version beside a proof": {with(stored("v1beta1")), progressing, v1alpha1.ReasonMigrating, ""},
		"the proof is of an earlier generation":         {with(crd(func(c *CRD) { c.Generation = 4 })), progressing, v1alpha1.ReasonMigrating, "generation 4 of widgets.example.com has not been looked at"},
		"somebody else wrote the condition":             {with(crd(func(c *CRD) { c.Conditions[1].Ours = false }), open(func(r *Removal) { r.Proof = nil })), progressing, v1alpha1.ReasonMigrating, "has not been looked at"},
		"managedFields name the version":                {with(ownedBy("old-tool", time.Hour)), progressing, v1alpha1.ReasonRepairingOwnership, "managedFields that still name v1alpha1"},
		"nobody has looked at the managedFields":        {with(unread(ObjectsOfCRD, widgets, "left out")), progressing, v1alpha1.ReasonRepairingOwnership, ""},
		"the gate is open":                              {with(open()), ready, v1alpha1.ReasonSafeToRemove, ""},
		"the gate is open and somebody has since":       {with(open(), ownedBy("old-tool", time.Minute)), ready, v1alpha1.ReasonSafeToRemove, ""},
		"the gate was open for another CRD": {with(open(func(r *Removal) { r.Proof.UID = "w" }), ownedBy("old-tool", time.Hour)),
			progressing, v1alpha1.ReasonRepairingOwnership, ""},
		"the gate was open for what it asked before": {with(open(func(r *Removal) { r.Generation = 2 }), ownedBy("old-tool", time.Hour)),
			progressing, v1alpha1.ReasonRepairingOwnership, ""},
		"the gate is about another version": {with(open(func(r *Removal) { r.Spec.Versions = []string{"v1beta1"} }), ownedBy("old-tool", time.Hour)),
			progressing, v1alpha1.ReasonRepairingOwnership, ""},
		"the gate is about more versions": {with(open(func(r *Removal) { r.Spec.Versions = []string{"v1alpha1", "v1beta1"} }), ownedBy("old-tool", time.Hour)),
			ready, v1alpha1.ReasonSafeToRemove, ""},
		"the gate is closed by hand":                               {with(open(func(r *Removal) { r.Paused = true })), progressing, v1alpha1.ReasonPaused, "closed by hand"},
		"the gate asks for it unserved":                            {with(gated(v1alpha1.ReasonStillServed, "", requires(0, v1alpha1.Unserved))), stalled, v1alpha1.ReasonStillServed, "commit served: false"},
		"the gate asks for quiet":                                  {with(open(requires(2*time.Hour, v1alpha1.Quiet)), ownedBy("old-tool", time.Hour)), progressing, v1alpha1.ReasonStillWritten, "less than 2h0m0s ago"},
		"it has been quiet for long":                               {with(open(requires(time.Hour, v1alpha1.Quiet)), ownedBy("old-tool", 2*time.Hour)), ready, v1alpha1.ReasonSafeToRemove, ""},
		"the gate remembers a late write":                          {with(open(requires(2*time.Hour, v1alpha1.Quiet), func(r *Removal) { at := taken.Add(-time.Minute); r.LastWriteAt = &at })), progressing, v1alpha1.ReasonStillWritten, ""},
		"the gate asks for a backup, and there is none":            {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.Backup)), backedUp("", 0)), progressing, v1alpha1.ReasonNotBackedUp, "has no annotation moult.dev/backup"},
		"the gate asks for a backup, and it is of before":          {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.Backup)), backedUp("v1alpha1", 2)), progressing, v1alpha1.ReasonNotBackedUp, "was taken while v1alpha1 was the storage version"},
		"the gate asks for a backup, and there is one":             {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.Backup)), backedUp("v1", 3)), ready, v1alpha1.ReasonSafeToRemove, "the backup of 2026-01-02T02:04:05Z is of the CRD as it is"},
		"the gate asks for no references, and a policy names it":   {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.NoReferences)), named("admission-policies", survivors.StopsSilently)), stalled, v1alpha1.ReasonStillReferenced, "admission-policies (1, stops silently)"},
		"the gate asks for no references, and there are none":      {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.NoReferences)), named("last-applied", survivors.Cosmetic)), ready, v1alpha1.ReasonSafeToRemove, "nothing else that was looked at named it"},
		"the gate asks for no references, and Moult moves them":    {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.NoReferences)), ownedAt, crd(func(c *CRD) { c.RepairsOwners = true })), progressing, v1alpha1.ReasonStillReferenced, "Moult moves them by itself"},
		"the gate asks for no references, and nobody moves them":   {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.NoReferences)), ownedAt), stalled, v1alpha1.ReasonStillReferenced, "owner-references"},
		"the gate asks for no stashes, and Moult moves them":       {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.NoStashes)), stashedAt, crd(func(c *CRD) { c.MigratesStashes = true })), progressing, v1alpha1.ReasonStillStashed, "Moult moves them by itself"},
		"the gate asks for no stashes, and nobody moves them":      {with(gated(v1alpha1.ReasonMigrating, "", requires(0, v1alpha1.NoStashes)), stashedAt), stalled, v1alpha1.ReasonStillStashed, "kubevirt-snapshot-revisions"},
		"a policy names it, and nobody asks":                       {with(named("admission-policies", survivors.StopsSilently)), ready, v1alpha1.ReasonSafeToRemove, "is stored at v1"},
		"a survey cannot be carried out":                           {with(gated(v1alpha1.ReasonObjectsFailed, widgets+": 7 of 7 objects, 1 failed")), progressing, v1alpha1.ReasonObjectsFailed, "1 failed"},
		"the group is another Moult's":                             {with(silent, gated(v1alpha1.ReasonOutOfScope, "")), stalled, v1alpha1.ReasonOutOfScope, "--crd-groups"},
		"an open gate stands for the condition that does not show": {with(silent, open()), ready, v1alpha1.ReasonSafeToRemove, "proved to be stored at v1"},
		"a gate that was shut does not stand for it":               {with(silent, open(func(r *Removal) { r.Ready.Status = "False" })), progressing, v1alpha1.ReasonMigrating, ""},
		"an open gate does not stand beside a dirty list":          {with(silent, open(), stored("v1alpha1", "v1")), progressing, v1alpha1.ReasonMigrating, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a := c.snapshot.Judge(ask, now)
			g.Expect(a.Known).To(BeTrue(), a.Why)
			g.Expect([]any{a.State, a.Reason}).To(Equal([]any{c.state, c.reason}), a.Message)
			said := a.Message
			for _, b := range a.Blockers {
				said += " " + b.Message + " " + b.Action
			}
			g.Expect(said).To(ContainSubstring(c.says))
		})
	}
}

func TestWhatASnapshotDoesNotShowIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot *Snapshot
		ask      Ask
		why      string
	}{
		"no Moult, and a clean list":              {with(silent), ask, "Install Moult, or run `moult migrate widgets.example.com` once"},
		"nobody opted in, and a clean list":       {with(unlabelled), ask, "the API server accepts it, because storedVersions of widgets.example.com is [v1]. But somebody may have edited that list: nothing proves"},
		"the condition is another Moult's":        {with(crd(func(c *CRD) { c.Conditions[1].Ours = false })), ask, "it is not proved"},
		"the snapshot is of other CRDs":           {with(func(s *Snapshot) { s.CRDs, s.Named = nil, []string{"gadgets.example.com"} }), ask, "taken of other CRDs (gadgets.example.com)"},
		"the pull request asks for no references": {with(open()), Ask{CRD: widgets, Versions: []string{"v1alpha1"}, Terms: &Terms{Require: []v1alpha1.Requirement{v1alpha1.NoReferences}}}, "take it with --references"},
		"the pull request asks for no stashes, too": {with(open(requires(0, v1alpha1.NoReferences), func(r *Removal) { r.Proof.ReferencesAt = new(metav1.NewTime(now)) })),
			Ask{CRD: widgets, Versions: []string{"v1alpha1"}, Terms: &Terms{Require: []v1alpha1.Requirement{v1alpha1.NoReferences, v1alpha1.NoStashes}}}, "take it with --references"},
		"the pull request asks for a backup":      {safe(), Ask{CRD: widgets, Versions: []string{"v1alpha1"}, Terms: &Terms{Require: []v1alpha1.Requirement{v1alpha1.Backup}}}, "the snapshot does not show backups"},
		"CRDs could not be listed":                {with(unread(CRDs, "", "it takes list on customresourcedefinitions")), ask, "it takes list on customresourcedefinitions"},
		"the CRD could not be read":               {with(unread(OneCRD, widgets, "it takes get")), ask, "whether the cluster has widgets.example.com is not known: it takes get"},
		"the snapshot is of another label's CRDs": {safe(), Ask{CRD: widgets, Versions: []string{"v1alpha1"}, LabelKey: "example.com/migrate"}, "take one with --label-key example.com/migrate"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a := c.snapshot.Judge(c.ask, now)
			g.Expect(a.Known).To(BeFalse())
			g.Expect(a.State).NotTo(Equal(verdict.Ready))
			g.Expect(a.Why).To(ContainSubstring(c.why))
		})
	}
}

func TestWhatGoesWithAnAnswer(t *testing.T) {
	yes, no := true, false
	type facts struct {
		stored     []string
		objects    int64 // -1 for not counted
		proved     bool
		repairOnly bool
		gate       *Gate
	}
	for name, c := range map[string]struct {
		snapshot *Snapshot
		want     facts
	}{
		"a safe one":                         {safe(), facts{stored: []string{"v1"}, objects: 7, proved: true}},
		"entries to repair and nothing else": {with(ownedBy("old-tool", time.Hour)), facts{stored: []string{"v1"}, objects: 7, proved: true, repairOnly: true}},
		"a repair that fails": {with(ownedBy("old-tool", time.Hour), gated(v1alpha1.ReasonObjectsFailed, widgets+": 1 failed")),
			facts{stored: []string{"v1"}, objects: 7, proved: true, gate: &Gate{Name: "ns/gate"}}},
		"an open gate": {with(open()), facts{stored: []string{"v1"}, objects: 7, proved: true,
			gate: &Gate{Name: "ns/gate", Ready: true}}},
		"a gate that was open for an earlier spec": {with(open(func(r *Removal) { r.Generation = 2 })), facts{stored: []string{"v1"}, objects: 7, proved: true, gate: &Gate{Name: "ns/gate"}}},
		"a CRD under way":                          {with(at(v1alpha1.ReasonMigrating, "rewriting")), facts{stored: []string{"v1alpha1", "v1"}, objects: 7}},
		"objects that were not read": {with(unread(ObjectsOfCRD, widgets, "may not be read")),
			facts{stored: []string{"v1"}, objects: -1, proved: true, repairOnly: true}},
		"objects of another CRD that were not read": {with(func(s *Snapshot) {
			s.NotRead = []NotRead{{What: ObjectsOfCRD, CRD: "gadgets.example.com", Why: "may not be read"}}
		}), facts{stored: []string{"v1"}, objects: 7, proved: true}},
		"metrics and removals that were not read": {with(unread(APIServerMetrics, "", "no metrics"), unread(Removals, "", "no removals")),
			facts{stored: []string{"v1"}, objects: 7, proved: true}},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.snapshot.Judge(ask, now)
			got := facts{stored: a.StoredVersions, objects: -1, proved: a.Proved, repairOnly: a.RepairOnly, gate: a.Gate}
			if a.Objects != nil {
				got.objects = *a.Objects
			}
			NewWithT(t).Expect(got).To(Equal(c.want))
		})
	}
	for name, c := range map[string]struct {
		snapshot *Snapshot
		ask      func(*Ask)
		kinds    []string
		says     string
	}{
		"nothing":                                   {safe(), func(*Ask) {}, nil, ""},
		"a snapshot as old as it may be":            {safe(), func(a *Ask) { a.MaxAge = time.Hour }, nil, ""},
		"a snapshot that is too old":                {safe(), func(a *Ask) { a.MaxAge = time.Minute }, []string{KindOutdated}, "1h0m0s old"},
		"a snapshot of a clock that is a bit ahead": {with(func(s *Snapshot) { s.TakenAt = now.Add(time.Minute) }), func(*Ask) {}, nil, ""},
		"a snapshot of a clock that is ahead":       {with(func(s *Snapshot) { s.TakenAt = now.Add(61 * time.Second) }), func(*Ask) {}, []string{KindOutdated}, "yet to come"},
		"a snapshot of tomorrow":                    {with(func(s *Snapshot) { s.TakenAt = now.Add(time.Hour) }), func(*Ask) {}, []string{KindOutdated}, "yet to come"},
		"an old snapshot without the CRD":           {with(func(s *Snapshot) { s.CRDs = nil }), func(a *Ask) { a.MaxAge = time.Minute }, []string{KindOutdated}, "1h0m0s old"},
		"the label stays":                           {safe(), func(a *Ask) { a.HeadLabel = &yes }, nil, ""},
		"the label goes":                            {safe(), func(a *Ask) { a.HeadLabel = &no }, []string{KindLabelLost}, "takes the label moult.dev/migrate off"},
		"the label comes with the removal":          {with(unlabelled), func(a *Ask) { a.HeadLabel = &yes }, []string{KindLabelTooLate}, "commit the label first"},
		"the label stays away":                      {with(unlabelled), func(a *Ask) { a.HeadLabel = &no }, nil, ""},
		"writers at the version":                    {with(ownedBy("old-tool", time.Hour)), func(*Ask) {}, []string{KindOwned}, "4 objects of widgets.example.com were last written at v1alpha1 by old-tool (Apply), last ns/o at 2026-01-02T02:04:05Z"},
		"writers at another version":                {with(ownedBy("old-tool", time.Hour)), func(a *Ask) { a.Versions = []string{"v1beta1"} }, nil, ""},
		"a gate that is shut":                       {with(gated(v1alpha1.ReasonStillServed, "v1alpha1 is served")), func(*Ask) {}, []string{KindGateShut}, "StillServed: v1alpha1 is served"},
		"a gate that nobody has answered":           {with(gated("", "", func(r *Removal) { r.Ready, r.ObservedGeneration = nil, -1 })), func(*Ask) {}, []string{KindGateShut}, "no controller has answered it"},
		"requests at the version": {with(crd(func(c *CRD) {
			c.Requests = []Requests{{Version: "v1alpha1", Counts: map[string]int64{"LIST": 1, "GET": 3}}}
		})), func(*Ask) {}, []string{KindRequested}, "4 requests of widgets.example.com at v1alpha1 (3 GET, 1 LIST) since it was started; a LIST may be of an earlier snapshot, from when it was the storage version"},
		"requests that Moult itself may have made": {with(crd(func(c *CRD) {
			c.Requests = []Requests{{Version: "v1alpha1", Counts: map[string]int64{"PATCH": 7}}}
		})), func(*Ask) {}, []string{KindRequested}, "since it was started; a PATCH may be Moult's own check, from when it was the storage version"},
		"deprecated requests, not counted":   {with(crd(func(c *CRD) { c.Requests = []Requests{{Version: "v1alpha1", Deprecated: true}} })), func(*Ask) {}, []string{KindRequested}, "marked as deprecated"},
		"watches at the version":             {with(crd(func(c *CRD) { c.Requests = []Requests{{Version: "v1alpha1", Watches: 2}} })), func(*Ask) {}, []string{KindWatched}, "2 watches of widgets.example.com at v1alpha1 are open"},
		"requests at the version that stays": {with(crd(func(c *CRD) { c.Requests = []Requests{{Version: "v1", Counts: map[string]int64{"GET": 3}, Watches: 1}} })), func(*Ask) {}, nil, ""},
		"a watch at the version":             {with(crd(func(c *CRD) { c.Requests = []Requests{{Version: "v1alpha1", Watches: 1}} })), func(*Ask) {}, []string{KindWatched}, "a watch of widgets.example.com at v1alpha1 is open"},
		"a request at the version":           {with(crd(func(c *CRD) { c.Requests = []Requests{{Version: "v1alpha1", Counts: map[string]int64{"GET": 1}}} })), func(*Ask) {}, []string{KindRequested}, "counted 1 request of widgets.example.com at v1alpha1 (1 GET)"},
		"an object stuck in deletion":        {with(crd(func(c *CRD) { c.Objects.Stuck = &Stuck{Count: 1} })), func(*Ask) {}, []string{KindStuck}, "1 object of widgets.example.com is stuck in deletion bring up"},
		"objects stuck in deletion":          {with(crd(func(c *CRD) { c.Objects.Stuck = &Stuck{Count: 2, Examples: []string{"ns/o"}} })), func(*Ask) {}, []string{KindStuck}, "2 objects of widgets.example.com are stuck in deletion: ns/o"},
	} {
		t.Run("warnings: "+name, func(t *testing.T) {
			g, asked := NewWithT(t), ask
			c.ask(&asked)
			a := c.snapshot.Judge(asked, now)
			var kinds []string
			said := ""
			for _, w := range a.Extra {
				kinds = append(kinds, w.Kind)
				said += w.Message + " " + w.Action
			}
			g.Expect(kinds).To(Equal(c.kinds))
			g.Expect(said).To(ContainSubstring(c.says))
		})
	}
}

// A cluster may still store at the version that leaves, and no user must be sent to that.
func TestClientsAreSentToAVersionThatStays(t *testing.T) {
	before := func(s *Snapshot) {
		s.CRDs[0].Versions[0].Storage, s.CRDs[0].Versions[1].Storage = true, false
		s.CRDs[0].Requests = []Requests{{Version: "v1alpha1", Counts: map[string]int64{"GET": 1}, Watches: 1}}
		s.CRDs[0].Objects.Stuck = &Stuck{Count: 1}
	}
	for name, c := range map[string]struct {
		snapshot *Snapshot
		ask      Ask
		want     string
	}{
		"the pull request's storage version":  {with(before), Ask{Storage: "v2"}, "v2"},
		"one that the cluster serves":         {with(before), Ask{}, "v1"},
		"not one that leaves as well":         {with(before), Ask{Storage: "v1alpha1"}, "v1"},
		"not one that the cluster serves not": {with(before, crd(func(c *CRD) { c.Versions[1].Served = false })), Ask{}, "a version that stays"},
		"the cluster's storage version": {with(before, crd(func(c *CRD) {
			c.Versions = append(c.Versions, Version{Name: "v2", Served: true})
			c.Versions[0].Storage, c.Versions[1].Storage = false, true
		})), Ask{}, "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.ask.CRD, c.ask.Versions = widgets, []string{"v1alpha1"}
			extra := c.snapshot.Judge(c.ask, now).Extra
			g.Expect(extra).To(HaveLen(3))
			for _, w := range extra {
				g.Expect(w.Action).To(HaveSuffix(" "+c.want), w.Kind)
			}
		})
	}
}
