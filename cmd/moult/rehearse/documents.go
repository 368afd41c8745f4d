package rehearse

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// whatWidth and exampleWidth are the most characters of somebody else's text in Markdown.
	whatWidth, exampleWidth = 300, 100
	// mostRows is how many rows a table has: a comment on a pull request is short.
	mostRows = 50
)

// asMarkdown is a comment on a pull request: a table for each CRD of which something is said.
func asMarkdown(report conversion.Report) string {
	var content strings.Builder
	fmt.Fprintf(&content, "### Rehearsal of the new CRDs\n\n%s.\n", upper(sentence(report)))
	for _, of := range report.CRDs {
		fmt.Fprintf(&content, "\n**%s**: %s\n", preview.CodeSpan(title(of), exampleWidth), subtitle(of))
		all := entries(of)
		if len(all) > 0 {
			content.WriteString("\n| | what | objects | for example |\n|---|---|---:|---|\n")
		}
		for i, e := range all {
			if i == mostRows {
				fmt.Fprintf(&content, "| | and %d more | | |\n", len(all)-i)
				break
			}
			say := preview.CodeSpan(e.Say, whatWidth)
			if e.Accepted == "" {
				say = e.Say // our own words
			}
			if e.Fails {
				say = "**" + say + "**"
			}
			examples := words.Of(e.Examples, func(name string) string { return preview.CodeSpan(name, exampleWidth) })
			fmt.Fprintf(&content, "| %s | %s | %d | %s |\n", say, preview.CodeSpan(e.what(), whatWidth), e.Objects, strings.Join(examples, ", "))
		}
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&content, "\nAccepted and not found: %s of %s (%s)\n",
			preview.CodeSpan(a.Path, whatWidth), preview.CodeSpan(a.CRD, exampleWidth), preview.CodeSpan(a.Reason, whatWidth))
	}
	return content.String()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// asJUnit has a suite for each CRD, with a case for all of its objects and one for all that is said of some.
func asJUnit(report conversion.Report) (all output.Suites) {
	for _, of := range report.CRDs {
		s := output.Suite{Name: title(of)}
		s.Add(output.Case{Class: of.CRD, Name: "objects", Out: subtitle(of)})
		for _, e := range entries(of) {
			one, say := output.Case{Class: of.CRD, Name: e.Say + ": " + e.What}, &output.Problem{Message: e.Say + ": " + e.what(), Text: e.objects()}
			switch {
			case e.Fails:
				one.Failure = say
			case e.Say == notKnown:
				one.Error = say
			default:
				one.Out = say.Message + "\n" + say.Text
			}
			s.Add(one)
		}
		all.Suites = append(all.Suites, s)
	}
	if len(report.Unused) > 0 {
		s := output.Suite{Name: "accepted losses"}
		for _, a := range report.Unused {
			s.Add(output.Case{Class: a.CRD, Name: "accepted and not found: " + a.Path, Out: a.Reason})
		}
		all.Suites = append(all.Suites, s)
	}
	return all
}
