package output

import (
	"crypto/sha256"
	_ "embed" // the schema
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
)

// Schema is the JSON schema of what JSON writes. It lists every field and allows no other.
//
//go:embed report.schema.json
var Schema []byte

// JSON is the whole report, as Schema describes it.
func JSON(r preview.Report) ([]byte, error) { return indented(r, r, "JSON") }

func indented(r preview.Report, document any, format string) ([]byte, error) {
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the preview of %s and %s as %s: %w", r.Base, r.Head, format, err)
	}
	return append(content, '\n'), nil
}

// issue is one entry of GitLab's code quality report.
type issue struct {
	Description string   `json:"description"`
	CheckName   string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// CodeQuality is a code quality report for GitLab: a JSON array with the same remarks as Annotations. GitLab wants a path
// for each; what has none stands at its CRD, at its cluster's entry point or at the root of the repository.
func CodeQuality(r preview.Report) ([]byte, error) {
	issues := []issue{}
	seen := map[string]int{}
	for _, m := range remarks(r) {
		place := located(r, m)
		one := issue{Description: plain(m.said), CheckName: plain(m.title), Severity: badgeOfSeverity(m.severity).GitLab}
		one.Location.Path, one.Location.Lines.Begin = place.File, max(1, place.Line)
		// GitLab finds by it what a merge request brings and what it fixes. So it is not of the line, since a remark
		// that moves with its lines is still the same, and not of the text, which has times and counts.
		words := strings.Join([]string{m.title, m.crd, m.cluster, place.File, m.same}, "\x00")
		one.Fingerprint = fingerprint(fmt.Sprintf("%s\x00%d", words, seen[words]))
		seen[words]++
		issues = append(issues, one)
	}
	return indented(r, issues, "a code quality report")
}

func located(r preview.Report, m remark) finding.Place {
	if m.place.File != "" {
		return m.place
	}
	i := slices.IndexFunc(r.CRDs, func(c preview.ChangedCRD) bool { return c.Name == m.crd && c.Place.File != "" })
	switch {
	case i >= 0:
		return r.CRDs[i].Place
	case m.cluster != "":
		return finding.Place{File: path.Clean(m.cluster)}
	}
	return finding.Place{File: "."}
}

func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
