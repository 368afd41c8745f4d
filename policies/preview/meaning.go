package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal/verdict"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/snapshot"
)

// Reasons of an InCluster beside those of VersionRemoval's Ready condition.
const (
	// ReasonClusterUnknown: nothing is known about what the cluster stores.
	ReasonClusterUnknown = "ClusterUnknown"
	// ReasonNotRemoved: no version leaves.
	ReasonNotRemoved = "NothingRemoved"
	// ReasonNew: the cluster does not have the CRD yet.
	ReasonNew = "New"
	// ReasonAdopted: the CRD is new in Git, and the cluster has it.
	ReasonAdopted = "CRDAdopted"
	// ReasonGone: the CRD vanishes from Git.
	ReasonGone = "CRDGone"
	// ReasonOwnershipNotRepaired: all that is left is managedFields that name the version, and no VersionRemoval in the
	// cluster asks for them to be moved, so nobody does.
	ReasonOwnershipNotRepaired = verdict.OwnershipNotRepaired
	// ReasonUnseen: the CRD vanishes from what can be seen, and not all can be seen.
	ReasonUnseen = "CRDUnseen"
)

// meaning works out what a change of a CRD means in one cluster.
type meaning struct {
	in     Input
	to     Delivered
	change crddiff.Diff
	// found are the findings about the CRD in this cluster.
	found []finding.Finding
}

// inCluster is the worst of three answers: what the gate would say, what the schema's changes do to objects, and what is
// found about the roll-out.
func (m meaning) inCluster() InCluster {
	out := m.removal()
	if present, known := m.present(); known && !present && m.change.Head != nil {
		out.Sentence = "the cluster does not have the CRD yet"
		return m.withFindings(out)
	}
	for _, c := range m.change.Changes {
		v, counts := weigh(c)
		if v == Blocked && out.Objects != nil && *out.Objects == 0 {
			v = Warned // nobody has anything to lose
		}
		if counts && worse(v, out.Verdict) {
			out.Verdict, out.Reason, out.Sentence = v, string(c.Rule), inWords(c)
		}
	}
	return m.withFindings(out)
}

// removal is what the gate would say.
func (m meaning) removal() InCluster {
	out := InCluster{Cluster: m.to.Name, Verdict: Safe, Reason: ReasonNotRemoved, Sentence: "no version leaves"}
	if m.change.Base == nil {
		out.Reason, out.Sentence = ReasonNew, "the CRD is new in Git"
	}
	ask := m.ask()
	if m.change.Head == nil {
		return m.gone(out)
	}
	if m.to.Snapshot == nil {
		if len(ask.Versions) > 0 || m.change.Base == nil {
			out.Verdict, out.Reason = Unknown, ReasonClusterUnknown
			out.Sentence = "what the cluster stores is not known: give the preview a snapshot of it, or its context"
		}
		return out
	}
	answer := m.to.Snapshot.Judge(ask, m.in.Now)
	m.stores(&out, answer)
	if len(ask.Versions) == 0 {
		return m.adopted(out)
	}
	out.Reason, out.Sentence = answer.Reason, strings.TrimPrefix(answer.Message, m.change.Name+": ")
	out.Blockers, out.Warnings = answer.Blockers, slices.Concat(answer.Warnings, answer.Extra)
	if answer.Known {
		out.State = answer.State
	}
	switch {
	case answer.Known && answer.RepairOnly && answer.Gate == nil:
		m.repair(&out)
	case answer.Known && answer.State == verdict.Progressing && len(out.Blockers) == 0:
		out.Blockers = []v1alpha1.Blocker{{Kind: answer.Reason, Message: out.Sentence, Action: m.wait()}}
	}
	switch {
	case !answer.Known:
		out.Verdict, out.Sentence = Unknown, answer.Why
		if out.Reason == "" {
			out.Reason = ReasonClusterUnknown
		}
	case answer.RepairOnly && m.gated():
		out.Verdict = Warned
	case !answer.Safe():
		out.Verdict = Blocked
	case len(out.Warnings) > 0:
		out.Verdict = Warned
		out.Reason, out.Sentence = warned(out.Warnings, out.Sentence)
	}
	return out
}

// warned puts what keeps it from being safe before what the gate says, which would be that it is safe. A snapshot that is
// too old comes first: all the rest is only as good.
func warned(warnings []v1alpha1.Blocker, safe string) (reason, sentence string) {
	first := warnings[0]
	if old := slices.IndexFunc(warnings, func(w v1alpha1.Blocker) bool { return w.Kind == snapshot.KindOutdated }); old >= 0 {
		first = warnings[old]
	}
	return first.Kind, first.Message + "; but for that, " + safe
}

// adopted is the answer about a CRD that is new in Git and not in the cluster: a snapshot holds no schemas, so what the
// objects there may lose cannot be told.
func (m meaning) adopted(out InCluster) InCluster {
	present, known := m.present()
	if m.change.Base == nil && !known {
		out.Verdict, out.Reason = Unknown, ReasonClusterUnknown
		out.Sentence = "the CRD is new in Git, and whether the cluster has it already, with other versions, is not in the snapshot: take one that knows of it"
		return out
	}
	if m.change.Base == nil && present && (out.Objects == nil || *out.Objects > 0) {
		out.Verdict, out.Reason = Warned, ReasonAdopted
		out.Sentence = "the CRD is new in Git, but the cluster has it already, with versions that all stay; what differs in their schemas is not known"
	}
	return out
}

// stores tells what the cluster showed.
func (m meaning) stores(out *InCluster, answer snapshot.Answer) {
	out.StoredVersions, out.Objects, out.Proved = answer.StoredVersions, answer.Objects, answer.Proved
	if answer.Gate != nil {
		out.Gate, out.GateReady = answer.Gate.Name, answer.Gate.Ready
	}
}

// gone is the answer about a CRD that vanishes from what can be seen: whether it is deleted with all its objects, stays, or
// comes from elsewhere from now on. That it is pruned is a finding.
func (m meaning) gone(out InCluster) InCluster {
	if m.to.Snapshot != nil {
		m.stores(&out, m.to.Snapshot.Judge(snapshot.Ask{CRD: m.change.Name, LabelKey: m.in.LabelKey}, m.in.Now))
	}
	out.Verdict, out.Reason = Warned, ReasonGone
	out.Sentence = "the CRD is no longer in Git; in a cluster that has it, it stays, and nothing there updates it"
	for _, unit := range m.to.Head.Units.Units {
		if unit.Incomplete() {
			out.Verdict, out.Reason = Unknown, ReasonUnseen
			out.Sentence = fmt.Sprintf("the CRD is no longer in what can be seen, and what %s applies is not all in this repository, or cannot be built", unit.Name)
			return out
		}
	}
	if m.to.Snapshot == nil {
		out.Verdict, out.Reason = Unknown, ReasonClusterUnknown
		return out
	}
	present, known := m.present()
	if !m.to.Head.Units.Applied() && (present || !known) && (out.Objects == nil || *out.Objects > 0) {
		out.Verdict, out.Reason = Unknown, ReasonUnseen
		out.Sentence = "the CRD is no longer there, and nobody says what applies the rest: Helm, and whatever prunes, deletes it with all its objects"
	}
	return out
}

// ask is the question to the cluster: by the terms of the pull request's own gate, if it has one.
func (m meaning) ask() snapshot.Ask {
	ask := snapshot.Ask{CRD: m.change.Name, Versions: m.leaving(), LabelKey: m.in.LabelKey, MaxAge: m.in.MaxAge}
	if m.change.Head != nil {
		ask.Storage = m.change.Head.Storage
		labelled := m.change.Head.OptedIn()
		ask.HeadLabel = &labelled
	}
	if gate, found := m.gate(); found {
		ask.Terms = &snapshot.Terms{Require: gate.Require, QuietPeriod: gate.QuietPeriod.Duration}
	}
	return ask
}

// leaving are the versions that the cluster loses: those that leave in Git, and those that it has although Git has not,
// because a release was skipped or the cluster is not where the base is.
func (m meaning) leaving() []string {
	versions := slices.Clone(m.change.Removed)
	if m.change.Head == nil || m.to.Snapshot == nil {
		return versions
	}
	crd := m.crd()
	if crd == nil {
		return versions
	}
	has := slices.Clone(crd.StoredVersions)
	for _, v := range crd.Versions {
		has = append(has, v.Name)
	}
	for _, v := range has {
		if !m.change.Head.Has(v) && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return versions
}

// crd is what the snapshot shows of the CRD; nil if it does not.
func (m meaning) crd() *snapshot.CRD {
	for i := range m.to.Snapshot.CRDs {
		if crd := &m.to.Snapshot.CRDs[i]; crd.Name == m.change.Name {
			return crd
		}
	}
	return nil
}

// present tells whether the cluster has the CRD.
func (m meaning) present() (present, known bool) {
	if m.to.Snapshot == nil {
		return false, false
	}
	if m.crd() != nil {
		return true, true
	}
	return false, m.to.Snapshot.Judge(snapshot.Ask{CRD: m.change.Name}, m.in.Now).Known
}

// withFindings lets what is found about the roll-out weigh in.
func (m meaning) withFindings(out InCluster) InCluster {
	for _, f := range m.found {
		if v := verdictOfFinding(f); worse(v, out.Verdict) {
			out.Verdict, out.Reason, out.Sentence = v, f.Rule, f.Why
		}
	}
	return out
}

func inWords(c crddiff.Change) string {
	at := strings.TrimSpace(c.Version + " " + c.Field)
	if at == "" {
		return c.Why
	}
	return fmt.Sprintf("%s: %s", at, c.Why)
}
