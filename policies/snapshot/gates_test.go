package snapshot

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/verdict"
)

// Where a VersionRemoval asks already, or the verdict says that one has to, the warning does not repeat it.
func TestWritersAreWarnedOfAndTheVersionRemovalIsAskedForOnce(t *testing.T) {
	const still = "let these clients write at v1"
	writing := func(changes ...change) *Snapshot { return with(append(changes, ownedBy("old-tool", time.Hour))...) }
	migrating := at(v1alpha1.ReasonMigrating, "rewriting")
	for name, c := range map[string]struct {
		snapshot *Snapshot
		terms    *Terms
		want     string
	}{
		"nobody asks, and the migration is under way": {writing(migrating), nil, "let a VersionRemoval move the entries in managedFields before the version goes, and " + still},
		"nobody asks, and that is all that is left":   {writing(), nil, still},
		"the pull request asks":                       {writing(migrating), &Terms{}, still},
		"a VersionRemoval in the cluster asks":        {writing(migrating, gated(v1alpha1.ReasonMigrating, "")), nil, still},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ask
			asked.Terms = c.terms
			NewWithT(t).Expect(c.snapshot.Judge(asked, now).Extra).To(ContainElement(And(HaveField("Kind", KindOwned), HaveField("Action", c.want))))
		})
	}
}

func TestThePullRequestsTermsReplaceThoseInTheCluster(t *testing.T) {
	g := NewWithT(t)
	s := with(gated(v1alpha1.ReasonStillServed, "", requires(0, v1alpha1.Unserved)))
	asked := ask
	asked.Terms = &Terms{}
	g.Expect(s.Judge(asked, now).Reason).To(Equal(v1alpha1.ReasonSafeToRemove))
	asked.Terms = &Terms{Require: []v1alpha1.Requirement{v1alpha1.Unserved}}
	g.Expect(safe().Judge(asked, now).Reason).To(Equal(v1alpha1.ReasonStillServed))
}

// What happened after the snapshot was taken is not known, so it is not quiet by the passing of time alone.
func TestTheTimeSinceTheSnapshotCountsForNothing(t *testing.T) {
	s := with(open(requires(2*time.Hour, v1alpha1.Quiet)), ownedBy("old-tool", time.Hour))
	NewWithT(t).Expect(s.Judge(ask, now.Add(1000*time.Hour)).Reason).To(Equal(v1alpha1.ReasonStillWritten))
}

// Right after a start, an open gate is taken for what it says, but not for what only the pull request asks for.
func TestAnOpenGateIsNoBackup(t *testing.T) {
	g := NewWithT(t)
	s := with(silent, open(), backedUp("", 0))
	g.Expect(s.Judge(ask, now).State).To(Equal(verdict.Ready))
	asked := ask
	asked.Terms = &Terms{Require: []v1alpha1.Requirement{v1alpha1.Backup}}
	g.Expect(s.Judge(asked, now).State).To(Equal(verdict.Progressing))
}

func TestTheGateThatSaysLeastIsAsked(t *testing.T) {
	named := func(name string) func(*Removal) { return func(r *Removal) { r.Name = name } }
	more := func(r *Removal) { r.Spec.Versions = []string{"v1alpha1", "v1beta1"} }
	for name, c := range map[string]struct {
		snapshot *Snapshot
		want     string
	}{
		"one that names just the versions before one that names more": {with(open(named("more"), more), open(named("just"))), "ns/just"},
		"one that is shut before one that is open":                    {with(open(named("open")), gated(v1alpha1.ReasonMigrating, "", named("shut"))), "ns/shut"},
		"the first of two that say the same":                          {with(open(named("a")), open(named("b"))), "ns/a"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.snapshot.Judge(ask, now).Gate.Name).To(Equal(c.want))
		})
	}
}
