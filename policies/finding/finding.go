// Package finding is how everything that looks at a pull request or a cluster says what it found: which rule, how bad,
// where, why it matters and what to do.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Severity is what a finding does to the verdict. The set is closed.
type Severity string

const (
	// Error: something fails or is lost, now or by what the pull request wants.
	Error Severity = "error"
	// Warning: it may, and somebody should look.
	Warning Severity = "warning"
	// Info: nothing is wrong; it is worth knowing.
	Info Severity = "info"
)

// Weight orders severities: the graver, the greater; what is none weighs least.
func (s Severity) Weight() int { return slices.Index([]Severity{Info, Warning, Error}, s) }

// Place is where something is written.
type Place struct {
	// File is a path: in a report, relative to the root of the repository, with slashes.
	File string `json:"file,omitempty"`
	// Line counts from 1, and is 0 when it cannot be told.
	Line int `json:"line,omitempty"`
	// Repo and Ref are set when Kustomize fetched the file from there; File is then a path in Repo.
	Repo string `json:"-"`
	Ref  string `json:"-"`
	// Template is the file of the chart that the object was rendered from, as Helm writes it in a comment.
	Template string `json:"-"`
}

// String is the place as compilers write it, for example crds/widgets.yaml:12.
func (p Place) String() string {
	text := p.File
	if p.Repo != "" {
		text = fmt.Sprintf("%s//%s?ref=%s", p.Repo, p.File, p.Ref)
	}
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
	}
	if p.Template != "" {
		text += " (" + p.Template + ")"
	}
	return text
}

// Finding is one thing to say about a pull request or a cluster.
type Finding struct {
	// Rule is a name that stays the same from release to release, for example GateNotEarlier or helm-keep.
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Object is what of a cluster it is about, for example the name of a CRD, or what cannot be seen, for example
	// HelmRelease apps/x. Empty if there is no such thing.
	Object string `json:"object,omitempty"`
	// CRD is the CustomResourceDefinition concerned, empty if there is no single one.
	CRD string `json:"crd,omitempty"`
	// Cluster is the entry point concerned, empty if it is the same for all.
	Cluster string `json:"cluster,omitempty"`
	Place   Place  `json:"place,omitzero"`
	// Why says what would happen, or what was seen, Remediation what to do, each in a sentence without a full stop. Remediation may be empty.
	Why         string `json:"why"`
	Remediation string `json:"remediation,omitempty"`
	// Acknowledged is why a person has said that it does not matter, and until when; empty if none has.
	Acknowledged string `json:"acknowledged,omitempty"`
}

// Worst is the gravest severity among findings, empty if there is none.
func Worst(findings []Finding) Severity {
	var worst Severity
	for _, f := range findings {
		if f.Severity.Weight() > worst.Weight() {
			worst = f.Severity
		}
	}
	return worst
}

// Sort puts the gravest first, and otherwise orders by CRD, cluster, place and rule, so that the same findings always
// read the same.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(b.Severity.Weight(), a.Severity.Weight()), cmp.Compare(a.CRD, b.CRD), cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Why, b.Why))
	})
}
