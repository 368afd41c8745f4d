package main

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/doctor"
)

// tellReport prints problems first, the gravest ones at the top, then a line for each check that found none.
func (a *app) tellReport(report doctor.Report, output string) error {
	if output != "" {
		return printDocument(a.out, output, report)
	}
	for _, severity := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Info} {
		for _, r := range report.Checks {
			for _, f := range r.Findings {
				if f.Severity == severity {
					fmt.Fprintf(a.out, "%-8s %s  %s\n%s\n%s\n\n", severity, r.ID, f.Object, paragraph(f.Evidence), paragraph("mend: "+f.Mend))
				}
			}
		}
	}
	for _, r := range report.Checks {
		if r.Outcome == doctor.Passed {
			fmt.Fprintf(a.out, "%-8s %-15s  %s\n", "ok", r.ID, r.Evidence)
		}
	}
	for _, r := range report.Checks {
		if r.Outcome == doctor.NotRun {
			fmt.Fprintf(a.out, "%-8s %-15s  %s\n", "not run", r.ID, r.Evidence)
		}
		for _, what := range r.NotSeen {
			fmt.Fprintf(a.out, "%-8s %-15s  %s\n", "not seen", r.ID, what)
		}
	}
	return nil
}

const (
	indent    = "         "
	textWidth = 100
)

// paragraph breaks a sentence into indented lines. A word that is too long has a line of its own.
func paragraph(sentence string) string {
	lines, line := []string{}, ""
	for _, word := range strings.Fields(sentence) {
		if line != "" && len(line)+1+len(word) > textWidth-len(indent) {
			lines, line = append(lines, indent+line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, indent+line), "\n")
}

// verdictOf is the error that decides the exit code.
func verdictOf(report doctor.Report) error {
	bad := 0
	for _, r := range report.Checks {
		for _, f := range r.Findings {
			if f.Severity == doctor.Error {
				bad++
			}
		}
	}
	if bad == 0 {
		return nil
	}
	return notDone{sentence: count(bad, "error") + "; what was seen and how to mend it is above"}
}
