package doctor

import (
	"github.com/moult-dev/moult/policies/finding"
)

// ID names a check. It is part of the interface: pipelines compare it.
type ID string

// Outcome is what became of a check. The set is closed.
type Outcome string

const (
	// Passed: looked, and found nothing but perhaps what is worth knowing.
	Passed Outcome = "passed"
	// Failed: there is a finding of severity error or warning.
	Failed Outcome = "failed"
	// NotRun: what the check looks at could not be read, or was not asked for.
	NotRun Outcome = "notRun"
)

// Result is what one check has found.
type Result struct {
	ID      ID      `json:"id"`
	Outcome Outcome `json:"outcome"`
	// Evidence is what was seen when nothing is to fix, or why the check did not run.
	Evidence string            `json:"evidence,omitempty"`
	Findings []finding.Finding `json:"findings"`
	// NotSeen is what a check that did run could not look at, and why.
	NotSeen []string `json:"notSeen,omitempty"`
	// NotAsked: it did not run because no flag asks for it, or because what it is about is not in the cluster.
	NotAsked bool `json:"-"`
}

// Report is what all checks have found.
type Report struct {
	// OK is true when there is no finding of severity error.
	OK     bool     `json:"ok"`
	Checks []Result `json:"checks"`
}

// Examine asks all checks.
func Examine(state ClusterState) Report {
	report := Report{OK: true, Checks: make([]Result, 0, len(checks))}
	for _, c := range checks {
		r := c.examine(state)
		r.ID = c.id
		if r.Findings == nil {
			r.Findings = []finding.Finding{}
		}
		for i := range r.Findings {
			r.Findings[i].Rule = string(c.id)
		}
		switch worst := finding.Worst(r.Findings); {
		case r.Outcome != "":
		case worst == finding.Error, worst == finding.Warning:
			r.Outcome = Failed
		default:
			r.Outcome = Passed
		}
		report.OK = report.OK && finding.Worst(r.Findings) != finding.Error
		report.Checks = append(report.Checks, r)
	}
	return report
}

func notRun(why string) Result { return Result{Outcome: NotRun, Evidence: why} }
