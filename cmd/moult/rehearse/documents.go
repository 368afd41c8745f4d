package rehearse

import (
	"encoding/xml"
	"fmt"
	"strings"

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

// suites, testSuite and testCase are JUnit's XML as CI systems read it. What holds something up is a failure, what is not known is an
// error, and what is only told is printed by a case that passes.
type suites struct {
	XMLName xml.Name    `xml:"testsuites"`
	Suites  []testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *problem `xml:"failure,omitempty"`
	Error   *problem `xml:"error,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// asJUnit has a suite for each CRD, with a case for all of its objects and one for all that is said of some.
func asJUnit(report conversion.Report) (string, error) {
	all := suites{}
	for _, of := range report.CRDs {
		s := testSuite{Name: title(of), Cases: []testCase{{Class: of.CRD, Name: "objects", Out: subtitle(of)}}}
		for _, e := range entries(of) {
			one, say := testCase{Class: of.CRD, Name: e.Say + ": " + e.What}, &problem{Message: e.Say + ": " + e.what(), Text: e.objects()}
			switch {
			case e.Fails:
				one.Failure = say
				s.Failures++
			case e.Say == notKnown:
				one.Error = say
				s.Errors++
			default:
				one.Out = say.Message + "\n" + say.Text
			}
			s.Cases = append(s.Cases, one)
		}
		s.Tests = len(s.Cases)
		all.Suites = append(all.Suites, s)
	}
	if len(report.Unused) > 0 {
		s := testSuite{Name: "accepted losses"}
		for _, a := range report.Unused {
			s.Cases = append(s.Cases, testCase{Class: a.CRD, Name: "accepted and not found: " + a.Path, Out: a.Reason})
		}
		s.Tests = len(s.Cases)
		all.Suites = append(all.Suites, s)
	}
	content, err := xml.MarshalIndent(all, "", "  ")
	return xml.Header + string(content) + "\n", err
}
