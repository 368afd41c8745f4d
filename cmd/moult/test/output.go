package test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/roundtrip"
	"github.com/moult-dev/moult/policies/words"
)

const notKnown = "not known"

// say is what is found, and on which way.
func say(f roundtrip.Group) string {
	said := notKnown
	if f.Kind != "" {
		said = f.Kind.String()
	}
	switch {
	case f.Via != "":
		said += fmt.Sprintf(", %s → %s → %s", f.From, f.Via, f.From)
	case f.From != "":
		said += ", " + f.From
	}
	if f.Accepted != "" {
		said += ", and accepted: " + f.Accepted
	}
	return words.Line(said)
}

// what is the path or the sentence, with the values, in one line.
func what(f roundtrip.Group) string {
	said := f.What
	if f.Says != "" {
		said += ": " + f.Says
	}
	was, is := value(f.Was), value(f.Is)
	switch {
	case was != "" && is != "":
		said += fmt.Sprintf(" (%s became %s)", was, is)
	case was != "":
		said += fmt.Sprintf(" (was %s)", was)
	case is != "":
		said += fmt.Sprintf(" (is %s)", is)
	}
	return words.Line(said)
}

// value is short.
func value(v any) string {
	if v == nil {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return words.Clip(string(raw), 60)
}

// objects are how many there are, and some of them.
func objects(f roundtrip.Group) string {
	if len(f.Examples) == 0 {
		return ""
	}
	more := ""
	if rest := f.Objects - int64(len(f.Examples)); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return words.Count(f.Objects, "object") + ": " + words.Line(strings.Join(f.Examples, ", ")) + more
}

// smallest is the counter-example, as a manifest.
func smallest(f roundtrip.Group) string {
	if f.Smallest == nil {
		return ""
	}
	raw, err := yaml.Marshal(f.Smallest)
	if err != nil {
		return ""
	}
	return string(raw)
}

func title(of roundtrip.CRDReport) string {
	return fmt.Sprintf("%s, served at %s, stored at %s: %s", of.CRD, strings.Join(of.Served, ", "), of.Storage, of.Title())
}

func asText(report roundtrip.Report) string {
	var content strings.Builder
	for _, of := range report.CRDs {
		fmt.Fprintf(&content, "%s\n", title(of))
		shown, left := 0, 0
		for _, list := range [][]roundtrip.Group{of.Findings, of.Unknown} {
			for _, f := range list {
				fmt.Fprintf(&content, "  %s: %s\n", say(f), what(f))
				if named := objects(f); named != "" {
					fmt.Fprintf(&content, "    %s\n", named)
				}
				switch manifest := smallest(f); {
				case manifest == "":
				case shown < mostShown:
					shown++
					fmt.Fprintf(&content, "    the smallest:\n%s", indented(manifest))
				default:
					left++
				}
			}
		}
		if left > 0 {
			fmt.Fprintf(&content, "  -o yaml prints the smallest objects of %d more\n", left)
		}
		for _, said := range missed(of) {
			fmt.Fprintf(&content, "  %s\n", said)
		}
	}
	for _, why := range report.Unknown {
		fmt.Fprintf(&content, "%s: %s\n", notKnown, words.Line(why))
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&content, "accepted and not found: %s of %s (%s)\n", a.Path, a.CRD, a.Reason)
	}
	fmt.Fprintf(&content, "%s\n", sentence(report))
	return content.String()
}

func sentence(report roundtrip.Report) string {
	switch report.Verdict {
	case conversion.NotKept:
		return "the conversion does not keep everything: fix it, or accept the differences with .after_roundtrip or --accept"
	case conversion.NotKnown:
		return "not all is known; nothing is lost of what could be looked at"
	case conversion.Kept:
	}
	return "nothing is lost"
}

const (
	// whatWidth and exampleWidth are the most characters of somebody else's text in Markdown, and mostRows how many rows a table has.
	whatWidth, exampleWidth = 300, 100
	mostRows                = 50
	// mostShown is how many counter-examples of a CRD are shown.
	mostShown = 5
)

// missed names the fields that no made object has.
func missed(of roundtrip.CRDReport) (all []string) {
	for _, version := range of.Served {
		if paths := of.Missed[version]; len(paths) > 0 {
			all = append(all, fmt.Sprintf("no made object of %s has %s: what chance gave them was never valid; give them values in %s", version, words.Line(words.Few(paths, 5)), roundtrip.Settings))
		}
	}
	return all
}

// asMarkdown is a comment on a pull request: a table for each CRD of which something is said.
func asMarkdown(report roundtrip.Report) string {
	var content strings.Builder
	said := sentence(report)
	fmt.Fprintf(&content, "### Conversion, there and back\n\n%s.\n", strings.ToUpper(said[:1])+said[1:])
	for _, of := range report.CRDs {
		fmt.Fprintf(&content, "\n**%s**, stored at %s: %s\n", preview.CodeSpan(of.CRD, exampleWidth), preview.CodeSpan(of.Storage, exampleWidth), of.Title())
		all := append(append([]roundtrip.Group{}, of.Findings...), of.Unknown...)
		if len(all) > 0 {
			content.WriteString("\n| | what | objects | for example |\n|---|---|---:|---|\n")
		}
		for i, f := range all {
			if i == mostRows {
				fmt.Fprintf(&content, "| | and %d more | | |\n", len(all)-i)
				break
			}
			said := preview.CodeSpan(say(f), whatWidth)
			if f.Fails() {
				said = "**" + said + "**"
			}
			named := words.Of(f.Examples, func(name string) string { return preview.CodeSpan(name, exampleWidth) })
			fmt.Fprintf(&content, "| %s | %s | %d | %s |\n", said, preview.CodeSpan(what(f), whatWidth), f.Objects, strings.Join(named, ", "))
		}
	}
	for _, of := range report.CRDs {
		shown := 0
		for _, f := range of.Findings {
			if manifest := smallest(f); manifest != "" && f.Fails() && shown < mostShown {
				shown++
				manifest = strings.ReplaceAll(manifest, "`", "'") // it stays in its block
				fmt.Fprintf(&content, "\nThe smallest that shows it: %s\n\n```yaml\n%s```\n", preview.CodeSpan(say(f)+": "+f.What, whatWidth), manifest)
			}
		}
		for _, said := range missed(of) {
			fmt.Fprintf(&content, "\n%s\n", preview.CodeSpan(of.CRD+": "+said, whatWidth))
		}
	}
	for _, why := range report.Unknown {
		fmt.Fprintf(&content, "\nNot known: %s\n", preview.CodeSpan(words.Line(why), whatWidth))
	}
	for _, a := range report.Unused {
		fmt.Fprintf(&content, "\nAccepted and not found: %s of %s (%s)\n",
			preview.CodeSpan(a.Path, whatWidth), preview.CodeSpan(a.CRD, exampleWidth), preview.CodeSpan(a.Reason, whatWidth))
	}
	return content.String()
}

// asJUnit has a suite for each CRD, with a case for all of its objects and one for each finding.
func asJUnit(report roundtrip.Report) (all output.Suites) {
	for _, of := range report.CRDs {
		s := output.Suite{Name: of.CRD}
		s.Add(output.Case{Class: of.CRD, Name: "objects", Out: strings.Join(append([]string{of.Title()}, missed(of)...), "\n")})
		for _, f := range append(append([]roundtrip.Group{}, of.Findings...), of.Unknown...) {
			one := output.Case{Class: of.CRD, Name: say(f) + ": " + words.Line(f.What)}
			problem := &output.Problem{Message: say(f) + ": " + what(f), Text: objects(f) + "\n" + smallest(f)}
			switch {
			case f.Kind == "":
				one.Error = problem
			case f.Fails():
				one.Failure = problem
			default:
				one.Out = problem.Message + "\n" + problem.Text
			}
			s.Add(one)
		}
		all.Suites = append(all.Suites, s)
	}
	if len(report.Unknown)+len(report.Unused) > 0 {
		s := output.Suite{Name: "beside the CRDs"}
		for _, why := range report.Unknown {
			s.Add(output.Case{Class: s.Name, Name: words.Line(why), Error: &output.Problem{Message: words.Line(why)}})
		}
		for _, a := range report.Unused {
			s.Add(output.Case{Class: a.CRD, Name: "accepted and not found: " + a.Path, Out: a.Reason})
		}
		all.Suites = append(all.Suites, s)
	}
	return all
}

func indented(manifest string) string {
	var content strings.Builder
	for l := range strings.Lines(manifest) {
		content.WriteString("      " + l)
	}
	return content.String()
}
