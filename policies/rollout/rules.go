package rollout

import (
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// The rules, in the order in which they are checked. Beside these, Of takes over what policies/optin finds about the
// CRDs that change, by the names that it has there.
const (
	// RemovalWithoutGate: a version leaves, and no VersionRemoval asks whether it may.
	RemovalWithoutGate = "RemovalWithoutGate"
	// GateLacksVersion: there is a VersionRemoval for the CRD, but it does not name a version that leaves.
	GateLacksVersion = "GateLacksVersion"
	// GateCannotOpen: the VersionRemoval asks for what cannot come true before the commit is applied.
	GateCannotOpen = "GateCannotOpen"
	// GateLocksItself: the VersionRemoval waits for a change of the CRD that it holds back.
	GateLocksItself = "GateLocksItself"
	// GateForNothing: a VersionRemoval that is new or changed names no CRD of the cluster, or versions that stay.
	GateForNothing = "GateForNothing"
	// GateNotEarlier: the CRD may be applied before the VersionRemoval, or together with it.
	GateNotEarlier = "GateNotEarlier"
	// GateNotWaitedFor: the CRD comes later, but the VersionRemoval's Kustomization is ready without it.
	GateNotWaitedFor = "GateNotWaitedFor"
	// GateNotHeldByParent: the CRD's unit follows its source by itself, and only its parent waits for the VersionRemoval.
	GateNotHeldByParent = "GateNotHeldByParent"
	// GateMayBeMissed: Argo CD may go on before it has noticed that the VersionRemoval's Application is not healthy. It may be set up
	// not to wait for the steps of a RollingSync, or pass the VersionRemoval over after a sync that has failed.
	GateMayBeMissed = "GateMayBeMissed"
	// GateAtOtherCommit: the dependency may be ready at a commit that does not hold the VersionRemoval yet.
	GateAtOtherCommit = "GateAtOtherCommit"
	// ApplicationHealthUnknown: the order of Applications holds only if Argo CD knows when an Application is healthy.
	ApplicationHealthUnknown = "ApplicationHealthUnknown"
	// GateUnchanged: the VersionRemoval does not change in the commit that removes, so Argo CD may pass it over.
	GateUnchanged = "GateUnchanged"
	// GateHealthUnseen: Argo CD counts a VersionRemoval as healthy unless argocd-cm says otherwise, and that is not here.
	GateHealthUnseen = "GateHealthUnseen"
	// FlipWithRemoval: the storage version moves in the commit that removes the version it moves away from.
	FlipWithRemoval = "FlipWithRemoval"
	// FlipNotServed: the storage version moves to one that API servers and clients have not known before.
	FlipNotServed = "FlipNotServed"
	// LabelDropped: the CRD was opted in and is not any more.
	LabelDropped = "LabelDropped"
	// CRDPruned: the CRD vanishes from a unit that is pruned, and takes all its objects with it.
	CRDPruned = "CRDPruned"
	// CRDLeft: the CRD vanishes from Git and stays in the cluster.
	CRDLeft = "CRDLeft"
	// ServerSideDiffStops: Argo CD compares by a dry run, which fails as long as a stored version is missing.
	ServerSideDiffStops = "ServerSideDiffStops"
	// ProjectForbids: the AppProject does not permit the VersionRemoval or the CRD.
	ProjectForbids = "ProjectForbids"
	// SyncWaitsForever: nothing ends a sync that waits for a VersionRemoval, and newer commits wait with it.
	SyncWaitsForever = "SyncWaitsForever"
	// RetriesOldCommit: after a failed sync Argo CD tries the same commit again, not the one that repairs it.
	RetriesOldCommit = "RetriesOldCommit"
	// TimeoutTooShort: Flux stops waiting before a migration can be over.
	TimeoutTooShort = "TimeoutTooShort"
	// Suspended: the tool does not look at the unit for now.
	Suspended = "Suspended"
	// DependencyCycle: units wait for one another.
	DependencyCycle = "DependencyCycle"
	// DependencyMissing: a unit waits for one that is not there.
	DependencyMissing = "DependencyMissing"
	// UnseenChanged: what cannot be seen comes, goes or changes, and may bring CRDs, gates or manifests at old versions.
	UnseenChanged = "UnseenChanged"
	// SourceMoved: a unit takes what it applies from another place than before, and that is not looked at.
	SourceMoved = "SourceMoved"
	// NotFollowed: some of what the cluster gets cannot be seen, and the pull request does not change it.
	NotFollowed = "NotFollowed"
)

// rule finds one kind of thing to fix.
type rule struct {
	name string
	find func(*situation) []finding.Finding
}

// each is a rule about some things, each by itself. What is in order has no finding.
func each[T any](of func(*situation) []T, find func(*situation, T) *finding.Finding) func(*situation) []finding.Finding {
	return func(s *situation) (findings []finding.Finding) {
		for _, one := range of(s) {
			if f := find(s, one); f != nil {
				findings = append(findings, *f)
			}
		}
		return findings
	}
}

// rules is the specification. The order is that of a reviewer's questions. Is there a gate, does it hold, may the
// CRD change so, does the change arrive, and is it all that changes?
var rules = []rule{
	{RemovalWithoutGate, each((*situation).removals, removalWithoutGate)},
	{GateLacksVersion, each((*situation).removals, gateLacksVersion)},
	{GateCannotOpen, each((*situation).guards, gateCannotOpen)},
	{GateLocksItself, each((*situation).locks, gateLocksItself)},
	{GateForNothing, each((*situation).newGates, gateForNothing)},
	{GateNotEarlier, each(guardsOf(notEarlier), gateNotEarlier)},
	{GateNotWaitedFor, each(guardsOf(notWaitedFor), gateNotWaitedFor)},
	{GateNotHeldByParent, each(guardsOf(notHeldByParent), gateNotHeldByParent)},
	{GateMayBeMissed, each(guardsOf(ifNoticed), gateMayBeMissed)},
	{GateMayBeMissed, each(guardsOf(enforced), gatePassedOver)},
	{GateAtOtherCommit, each(guardsOf(atOtherCommit), gateAtOtherCommit)},
	{ApplicationHealthUnknown, each(guardsOf(ifHealthIsKnown), applicationHealthUnknown)},
	{GateUnchanged, each((*situation).guards, gateUnchanged)},
	{GateHealthUnseen, each((*situation).guards, gateHealthUnseen)},
	{FlipWithRemoval, each((*situation).removals, flipWithRemoval)},
	{FlipNotServed, each((*situation).changedCRDs, flipNotServed)},
	{LabelDropped, each((*situation).changedCRDs, labelDropped)},
	{CRDPruned, crdsPruned},
	{CRDLeft, each((*situation).gone, crdLeft)},
	{ServerSideDiffStops, each((*situation).removals, serverSideDiffStops)},
	{ProjectForbids, each((*situation).projectMembers, projectForbids)},
	{SyncWaitsForever, each(gatedBy(delivery.ArgoCD), syncWaitsForever)},
	{RetriesOldCommit, each(gatedBy(delivery.ArgoCD), retriesOldCommit)},
	{TimeoutTooShort, each(gatedBy(delivery.Flux), timeoutTooShort)},
	{Suspended, each((*situation).concerned, suspendedUnit)},
	{DependencyCycle, each((*situation).cycles, dependencyCycle)},
	{DependencyMissing, each((*situation).missing, dependencyMissing)},
	{UnseenChanged, unseenChanged},
	{SourceMoved, sourceMoved},
	{NotFollowed, notFollowed},
	{"", optinFindings},
}
