package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/words"
)

// meaning is everything that decides what a change of a CRD means in one cluster.
type meaning struct {
	to     Delivered
	change crddiff.Diff
	// found are the findings about the CRD in this cluster.
	found []finding.Finding
	// stored is what the snapshot shows of the CRD, nil if it does not show it.
	stored *snapshot.CRD
	// gate is the VersionRemoval in the head that asks for all that leaves in Git, nil if there is none.
	gate *v1alpha1.VersionRemovalSpec
	// leaving are the versions that the cluster loses: those that leave in Git, and those that it has although Git has
	// not. The latter are there because a release was skipped or the cluster is not where the base is.
	leaving []string
	// answer is what the gate would say; empty without a snapshot.
	answer snapshot.Answer
	// acknowledged is what a person says of the CRD where the cluster is not known; nil if no person has.
	acknowledged *Acknowledgement
}

func meaningOf(in Input, to Delivered, change crddiff.Diff, found []finding.Finding) meaning {
	m := meaning{to: to, change: change, found: found, gate: to.Head.gateFor(change), leaving: change.Removed,
		acknowledged: in.Acknowledgements.of(in.Now, change.Name)}
	if to.Snapshot == nil {
		return m
	}
	m.stored = to.Snapshot.CRD(change.Name)
	if change.Head != nil && m.stored != nil {
		m.leaving = slices.Clone(change.Removed)
		for _, v := range m.stored.AllVersions() {
			if !change.Head.Has(v) && !slices.Contains(m.leaving, v) {
				m.leaving = append(m.leaving, v)
			}
		}
	}
	m.answer = to.Snapshot.Judge(m.ask(in), in.Now)
	return m
}

// ask is the question to the cluster: by the terms of the pull request's own gate, if it has one.
func (m meaning) ask(in Input) snapshot.Ask {
	ask := snapshot.Ask{CRD: m.change.Name, Versions: m.leaving, LabelKey: in.LabelKey, MaxAge: in.MaxAge}
	if m.change.Head != nil {
		ask.Storage, ask.HeadLabel = m.change.Head.Storage, new(m.change.Head.OptedIn())
	}
	if m.gate != nil {
		ask.Terms = &snapshot.Terms{Require: m.gate.Require, QuietPeriod: m.gate.QuietPeriod.Duration}
	}
	return ask
}

// inCluster is the worst of three answers: what the gate would say, what the schema's changes do to objects, and what is
// found about the roll-out.
func (m meaning) inCluster() InCluster {
	in := m.outcome()
	unseen := m.unseenDestinations()
	if unseen != "" && (in.Verdict == Safe || in.Verdict == Warned) {
		in = m.says(Unknown, ReasonClusterUnknown, unseen)
	}
	if in.Verdict == Unknown && m.acknowledged != nil {
		in.Verdict, in.Reason, in.Sentence = Safe, ReasonAcknowledged, fmt.Sprintf("%s; acknowledged: %s", in.Sentence, m.acknowledged.says())
	}
	if m.change.Head != nil && m.lacksCRD() && unseen == "" {
		in.Sentence = "the cluster does not have the CRD yet"
		return m.withFindings(in)
	}
	return m.withFindings(m.withChanges(in))
}

// unseenDestinations says that the CRD goes to more clusters than something is known of, where that matters; empty otherwise.
func (m meaning) unseenDestinations() string {
	if m.to.Snapshot == nil || m.change.Base != nil && len(m.leaving) == 0 {
		return ""
	}
	to := map[string]bool{}
	for _, crd := range slices.Concat(m.to.Base.Cluster.CRDs(), m.to.Head.Cluster.CRDs()) {
		if crd.GetName() == m.change.Name {
			to[cmp.Or(crd.Unit.Destination(), "the cluster of the entry point")] = true
		}
	}
	if len(to) <= max(m.to.Snapshots, 1) {
		return ""
	}
	return fmt.Sprintf("Applications bring it to %d clusters (%s), and there is a snapshot of %d; give the preview one of each, as --snapshot ENTRY=FILE",
		len(to), words.Few(slices.Sorted(maps.Keys(to)), 5), max(m.to.Snapshots, 1))
}

// lacksCRD reports whether it is known that the cluster does not have the CRD.
func (m meaning) lacksCRD() bool { return m.to.Snapshot != nil && m.to.Snapshot.Lacks(m.change.Name) }

// mayHaveObjects reports whether the cluster may have objects of the CRD, as far as the snapshot knows of them.
func (m meaning) mayHaveObjects() bool {
	return !m.lacksCRD() && (m.answer.Objects == nil || *m.answer.Objects > 0)
}

// withChanges lets what the schema's changes do to objects weigh in.
func (m meaning) withChanges(in InCluster) InCluster {
	for _, c := range m.change.Changes {
		v, why, counts := m.to.weigh(m.change.Name, c)
		if v == Blocked && in.Objects != nil && *in.Objects == 0 {
			v = Warned // no user has anything to lose
		}
		if counts && worse(v, in.Verdict) {
			in.Verdict, in.Reason, in.Sentence = v, string(c.Rule), why
		}
	}
	return in
}

// withFindings lets what is found about the roll-out weigh in.
func (m meaning) withFindings(in InCluster) InCluster {
	for _, f := range m.found {
		if v := verdictOfFinding(f); worse(v, in.Verdict) {
			in.Verdict, in.Reason, in.Sentence = v, f.Rule, f.Why
		}
	}
	return in
}

func inWords(c crddiff.Change) string {
	at := strings.TrimSpace(c.Version + " " + c.Field)
	if at == "" {
		return c.Why
	}
	return fmt.Sprintf("%s: %s", at, c.Why)
}
