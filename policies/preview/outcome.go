package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/verdict"
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
	// ReasonOwnershipNotRepaired: all that is left is managedFields that name the version. No VersionRemoval in the
	// cluster asks for them to be moved, so they are not.
	ReasonOwnershipNotRepaired = verdict.OwnershipNotRepaired
	// ReasonAcknowledged: it is not known, and a person has said that it does not matter.
	ReasonAcknowledged = "Acknowledged"
	// ReasonUnseen: the CRD vanishes from what can be seen, and not all can be seen.
	ReasonUnseen = "CRDUnseen"
)

// outcome is what becomes of a CRD and its versions in one cluster, apart from schemas and findings.
func (m meaning) outcome() InCluster {
	switch isNew := m.change.Base == nil; {
	case m.change.Head == nil:
		return m.outcomeOfGone()
	case isNew && m.begins():
		return m.says(Safe, ReasonNew, "the CRD is new, with one version, and this repository has others of its group: it begins here")
	case m.to.Snapshot == nil && (isNew || len(m.leaving) > 0):
		return m.says(Unknown, ReasonClusterUnknown, "what the cluster stores is not known: give the preview a snapshot of it, or its context")
	case len(m.leaving) > 0:
		return m.outcomeOfRemoval()
	case !isNew:
		return m.says(Safe, ReasonNotRemoved, "no version leaves")
	case m.stored == nil && !m.lacksCRD():
		return m.says(Unknown, ReasonClusterUnknown, "the CRD is new in Git, and the snapshot does not show whether the cluster has it already; take a snapshot that includes it")
	case m.mayHaveObjects(): // a snapshot holds no schemas
		return m.says(Warned, ReasonAdopted, "the CRD is new in Git, but the cluster has it already, with versions that all stay; what differs in their schemas is not known")
	}
	return m.says(Safe, ReasonNew, "the CRD is new in Git")
}

// begins reports whether a CRD that is new in Git begins here, as an operator's next kind does. It has one version,
// beside other CRDs of its group, in a repository that says of no cluster what is applied to it.
func (m meaning) begins() bool {
	head := m.to.Head.crd(m.change.Name)
	return m.to.NoCluster && m.to.Snapshot == nil && head != nil && len(head.Spec.Versions) == 1 && !slices.Contains(m.to.KnownBefore, head.Name) &&
		slices.ContainsFunc(m.to.Base.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			return crd.Spec.Group == head.Spec.Group
		})
}

func (m meaning) outcomeOfGone() InCluster {
	units := m.to.Head.Cluster
	switch i := slices.IndexFunc(units.Units, (*delivery.Unit).Incomplete); {
	case i >= 0: // it may come from elsewhere from now on
		return m.says(Unknown, ReasonUnseen, fmt.Sprintf("the CRD is no longer among the manifests, but %s also applies manifests that are not in this repository or cannot be built", units.Units[i].Name))
	case m.to.Snapshot == nil && !m.wasApplied():
		return m.says(Unknown, ReasonClusterUnknown, noLongerInGit)
	case !units.Applied() && m.mayHaveObjects():
		return m.says(Unknown, ReasonUnseen, "the CRD is no longer in the manifests, and it is not known which tool applies them; Helm, or a tool that prunes, deletes the CRD with all its objects")
	}
	return m.says(Warned, ReasonGone, noLongerInGit) // that it is pruned is a finding
}

// wasApplied reports whether the repository says what applied the CRD until now, and so what becomes of it: rollout has a
// finding if it is deleted.
func (m meaning) wasApplied() bool {
	return slices.ContainsFunc(m.to.Base.Cluster.CRDs(), func(crd delivery.CRD) bool {
		return crd.GetName() == m.change.Name && crd.Unit.Tool != ""
	})
}

func (m meaning) outcomeOfRemoval() InCluster {
	switch a := m.answer; {
	case !a.Known: // the snapshot does not show whether the versions can leave
		in := m.answered(Unknown)
		in.State, in.Sentence, in.Reason = "", a.Why, cmp.Or(in.Reason, ReasonClusterUnknown)
		return in
	case a.RepairOnly && a.Gate == nil: // no VersionRemoval in the cluster has the managedFields moved
		return m.repair(m.answered(m.ifGated()))
	case a.RepairOnly:
		return m.waiting(m.answered(m.ifGated()))
	case a.State == verdict.Progressing: // it clears by itself
		return m.waiting(m.answered(Blocked))
	case a.State == verdict.Stalled: // somebody has to commit something first
		return m.answered(Blocked)
	case len(a.Warnings)+len(a.Extra) > 0:
		in := m.answered(Warned)
		in.Reason, in.Sentence = butFor(in.Warnings, in.Sentence)
		return in
	}
	return m.answered(Safe)
}

const noLongerInGit = "the CRD is no longer in Git; in a cluster that has it, it stays, and nothing there updates it"

// says is an answer with what the cluster showed.
func (m meaning) says(v Verdict, reason, sentence string) InCluster {
	in := InCluster{
		Cluster: m.to.Name, Verdict: v, Reason: reason, Sentence: sentence,
		StoredVersions: m.answer.StoredVersions, Objects: m.answer.Objects, Proved: m.answer.Proved,
	}
	if m.answer.Gate != nil {
		in.Gate, in.GateReady = m.answer.Gate.Name, m.answer.Gate.Ready
	}
	return in
}

// answered is what the gate would say.
func (m meaning) answered(v Verdict) InCluster {
	in := m.says(v, m.answer.Reason, strings.TrimPrefix(m.answer.Message, m.change.Name+": "))
	in.State, in.Blockers, in.Warnings = m.answer.State, m.answer.Blockers, slices.Concat(m.answer.Warnings, m.answer.Extra)
	if still := m.refused(); v == Blocked && len(still) > 0 {
		in.Sentence = fmt.Sprintf("%s%s; %s", refusedFor, strings.Join(still, ", "), in.Sentence)
	}
	return in
}

// refusedFor begins the plain fact about a removal, before who has to do what.
const refusedFor = "the API server refuses it, because storedVersions names "

// refused are the versions for which the API server would refuse the CRD now; none where a VersionRemoval holds it back.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionStoredVersions)
func (m meaning) refused() []string {
	if m.gated() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.leaving), func(version string) bool { return !slices.Contains(m.answer.StoredVersions, version) })
}

// butFor puts what keeps it from being safe before what the gate says, which would be that it is safe. A snapshot that is
// too old comes first: all the rest is only as good.
func butFor(warnings []v1alpha1.Blocker, safe string) (reason, sentence string) {
	first := warnings[0]
	if old := slices.IndexFunc(warnings, func(w v1alpha1.Blocker) bool { return w.Kind == snapshot.KindOutdated }); old >= 0 {
		first = warnings[old]
	}
	return first.Kind, first.Message + "; but for that, " + safe
}
