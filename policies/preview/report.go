package preview

import (
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/verdict"
)

// Verdict answers: may this be merged? The set is closed.
type Verdict string

const (
	// Safe: nothing breaks, in no cluster.
	Safe Verdict = "safe"
	// Warned: nothing breaks, but there are warnings.
	Warned Verdict = "warnings"
	// Unknown: a version is removed, and what some cluster stores is not known; or what changes cannot be seen.
	Unknown Verdict = "unknown"
	// Blocked: in some cluster it would be refused, or lose something.
	Blocked Verdict = "blocked"
)

// Report is all there is to say about a pull request. It is what -o json prints.
type Report struct {
	// APIVersion and Kind name the format: preview.moult.dev/v1alpha1, Report.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Base and Head are what was compared, as the caller called them.
	Base    string  `json:"base"`
	Head    string  `json:"head"`
	Verdict Verdict `json:"verdict"`
	// Sentence says the verdict to a person, without a full stop.
	Sentence string    `json:"sentence"`
	Clusters []Cluster `json:"clusters,omitempty"`
	// CRDs are those that differ, by name.
	CRDs []ChangedCRD `json:"crds,omitempty"`
	// Findings are sorted by finding.Sort.
	Findings []finding.Finding `json:"findings,omitempty"`
	// Manifests are objects in the repository still written at a version that leaves.
	Manifests []Manifest `json:"manifests,omitempty"`
	// Irrelevant are the files that change and that nothing which may be applied is made of.
	Irrelevant []string `json:"irrelevant,omitempty"`
}

// Cluster is one entry point, with what is known about the cluster behind it.
type Cluster struct {
	// Name is the entry point or the name that the caller gave it; empty when no entry point was given.
	Name string `json:"name"`
	// Source says where the knowledge comes from, for example "snapshot production.json"; empty if there is none, and
	// then every removal is Unknown.
	Source  string     `json:"source,omitempty"`
	TakenAt *time.Time `json:"takenAt,omitempty"`
	// Rollout is in which order it takes the change; nil without Application or Kustomization.
	Rollout *rollout.Rollout `json:"rollout,omitempty"`
	// NotFollowed is all that is not seen and that the pull request does not change, with the reason.
	NotFollowed []string `json:"notFollowed,omitempty"`
}

// ChangedCRD is what changes in one CRD, and what that means in each cluster that gets the change.
type ChangedCRD struct {
	crddiff.Diff `json:",inline"`

	Place    finding.Place `json:"place,omitzero"`
	Clusters []InCluster   `json:"clusters,omitempty"`
}

// InCluster is what a change of a CRD means in one cluster.
type InCluster struct {
	Cluster string  `json:"cluster"`
	Verdict Verdict `json:"verdict"`
	// Reason is a reason of VersionRemoval's Ready condition, the kind of the warning or the rule of the finding that
	// decided, or one of preview's own. Sentence says it to a person.
	Reason   string `json:"reason"`
	Sentence string `json:"sentence"`
	// State is what a VersionRemoval for the versions that leave would amount to; empty if that is not known, or none leaves.
	State verdict.State `json:"state,omitempty"`
	// Blockers and Warnings are those a VersionRemoval would show.
	Blockers []v1alpha1.Blocker `json:"blockers,omitempty"`
	Warnings []v1alpha1.Blocker `json:"warnings,omitempty"`
	// StoredVersions, Objects and Proved are what the cluster said; empty, nil and false if it was not asked.
	StoredVersions []string `json:"storedVersions,omitempty"`
	Objects        *int64   `json:"objects,omitempty"`
	Proved         bool     `json:"proved,omitempty"`
	// Gate is the VersionRemoval found in the cluster, as namespace/name, and what it says.
	Gate      string `json:"gate,omitempty"`
	GateReady bool   `json:"gateReady,omitempty"`
}

// Manifest is one object in the repository written at a version that leaves.
type Manifest struct {
	finding.Place `json:",inline"`
	CRD           string `json:"crd"`
	Version       string `json:"version"`
	// Object is kind and namespace/name.
	Object string `json:"object"`
	// Rewritable reports whether `moult rewrite` can convert it to the storage version: conversion is None.
	Rewritable bool `json:"rewritable"`
}
