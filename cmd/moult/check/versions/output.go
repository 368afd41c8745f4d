package versions

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/finding"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/words"
)

// step is what is between two releases.
type step struct {
	from, to string
	findings []deprecation.Violation
}

// steps are all, the newest first.
func steps(report deprecation.Report) (all []step) {
	for i := len(report.Releases) - 1; i > 0; i-- {
		s := step{from: report.Releases[i-1].Name, to: report.Releases[i].Name}
		for _, f := range report.Findings {
			if f.To == s.to {
				s.findings = append(s.findings, f)
			}
		}
		all = append(all, s)
	}
	return all
}

func (s step) title() string { return words.Line(s.from + " → " + s.to) }

// alike are the findings, those together that one rule has about fields of one version: people read the first, and where else.
func (s step) alike() (all [][]deprecation.Violation) {
	type about struct {
		rule, crd, version, acknowledged string
		severity                         finding.Severity
	}
	at := map[about]int{}
	for _, f := range s.findings {
		key := about{f.Rule, f.CRD, f.Version, f.Acknowledged, f.Severity}
		i, known := at[key]
		if f.Path == "" || !known {
			i = len(all)
			at[key] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], f)
	}
	return all
}

// mostPaths is how many paths a line names.
const mostPaths = 5

// also are the other paths than the first.
func also(alike []deprecation.Violation) string {
	paths := words.Distinct(words.Of(alike, func(f deprecation.Violation) string { return f.Path }))
	return words.Few(paths[1:], mostPaths)
}

// subject is what a finding is about.
func subject(f deprecation.Violation) string {
	return words.Line(strings.TrimSpace(strings.TrimSpace(f.CRD+" "+f.Version) + " " + f.Path))
}

func asText(report deprecation.Report) string {
	var content strings.Builder
	for _, s := range steps(report) {
		if len(s.findings) == 0 {
			continue
		}
		fmt.Fprintf(&content, "%s\n", s.title())
		for _, same := range s.alike() {
			f := same[0]
			fmt.Fprintf(&content, "  %s: %s  %s  (%s)\n    %s\n", f.Severity, f.Rule, subject(f), words.Line(f.Place.String()), words.Line(f.Why))
			if also := also(same); also != "" {
				fmt.Fprintf(&content, "    and so %s\n", words.Line(also))
			}
			switch {
			case f.Acknowledged != "":
				fmt.Fprintf(&content, "    accepted: %s\n", words.Line(f.Acknowledged))
			case f.Remediation != "":
				fmt.Fprintf(&content, "    fix: %s\n", words.Line(f.Remediation))
			}
		}
		content.WriteString("\n")
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&content, "accepted and not found: %s\n", words.Line(accepted(a)))
	}
	for _, note := range report.Notes {
		fmt.Fprintf(&content, "note: %s\n", words.Line(note))
	}
	fmt.Fprintf(&content, "%s\n", words.Line(sentence(report)))
	return content.String()
}

func accepted(a deprecation.Accepted) string {
	return strings.Join(strings.Fields(strings.Join([]string{a.Rule, a.CRD, a.Version, a.Path, a.Release}, " ")), " ") + " (" + a.Reason + ")"
}

// sentence says what was looked at, and what was found.
func sentence(report deprecation.Report) string {
	counts := map[finding.Severity]int{}
	for _, f := range report.Findings {
		counts[f.Severity]++
	}
	first, last := report.Releases[0], report.Releases[len(report.Releases)-1]
	return fmt.Sprintf("%s from %s to %s, the last with %s: %s, %s, %d for information", words.Count(len(report.Releases), "release"), first.Name, last.Name,
		words.Count(last.CRDs, "CRD"), words.Count(counts[finding.Error], "error"), words.Count(counts[finding.Warning], "warning"), counts[finding.Info])
}

const (
	// whyWidth and nameWidth are the most characters of somebody else's text in Markdown, and mostRows how many rows a table has.
	whyWidth, nameWidth = 400, 120
	mostRows            = 50
)

// asMarkdown is a comment on a pull request: a table for each step of which something is said.
func asMarkdown(report deprecation.Report) string {
	var content strings.Builder
	fmt.Fprintf(&content, "### Versions of the CRDs\n\n%s.\n", preview.CodeSpan(sentence(report), whyWidth))
	for _, s := range steps(report) {
		if len(s.findings) == 0 {
			continue
		}
		fmt.Fprintf(&content, "\n**%s → %s**\n\n| | rule | where | what happens, and what to do |\n|---|---|---|---|\n", preview.CodeSpan(s.from, nameWidth), preview.CodeSpan(s.to, nameWidth))
		all := s.alike()
		for i, same := range all {
			if i == mostRows {
				fmt.Fprintf(&content, "| | and %d more | | |\n", len(all)-i)
				break
			}
			f := same[0]
			said := preview.CodeSpan(f.Why, whyWidth)
			if also := also(same); also != "" {
				said += "<br>and so " + preview.CodeSpan(also, whyWidth)
			}
			switch {
			case f.Acknowledged != "":
				said += "<br>accepted: " + preview.CodeSpan(f.Acknowledged, whyWidth)
			case f.Remediation != "":
				said += "<br>" + preview.CodeSpan(f.Remediation, whyWidth)
			}
			fmt.Fprintf(&content, "| %s | %s | %s | %s |\n", f.Severity, f.Rule, preview.CodeSpan(subject(f), nameWidth), said)
		}
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&content, "\nAccepted and not found: %s\n", preview.CodeSpan(accepted(a), whyWidth))
	}
	for _, note := range report.Notes {
		fmt.Fprintf(&content, "\nNote: %s\n", preview.CodeSpan(note, whyWidth))
	}
	return content.String()
}

// asJUnit has a suite for each step, with a case for the step and one for each finding. An error is a failure, and the rest is
// only told.
func asJUnit(report deprecation.Report) (all output.Suites) {
	for _, s := range steps(report) {
		suite := output.Suite{Name: s.title()}
		suite.Add(output.Case{Class: s.title(), Name: "CRDs"})
		for _, f := range s.findings {
			one := output.Case{Class: f.CRD, Name: f.Rule + ": " + subject(f)}
			if f.Severity == finding.Error {
				one.Failure = &output.Problem{Message: f.Why, Text: f.Remediation}
			} else {
				one.Out = fmt.Sprintf("%s: %s\n%s%s", f.Severity, f.Why, f.Remediation, f.Acknowledged)
			}
			suite.Add(one)
		}
		all.Suites = append(all.Suites, suite)
	}
	return all
}
