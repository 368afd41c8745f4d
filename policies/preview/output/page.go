package output

import (
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/moult-dev/moult/policies/preview"
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

	pageTemplate = template.Must(template.New("page").Parse(pageSource))
)

// page is what the template shows. All text in it is plain; html/template escapes it.
type page struct {
	Style template.CSS
	// StyleHash lets the page's policy allow this style and nothing else.
	StyleHash string
	Look      face
	Title     string
	Sentence  prose
	Base      string
	Head      string
	Scope     string
	Format    string
	Matrix    matrix
	Tasks     []pageTask
	Nothing   string
	CRDs      []pageCRD
	Timelines []pageTimeline
	Findings  []pageFinding
	Tally     string
	Manifests []pageManifest
}

// face is a look for the template.
type face struct{ Mark, Word, Class string }

func (l look) face() face { return face{Mark: l.mark, Word: l.word, Class: l.class} }

// HTML writes one page that holds all of the report and needs nothing else: no network, no script.
func HTML(w io.Writer, r preview.Report, o PageOptions) error {
	sum := sha256.Sum256([]byte(pageStyle))
	p := page{
		Style:     template.CSS(pageStyle),
		StyleHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
		Look:      lookOfVerdict(r.Verdict).face(),
		Title:     capital(lookOfVerdict(r.Verdict).word),
		Sentence:  proseOf(capital(plain(r.Sentence))),
		Base:      plain(r.Base),
		Head:      plain(r.Head),
		Scope:     scope(r),
		Format:    plain(r.APIVersion),
		Matrix:    newMatrix(r),
		Tasks:     o.tasks(r),
		Nothing:   nothingToDo(r),
		CRDs:      o.crds(r),
		Timelines: o.timelines(r),
		Findings:  o.findings(r),
		Tally:     tally(severitiesOf(r.Findings)),
		Manifests: o.manifests(r),
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("write the preview of %s and %s as a page: %w", r.Base, r.Head, err)
	}
	return nil
}
