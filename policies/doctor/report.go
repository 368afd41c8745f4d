package doctor

import "slices"

// ID names a check. It is part of the interface: pipelines compare it.
type ID string

// Severity is how much a finding matters. The set is closed.
type Severity string

const (
	// Error: something is broken, or will be by the next sync, uninstall or removal.
	Error Severity = "error"
	// Warning: something may surprise.
	Warning Severity = "warning"
	// Info is worth knowing.
	Info Severity = "info"
)

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

// Finding is one thing to mend.
type Finding struct {
	Severity Severity `json:"severity"`
	// Object is what it is about, for example the name of a CRD.
	Object string `json:"object"`
	// Evidence is what was seen, Mend what to do, each without a full stop.
	Evidence string `json:"evidence"`
	Mend     string `json:"mend"`
}

// Result is what one check has found.
type Result struct {
	ID      ID      `json:"id"`
	Outcome Outcome `json:"outcome"`
	// Evidence is what was seen when nothing is to mend, or why the check did not run.
	Evidence string    `json:"evidence,omitempty"`
	Findings []Finding `json:"findings"`
	// NotSeen is what a check that did run could not look at, and why.
	NotSeen []string `json:"notSeen,omitempty"`
}

// Report is what all checks have found.
type Report struct {
	// OK is true when there is no finding of severity error.
	OK     bool     `json:"ok"`
	Checks []Result `json:"checks"`
}

// Examine asks all checks.
func Examine(p Patient) Report {
	report := Report{OK: true, Checks: make([]Result, 0, len(checks))}
	for _, c := range checks {
		r := c.examine(p)
		r.ID = c.id
		if r.Findings == nil {
			r.Findings = []Finding{}
		}
		if r.Outcome == "" {
			r.Outcome = outcomeOf(r.Findings)
		}
		report.OK = report.OK && r.worst() != Error
		report.Checks = append(report.Checks, r)
	}
	return report
}

func outcomeOf(findings []Finding) Outcome {
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity != Info }) {
		return Failed
	}
	return Passed
}

// worst is the severity of the gravest finding, Info if there is none.
func (r Result) worst() Severity {
	worst := Info
	for _, f := range r.Findings {
		if f.Severity == Error {
			return Error
		}
		if f.Severity == Warning {
			worst = Warning
		}
	}
	return worst
}

func notRun(why string) Result { return Result{Outcome: NotRun, Evidence: why} }
