package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
	"github.com/moult-dev/moult/policies/verdict"
)

// texts are what text is drawn from: ordinary, hostile, long.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{
		"", "v1", "v1alpha1", "widgets.example.com", "clusters/production", attack, "|", "`", "``", "<details>", "</details>", "<!--", "-->",
		"\n", "\r\n\r\n", "@team", "# x", "1. x", "$$", "\\", "\\|", "[x](y)", strings.Repeat("$", 500), strings.Repeat("`|<", 200), strings.Repeat("長い", 250),
	}),
	rapid.String(),
	rapid.Custom(func(t *rapid.T) string {
		unit := rapid.SampledFrom([]string{"a", "$", "|", "名", "https://x.example/ ", "@a ", ":a:"}).Draw(t, "unit")
		return strings.Repeat(unit, rapid.IntRange(1, 300).Draw(t, "times"))
	}),
)

// longest is how long lists are; those of CRDs and findings are sometimes a hundred times as long.
const longest = 3

// reports are any at all, with the values of the closed sets.
var reports = rapid.Custom(drawReport)

func drawReport(t *rapid.T) preview.Report {
	value := reflect.New(reflect.TypeFor[preview.Report]()).Elem()
	draw(t, value, "report")
	r := value.Interface().(preview.Report)
	r.APIVersion, r.Kind = "preview.moult.dev/v1alpha1", "Report"
	if len(r.CRDs) > 0 && rapid.IntRange(0, 7).Draw(t, "many CRDs at 7") == 7 {
		for range rapid.IntRange(60, 160).Draw(t, "CRDs") {
			r.CRDs = append(r.CRDs, r.CRDs[0])
		}
	}
	if len(r.Findings) > 0 && rapid.IntRange(0, 7).Draw(t, "many findings at 7") == 7 {
		for range rapid.IntRange(60, 160).Draw(t, "findings") {
			r.Findings = append(r.Findings, r.Findings[0])
		}
	}
	return r
}

// closed are the values of the closed sets.
var closed = map[reflect.Type][]string{
	reflect.TypeFor[preview.Verdict]():  {"safe", "warnings", "unknown", "blocked"},
	reflect.TypeFor[verdict.State]():    {"Ready", "Progressing", "Stalled"},
	reflect.TypeFor[finding.Severity](): {"error", "warning", "info"},
	reflect.TypeFor[rollout.Role]():     {"gate", "removal", "flip", "changed"},
}

// draw fills a value of any type that a Report is made of.
func draw(t *rapid.T, v reflect.Value, label string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, label), 0)))
		return
	case closed[v.Type()] != nil:
		v.SetString(rapid.SampledFrom(closed[v.Type()]).Draw(t, label))
		return
	}
	switch v.Kind() { //nolint:exhaustive // the default fails for those a Report has none of
	case reflect.String:
		v.SetString(texts.Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-2, 2_000_000).Draw(t, label))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, label) {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), label)
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, longest).Draw(t, label); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				draw(t, v.Index(i), label)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i), v.Type().Field(i).Name)
		}
	default:
		t.Fatalf("a Report has got a field of kind %s: say here how to draw it", v.Kind())
	}
}

var (
	fields = regexp.MustCompile(`^\|(?: [^|\n]* \|){4,5}$`)
	ruled  = regexp.MustCompile(`^\|(?:---\|){4,5}$`)
	anyTag = regexp.MustCompile(`<[^>]*>`)
	// ours are all the tags that a comment may hold; links in angle brackets are ours, too.
	ours = regexp.MustCompile(`^<(?:/?details|/?summary|/?code|/?sub|/?span|br|https?://[^ ]*|!-- moult preview(?:: [A-Za-z0-9._/ -]*| has nothing to say) --)>$`)
)

// Whatever a report holds, its comment can be posted, found again and read.
func TestAnyReportMakesACommentThatCanBePosted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reports.Draw(t, "report")
		o := MarkdownOptions{Name: texts.Draw(t, "name"), Full: texts.Draw(t, "full"), Links: rapid.SampledFrom([]Links{"", links}).Draw(t, "links")}
		expectAComment(gomega.NewWithT(t), r, o)
	})
}

// However much changes, a person reads one screen.
func TestAMonstrousChangeIsAShortComment(t *testing.T) {
	var r preview.Report
	fill(reflect.ValueOf(&r).Elem(), "v1")
	one, f, m, c := r.CRDs[0], r.Findings[0], r.Manifests[0], r.Clusters[0]
	for i := range 1000 {
		one.Name, f.Why, m.File, c.Name = fmt.Sprintf("w%d.example.com", i), fmt.Sprintf("reason %d", i), fmt.Sprintf("f%d.yaml", i), fmt.Sprintf("c%d", i)
		one.Changes = slices.Repeat(one.Changes[:3], 100)
		for j := range one.Changes {
			one.Changes[j].Field = fmt.Sprintf("spec.f%d", j)
		}
		r.CRDs, r.Findings, r.Manifests, r.Clusters = append(r.CRDs, one), append(r.Findings, f), append(r.Manifests, m), append(r.Clusters, c)
	}
	g := gomega.NewWithT(t)
	expectAComment(g, r, MarkdownOptions{Full: "https://ci.example.com/report.html"})
	said := Markdown(r, MarkdownOptions{Full: "https://ci.example.com/report.html"})
	g.Expect(said).To(gomega.ContainSubstring("that do not fit here; all are in <https://ci.example.com/report.html>"))
	g.Expect(said).To(gomega.ContainSubstring("Left out, as a comment may not be longer: "))
}

// The worst there is: every text is long and grows when it is escaped.
func TestTextThatGrowsStillFits(t *testing.T) {
	for _, unit := range []string{"$", "|", "`", "<", "@", "名", "[", "https://x.example/ ", ":a:", "\\", "a"} {
		t.Run(unit, func(t *testing.T) {
			long := strings.Repeat(unit, 400)
			var r preview.Report
			fill(reflect.ValueOf(&r).Elem(), long)
			for range 12 {
				r.CRDs, r.Findings, r.Manifests, r.Clusters = append(r.CRDs, r.CRDs[0]), append(r.Findings, r.Findings[0]), append(r.Manifests, r.Manifests[0]), append(r.Clusters, r.Clusters[0])
			}
			expectAComment(gomega.NewWithT(t), r, MarkdownOptions{Name: long, Full: long, Links: links})
		})
	}
}

// fill puts a text into every string, and three elements into every list.
func fill(v reflect.Value, text string) {
	switch v.Kind() { //nolint:exhaustive // only what holds text matters
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), text)
			}
		}
	default:
	}
}

func expectAComment(g *gomega.WithT, r preview.Report, o MarkdownOptions) {
	said := Markdown(r, o)
	g.Expect(len(said)).To(gomega.BeNumerically("<", 65_000))
	lines := strings.Split(said, "\n")
	g.Expect(lines[0]).To(gomega.Equal(Marker(o.Name)))
	if lines[1] == Quiet {
		g.Expect(r.Verdict).To(gomega.Equal(preview.Safe))
		lines = slices.Delete(lines, 1, 2)
		said = strings.Join(lines, "\n")
	}
	g.Expect(strings.Count(said, "<!--")).To(gomega.Equal(1), "the marker is the only comment")
	b := badgeOfVerdict(r.Verdict)
	g.Expect(lines[1]).To(gomega.HavePrefix("## " + b.Symbol + " " + capital(b.Word)))
	g.Expect(strings.Count(said, "<details>")).To(gomega.Equal(strings.Count(said, "</details>")))
	for _, tag := range anyTag.FindAllString(said, -1) {
		g.Expect(tag).To(gomega.MatchRegexp(ours.String()))
	}
	g.Expect(len(lines)-1).To(gomega.BeNumerically("<=", 200), "lines")
	g.Expect(unfolded(lines)).To(gomega.BeNumerically("<=", 35), "lines that are not folded")
	tables := tablesOf(lines)
	if len(r.CRDs) > 0 {
		expectAVerdictTable(g, tables)
	}
	for _, table := range tables {
		columns := strings.Count(table[0], "|")
		for _, line := range table {
			g.Expect(strings.Count(line, "|")).To(gomega.Equal(columns), line)
		}
	}
}

// unfolded counts the lines that are not empty and that are seen at once.
func unfolded(lines []string) (n int) {
	folded := false
	for _, line := range lines {
		if !folded && line != "" {
			n++
		}
		folded = (folded || strings.HasPrefix(line, "<details>")) && line != "</details>"
	}
	return n
}

// expectAVerdictTable is about the first table, which stays whatever else is left out.
func expectAVerdictTable(g *gomega.WithT, tables [][]string) {
	g.Expect(tables).NotTo(gomega.BeEmpty())
	g.Expect(len(tables[0])).To(gomega.BeNumerically(">", 2), "it has a row")
	g.Expect(tables[0][0]).To(gomega.MatchRegexp(`^\| CRD \| (Cluster \| )?Removed \| Verdict \| [^|]+ \|$`))
	g.Expect(tables[0][1]).To(gomega.MatchRegexp(ruled.String()))
	for _, line := range slices.Concat(tables[0][:1], tables[0][2:]) {
		g.Expect(line).To(gomega.MatchRegexp(fields.String()))
	}
}

// tablesOf are the runs of lines that begin with a pipe.
func tablesOf(lines []string) [][]string {
	var tables [][]string
	inside := false
	for _, line := range lines {
		is := strings.HasPrefix(line, "|")
		switch {
		case is && inside:
			tables[len(tables)-1] = append(tables[len(tables)-1], line)
		case is:
			tables = append(tables, []string{line})
		}
		inside = is
	}
	return tables
}

func TestTheJSONOfAnyReportKeepsToTheSchema(t *testing.T) {
	schema := compiled(t)
	rapid.Check(t, func(t *rapid.T) {
		content, err := JSON(reports.Draw(t, "report"))
		g := gomega.NewWithT(t)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(schema.Validate(instance)).To(gomega.Succeed())
	})
}

var workflowCommand = regexp.MustCompile(`^::(?:error|warning|notice) (?:file=[^,:]*,)?(?:line=\d+,)?title=[^,:]*::`)

func TestAnyReportMakesOneAnnotationALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reports.Draw(t, "report")
		g := gomega.NewWithT(t)
		lines := strings.Split(strings.TrimSuffix(Annotations(r), "\n"), "\n")
		if want := len(remarks(r)); want > 0 {
			g.Expect(lines).To(gomega.HaveLen(want))
			for _, line := range lines {
				g.Expect(line).To(gomega.MatchRegexp(workflowCommand.String()))
				g.Expect(line).NotTo(gomega.ContainSubstring("\r"))
			}
		}
		content, err := CodeQuality(r)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		var issues []issue
		g.Expect(json.Unmarshal(content, &issues)).To(gomega.Succeed())
		seen := map[string]bool{}
		for _, i := range issues {
			g.Expect(seen[i.Fingerprint]).To(gomega.BeFalse(), "every fingerprint is another one")
			seen[i.Fingerprint] = true
			g.Expect(i.Location.Path).NotTo(gomega.BeEmpty())
			g.Expect(i.Location.Lines.Begin).To(gomega.BeNumerically(">", 0))
		}
	})
}

// Text of somebody else's never moves the cursor, colours what follows or turns it around.
func TestAnyReportIsPlainOnATerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reports.Draw(t, "report")
		width := rapid.IntRange(-1, 300).Draw(t, "width")
		var bare, colored bytes.Buffer
		g := gomega.NewWithT(t)
		g.Expect(Text(&bare, r, false, width)).To(gomega.Succeed())
		g.Expect(Text(&colored, r, true, width)).To(gomega.Succeed())
		g.Expect(bare.String()).NotTo(gomega.MatchRegexp(`[\x00-\x09\x0b-\x1f\x7f-\x9f\x{202a}-\x{202e}\x{2066}-\x{2069}]`))
		g.Expect(sgr.ReplaceAllString(colored.String(), "")).To(gomega.Equal(bare.String()), "colour changes nothing else")
	})
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)
