package test

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/conversion"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/roundtrip"
	"github.com/moult-dev/moult/policies/words"
)

// findings are what is printed of a report.
func findings(report roundtrip.Report) output.Findings {
	all := output.Findings{Heading: "Conversion, there and back", Sentence: sentence(report), Rest: "beside the CRDs", Unknown: report.Unknown, Unused: report.Unused}
	for _, of := range report.CRDs {
		s := output.Section{
			CRD: of.CRD, Suite: of.CRD, All: of.Title(), Notes: missed(of),
			Title:    fmt.Sprintf("%s, served at %s, stored at %s: %s", of.CRD, strings.Join(of.Served, ", "), of.Storage, of.Title()),
			Markdown: fmt.Sprintf("**%s**, stored at %s: %s", preview.CodeSpan(of.CRD, 100), preview.CodeSpan(of.Storage, 100), of.Title()),
		}
		for _, f := range slices.Concat(of.Findings, of.Unknown) {
			s.Entries = append(s.Entries, output.Entry{
				Say: say(f), Path: f.What, What: what(f), Fails: f.Fails(), Unknown: f.Kind == "", Objects: f.Objects, Examples: f.Examples, Smallest: smallest(f),
			})
		}
		all.Sections = append(all.Sections, s)
	}
	return all
}

// say is what is found, and on which way.
func say(f roundtrip.Group) string {
	said := "not known"
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

// missed names the fields that no made object has.
func missed(of roundtrip.CRDReport) (all []string) {
	for _, version := range of.Served {
		if paths := of.Missed[version]; len(paths) > 0 {
			all = append(all, fmt.Sprintf("no made object of %s has %s: what chance gave them was never valid; give them values in %s", version, words.Line(words.Few(paths, 5)), roundtrip.Settings))
		}
	}
	return all
}
