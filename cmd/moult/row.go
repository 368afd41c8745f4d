package main

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
)

// row is what status tells of one CRD; its JSON form is part of the command's interface.
type row struct {
	Name           string   `json:"name"`
	OptedIn        bool     `json:"optedIn"`
	StorageVersion string   `json:"storageVersion"`
	StoredVersions []string `json:"storedVersions"`
	// Migrated is true when the condition says so of the CRD as it is now.
	Migrated bool `json:"migrated"`
	// Reason and Message are the condition's; empty when there is none yet.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Outdated conditions speak of an earlier generation of the CRD.
	Outdated bool      `json:"outdated,omitempty"`
	Progress *progress `json:"progress,omitempty"`
}

// progress counts the objects of the walk that the condition speaks of.
type progress struct {
	Done   int64 `json:"done"`
	Total  int64 `json:"total"`
	Failed int64 `json:"failed"`
	// Rate is in objects per second; 0 while it is unknown.
	Rate float64 `json:"rate,omitempty"`
	// ETASeconds is how long the walk will still take at this rate; 0 while it is unknown.
	ETASeconds float64 `json:"etaSeconds,omitempty"`
}

// rowOf reads a CRD. The opt-in label is labelKey.
func rowOf(crd *apiextensionsv1.CustomResourceDefinition, labelKey string) row {
	r := row{
		Name:           crd.Name,
		OptedIn:        crd.Labels[labelKey] == v1alpha1.MigrateLabelValue,
		StoredVersions: crd.Status.StoredVersions,
	}
	r.StorageVersion = crds.StorageVersion(crd)
	if c := crds.Condition(crd, v1alpha1.StorageMigrated); c != nil {
		r.Reason, r.Message = c.Reason, c.Message
		r.Outdated = !v1alpha1.SpeaksOf(c.Message, crd.Generation)
		r.Migrated = r.OptedIn && !r.Outdated && c.Status == apiextensionsv1.ConditionTrue
		if counts, ok := v1alpha1.ParseProgress(c.Message); ok {
			r.Progress = progressOf(counts)
		}
	}
	return r
}

func progressOf(p v1alpha1.Progress) *progress {
	told := &progress{Done: p.Done, Total: p.Total, Failed: p.Failed, Rate: p.Rate}
	if p.Rate > 0 && p.Done < p.Total {
		told.ETASeconds = float64(p.Total-p.Done) / p.Rate
	}
	return told
}

func (p *progress) eta() time.Duration {
	return time.Duration(p.ETASeconds * float64(time.Second)).Round(time.Second)
}

// ended is the same count once nothing is under way any more.
func (p *progress) ended() *progress {
	if p == nil {
		return nil
	}
	return &progress{Done: p.Done, Total: p.Total, Failed: p.Failed}
}

// condition is the row's condition in a few words.
func (r row) condition() string {
	switch {
	case !r.OptedIn:
		return "not opted in"
	case r.Reason == "":
		return "not seen yet; is moult-controller running?"
	case r.Outdated:
		return r.Reason + " (before the CRD changed)"
	default:
		return r.Reason
	}
}

func allMigrated(rows []row) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r row) bool { return !r.Migrated })
}
