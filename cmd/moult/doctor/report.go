package doctor

import (
	"fmt"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/doctor"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// print lists problems first, the gravest ones at the top, then a line for each check that found none.
func (d *command) print(report doctor.Report) error {
	if d.output != "" {
		return output.Print(d.Out, d.output, report)
	}
	for _, severity := range []finding.Severity{finding.Error, finding.Warning, finding.Info} {
		for _, r := range report.Checks {
			for _, f := range r.Findings {
				if f.Severity == severity {
					fmt.Fprintf(d.Out, "%-8s %s  %s\n%s\n%s\n\n", severity, r.ID, f.Object, output.Paragraph(f.Why), output.Paragraph("fix: "+f.Remediation))
				}
			}
		}
	}
	for _, r := range report.Checks {
		if r.Outcome == doctor.Passed {
			fmt.Fprintf(d.Out, "%-8s %-15s  %s\n", "ok", r.ID, r.Evidence)
		}
	}
	for _, r := range report.Checks {
		if r.Outcome == doctor.NotRun {
			fmt.Fprintf(d.Out, "%-8s %-15s  %s\n", "not run", r.ID, r.Evidence)
		}
		for _, what := range r.NotSeen {
			fmt.Fprintf(d.Out, "%-8s %-15s  %s\n", "not seen", r.ID, what)
		}
	}
	return nil
}

// verdictOf is the error that decides the exit code.
func (d *command) verdictOf(report doctor.Report) error {
	found := map[finding.Severity]int{}
	unknown := false
	for _, r := range report.Checks {
		for _, f := range r.Findings {
			found[f.Severity]++
		}
		unknown = unknown || len(r.NotSeen) > 0 || r.Outcome == doctor.NotRun && !r.NotAsked
	}
	switch bad := found[finding.Error]; {
	case bad > 0:
		return cli.NotDone{Sentence: words.Count(bad, "error") + "; what was seen and how to fix it is above"}
	case unknown:
		return d.failOn.Ending(cli.ExitUnknown)
	case found[finding.Warning] > 0:
		return d.failOn.Ending(cli.ExitWarnings)
	}
	return nil
}
