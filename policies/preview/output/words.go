package output

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// badge is how a verdict or a severity is shown. The Symbol never stands without the Word; Mark is the symbol where its
// colour is ours to choose.
type badge struct {
	Symbol, Mark, Word string
	// Predicate is what a title says of a CRD with the verdict.
	Predicate string
	// Class is the same in CSS.
	Class string
	// Color is the parameter of a terminal's SGR sequence.
	Color string
	// GitHub and GitLab are what pipelines call a severity.
	GitHub, GitLab string
}

var (
	errorBadge   = badge{Symbol: "⛔", Mark: "✕", Word: "error", Class: "blocked", Color: "31", GitHub: "error", GitLab: "critical"}
	warningBadge = badge{Symbol: "⚠️", Mark: "!", Word: "warning", Class: "warned", Color: "33", GitHub: "warning", GitLab: "minor"}
)

func badgeOfVerdict(v preview.Verdict) badge {
	switch v {
	case preview.Safe:
		return badge{Symbol: "✅", Mark: "✓", Word: "safe", Predicate: "is safe", Class: "safe", Color: "32"}
	case preview.Warned:
		return warningBadge.saying("warnings", "has warnings")
	case preview.Blocked:
		return errorBadge.saying("blocked", "is blocked")
	case preview.Unknown:
	}
	return badge{Symbol: "❔", Mark: "?", Word: "unknown", Predicate: "is not known to be safe", Class: "unknown", Color: "35"} // what is not understood is not safe
}

func badgeOfSeverity(s finding.Severity) badge {
	switch s {
	case finding.Error:
		return errorBadge
	case finding.Warning:
		return warningBadge
	case finding.Info:
	}
	return badge{Symbol: "ℹ️", Mark: "i", Word: "info", Class: "info", Color: "36", GitHub: "notice", GitLab: "info"}
}

func (b badge) saying(word, predicate string) badge {
	b.Word, b.Predicate = word, predicate
	return b
}

// plain is text of somebody else's in one line: no control characters, and none that change the direction of what follows
// or have no width.
func plain(s string) string {
	if isPlain(s) {
		return s // nearly always, and reports can be long
	}
	return strings.Join(strings.Fields(clean(s)), " ")
}

// isPlain reports whether text is printable ASCII with single spaces between words.
func isPlain(s string) bool {
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1 || s[i-1] == ' '
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && edge {
			return false
		}
	}
	return true
}

// clean is plain with its line breaks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r <= '~', r == '\n', r == '\r', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// clip cuts a line to at most so many characters.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most-1])) + "…"
}

// capital is a sentence with a capital letter at its beginning, unless it begins with a name such as widgets.example.com.
func capital(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(s, " ")
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != ',' && r != ':' }) {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// count is "1 cluster" or "3 clusters".
func count[N int | int64](n N, noun string) string {
	return grouped(int64(n)) + " " + words.Agree(n, noun, noun+"s")
}

// grouped writes 1204 as 1,204.
func grouped(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// tally counts severities, for example "2 errors, 1 warning".
func tally(severities []finding.Severity) string {
	var parts []string
	for _, s := range []finding.Severity{finding.Error, finding.Warning, finding.Info} {
		n := 0
		for _, other := range severities {
			if badgeOfSeverity(other) == badgeOfSeverity(s) {
				n++
			}
		}
		switch {
		case n > 0 && s == finding.Info:
			parts = append(parts, fmt.Sprintf("%d for information", n))
		case n > 0:
			parts = append(parts, count(n, string(s)))
		}
	}
	return strings.Join(parts, ", ")
}

func severitiesOf(findings []finding.Finding) []finding.Severity {
	return words.Of(findings, func(f finding.Finding) finding.Severity { return f.Severity })
}

// clusterName is how a cluster is called; there is one without a name when no entry point was given.
func clusterName(name string) string {
	return cmp.Or(plain(name), "(no cluster named)")
}

// scope says what was looked at and counts all that is shown, for example
// "2 changed CRDs, seen from 3 clusters; changes: 2 warnings; all else: 1 error". All else are the findings and what stands
// in the way in clusters.
func scope(r preview.Report) string {
	said := "no CRD changes"
	if len(r.CRDs) == 0 && len(r.Findings) == 0 {
		return said
	}
	if r.Verdict == preview.Unknown {
		said = "no change in what could be looked at"
	}
	if len(r.CRDs) > 0 {
		said = count(len(r.CRDs), "changed CRD")
	}
	if n := len(columns(r)); n > 0 {
		said += ", seen from " + count(n, "cluster")
	}
	var changes []finding.Severity
	for _, crd := range r.CRDs {
		changes = append(changes, severitiesOfChanges(crd.Changes)...)
	}
	others := severitiesOf(r.Findings)
	for _, row := range rows(r) {
		others = append(others, row.severities(r.Findings)...)
	}
	if len(changes) > 0 {
		said += "; changes: " + tally(changes)
	}
	if len(others) > 0 {
		said += "; all else: " + tally(others)
	}
	return said
}
