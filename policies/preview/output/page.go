package output

import (
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// PageOptions are what a page needs to know beyond the Report.
type PageOptions struct {
	// Links is where files can be read; without it, links are relative, for a page at the root of the repository.
	Links Links
}

var (
	//go:embed page.html.tmpl
	pageSource string
	//go:embed page.css
	pageStyle string

	// In the template, names go through plain and sentences through prose; html/template escapes both.
	pageFunctions = template.FuncMap{
		"plain": plain, "prose": func(s string) prose { return proseOf(capital(plain(s))) },
		"severity": badgeOfSeverity, "verdict": badgeOfVerdict,
		"anchor": anchor, "byVersion": byVersion, "versions": versionPairs, "facts": shapeFacts,
		"clusterName": clusterName, "rewriter": rewriter,
	}
	pageTemplate = template.Must(template.New("page").Funcs(pageFunctions).Parse(pageSource))
)

// page is what the template shows.
type page struct {
	preview.Report
	PageOptions
	Style template.CSS
	// StyleHash lets the page's policy allow this style and nothing else.
	StyleHash             string
	Scope, Nothing, Tally string
	Matrix                matrix
	Tasks                 []task
	// Gravest are the CRDs, the gravest first.
	Gravest []preview.ChangedCRD
}

// HTML writes one page that holds all of the report and needs nothing else: no network, no script.
func HTML(w io.Writer, r preview.Report, o PageOptions) error {
	sum := sha256.Sum256([]byte(pageStyle))
	p := page{
		Report: r, PageOptions: o,
		Style: template.CSS(pageStyle), StyleHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
		Scope: scope(r), Nothing: nothingToDo(r), Tally: tally(severitiesOf(r.Findings)),
		Matrix: newMatrix(r), Tasks: tasks(r), Gravest: gravestFirst(r),
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("write the preview of %s and %s as a page: %w", r.Base, r.Head, err)
	}
	return nil
}

// Title is the verdict.
func (p page) Title() string { return capital(badgeOfVerdict(p.Verdict).Word) }

// Waves are a cluster's roll-out.
func (p page) Waves(c preview.Cluster) []wave { return timeline(p.Report, c) }

// pagePlace is where something stands, and how to get there.
type pagePlace struct{ Text, Link string }

// At is a place for the template.
func (p page) At(place finding.Place) pagePlace {
	return pagePlace{Text: plain(place.String()), Link: p.Links.to(place)}
}

// prose is a sentence in which names and commands stand in backquotes.
type prose []fragment

// fragment is a part of prose, in the order in which they are read.
type fragment struct {
	Text string
	Code bool
}

var quoted = regexp.MustCompile("`[^`]+`")

// proseOf is text of somebody else's; only html/template makes it harmless.
func proseOf(s string) prose {
	s = plain(s)
	var all prose
	for s != "" {
		at := quoted.FindStringIndex(s)
		if at == nil {
			return append(all, fragment{Text: s})
		}
		if at[0] > 0 {
			all = append(all, fragment{Text: s[:at[0]]})
		}
		all = append(all, fragment{Text: strings.Trim(s[at[0]:at[1]], "`"), Code: true})
		s = s[at[1]:]
	}
	return all
}

func prosesOf(said []string) []prose {
	return words.Of(said, proseOf)
}
