package versions

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/moult-dev/moult/clusters/releases"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/output"
	"github.com/moult-dev/moult/policies/deprecation"
	preview "github.com/moult-dev/moult/policies/preview/output"
	"github.com/moult-dev/moult/policies/words"
)

// promotion prints the checklist of --promote.
func (v *command) promotion(source *releases.Source) error {
	if len(source.Releases) == 0 {
		return fmt.Errorf("no release has CRDs: %s", strings.Join(source.Notes, "; "))
	}
	newest := source.Releases[len(source.Releases)-1]
	all := deprecation.Promote(deprecation.PromotionInput{
		Releases: source.History(), Earlier: source.Earlier, Version: v.promote, CRD: v.crd, SeenTo: v.seenTo, Files: releases.Files(newest), LabelKey: v.Factory.LabelKey,
	})
	all.Notes = append(all.Notes, source.Notes...)
	if len(all.CRDs) == 0 {
		return fmt.Errorf("%s of %s has %s beside an older version; --promote names one that is in spec.versions: %s",
			cmp.Or(v.crd, "no CRD"), newest.Name, v.promote, cmp.Or(strings.Join(all.Notes, "; "), "it has "+words.Count(len(newest.CRDs), "CRD")))
	}
	report := output.For(v.report, output.Report[deprecation.Promotions]{Text: promotionText, Markdown: promotionMarkdown, JUnit: promotionJUnit})
	if err := report.Print(v.Out, all); err != nil {
		return err
	}
	if missing := count(all, deprecation.NotShown); missing > 0 {
		return cli.NotDone{Sentence: fmt.Sprintf("%d of the criteria %s not shown; which, and how to show it, is above", missing, words.Agree(missing, "is", "are"))}
	}
	if unknown := count(all, deprecation.NotKnown); unknown > 0 {
		return cli.Ended{Code: cli.ExitUnknown, Err: fmt.Errorf("%d of the criteria %s not to be known from a repository; how to see to each is above, and --seen-to says that you have", unknown, words.Agree(unknown, "is", "are"))}
	}
	return unread(source)
}

// count is how many criteria of all CRDs are so.
func count(all deprecation.Promotions, state deprecation.State) (n int) {
	for _, p := range all.CRDs {
		for _, c := range p.Criteria {
			if c.State == state {
				n++
			}
		}
	}
	return n
}

func promotionTitle(p deprecation.Promotion) string { return p.CRD + "  " + p.From + " → " + p.To }

func promotionSentence(all deprecation.Promotions) string {
	return fmt.Sprintf("%s of %s: %d shown, %d not shown, %d not to be known", words.Count(len(all.CRDs), "CRD"), all.Release,
		count(all, deprecation.Shown), count(all, deprecation.NotShown), count(all, deprecation.NotKnown))
}

func promotionText(all deprecation.Promotions) string {
	var content strings.Builder
	for _, p := range all.CRDs {
		fmt.Fprintf(&content, "%s\n", promotionTitle(p))
		for _, c := range p.Criteria {
			fmt.Fprintf(&content, "  %s: %s\n    %s\n    $ %s\n", c.State, c.Name, c.Seen, c.Command)
		}
		content.WriteString("\n")
	}
	for _, note := range all.Notes {
		fmt.Fprintf(&content, "note: %s\n", note)
	}
	fmt.Fprintf(&content, "%s\n", promotionSentence(all))
	return content.String()
}

// promotionMarkdown is a checklist for an issue or a pull request.
func promotionMarkdown(all deprecation.Promotions) string {
	var content strings.Builder
	fmt.Fprintf(&content, "### Promotion\n\n%s.\n", preview.CodeSpan(promotionSentence(all), whyWidth))
	for _, p := range all.CRDs {
		fmt.Fprintf(&content, "\n**%s**\n\n", preview.CodeSpan(promotionTitle(p), nameWidth))
		for _, c := range p.Criteria {
			box := " "
			if c.State == deprecation.Shown {
				box = "x"
			}
			fmt.Fprintf(&content, "- [%s] %s (%s): %s<br>%s\n", box, c.Name, c.State, preview.CodeSpan(c.Seen, whyWidth), preview.CodeSpan(c.Command, whyWidth))
		}
	}
	for _, note := range all.Notes {
		fmt.Fprintf(&content, "\nNote: %s\n", preview.CodeSpan(note, whyWidth))
	}
	return content.String()
}

// promotionJUnit has a suite for each CRD, with a case for each criterion.
func promotionJUnit(all deprecation.Promotions) (suites output.Suites) {
	for _, p := range all.CRDs {
		suite := output.Suite{Name: promotionTitle(p)}
		for _, c := range p.Criteria {
			one := output.Case{Class: p.CRD, Name: c.Name}
			if c.State == deprecation.NotShown {
				one.Failure = &output.Problem{Message: c.Seen, Text: c.Command}
			} else {
				one.Out = fmt.Sprintf("%s: %s\n%s", c.State, c.Seen, c.Command)
			}
			suite.Add(one)
		}
		suites.Suites = append(suites.Suites, suite)
	}
	return suites
}
