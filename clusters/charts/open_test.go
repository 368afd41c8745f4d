package charts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"pgregory.net/rapid"
)

// parts that others include, each with how.
var named = map[string]string{
	`include "own" $`: `{{ .Values.a }}`, `include "under" (dict "context" $)`: `{{ .context.Values.b }}`, `include "value" (dict "value" EXPR)`: `{{ .value }}`,
	`include "twice" (dict "context" $)`: `{{ include "under" . }}`, `include "deep" (dict "root" (dict "context" $))`: `{{ include "own" .root.context }}`,
	`include "each" $.Values.m`: `{{ range $k, $v := . }}{{ $k }}{{ $v }}{{ end }}`, `include "all" (dict "x" $.Values)`: `{{ toYaml . }}`,
	`include "kept" (dict "ctx" $)`: `{{ $ctx := .ctx }}{{ with $ctx }}{{ .Values.m.y }}{{ end }}`, `include "dollar" .`: `{{ with .Release }}{{ $.Values.b }}{{ end }}`,
	`include "sets" .`: `{{ $_ := set .Values "b" .Values.a }}`, `include "none" (dict "a" "b")`: `{{ .a }}`, `include "below" (dict (print "Values") $)`: `{{ .Values.Values.a }}`,
	`include "dump" (dict "given" $)`: `{{ toYaml .given }}`,
}

var (
	expressions = []string{
		`$.Values.a`, `$.Values.b`, `$.Values.m.x`, `$.Values.m.y`, `(index $.Values "b")`, `(index $.Values "m" "x")`, `(get $.Values.m "x")`, `(default "d" $.Values.a)`,
		`(hasKey $.Values.m "x")`, `(toYaml $.Values.m)`, `"text"`, `(eq $.Values.a "x")`, `$.Release.Name`, `$.Chart.Name`, `(pluck "a" $.Values | first)`, `(toYaml $.Values.sub)`,
		`($.Values.AsMap | toJson)`, `(dict "k" $.Values.b).k`, `$.Values.global.g`,
	}
	statements = []string{
		`{{ EXPR }}`, `{{ if EXPR }}t{{ else }}e{{ end }}`, `{{ with EXPR }}{{ . }}{{ end }}`, `{{ range $i, $x := list EXPR 1 EXPR }}{{ $x }}{{ end }}`,
		`{{ $v := EXPR }}{{ $v }}`, `{{ $_ := set $.Values "a" EXPR }}`, `{{ $_ := set $.Values.m "x" EXPR }}`, `{{ $d := dict "k" EXPR }}{{ $d.k }}`,
		`{{ tpl "{{ .Values.a }}" $ }}`, `{{ tpl $.Values.t $ }}`, `{{ tpl ($.Files.Get "f") $ }}`, `{{ include (print $.Template.BasePath "/1.yaml") $ | sha256sum }}`,
		`{{ $x := $ }}{{ $x.Values.a }}`, `{{ with $ }}{{ .Values.b }}{{ end }}`, `{{ $.Values | toYaml }}`, `{{ toYaml . }}`, `{{ range $.Values.m }}{{ . }}{{ end }}`,
		`{{ (index (list $) 0).Values.a }}`, `{{ range $k, $v := dict "r" $ }}{{ $v.Values.b }}{{ end }}`, `{{ $l := list }}{{ range list 1 2 }}{{ range $l }}{{ .Values.a }}{{ end }}{{ $l = list $ }}{{ end }}`,
		`{{ $d := dict }}{{ $_ := set $d "k" EXPR }}{{ $d.k }}`, `{{ $m := $.Values.m }}{{ $_ := set $m "y" EXPR }}`, `{{ $.Subcharts.sub.Values.z }}`, `{{ template "own" $ }}`,
		`{{ $c := merge (dict) $.Values.m }}{{ $c.x }}`, `{{ . | include "own" }}`, `{{ with .Values }}{{ .a }}{{ end }}`, `{{ (.Values).m.y }}`,
		`{{ $x := $ }}{{ toYaml $x }}`, `{{ $d := dict "m" $.Values.m }}{{ $_ := merge $d (dict "m" (dict "z" $.Values.a)) }}`, `{{ tpl ("e3sgLlZhbHVlcy5hIH19" | b64dec) $ }}`,
		`{{ $m := merge (dict) (dict "m" $.Values.m) }}{{ $_ := mergeOverwrite $m (dict "m" (dict "x" $.Values.b)) }}`, `{{ range $k, $v := (dict "{{ .Values.b }}" 1) }}{{ tpl $k $ }}{{ end }}`, `{{ $.Values.PathValue "m.x" }}`,
	}
)

var (
	ofSub = []string{`{{ .Values.z }}`, `{{ .Values.y }}`, `{{ .Values.global.g }}`, `{{ include "own" . }}`}
	opens = []Open{
		{Values: [][]string{{"a"}}}, {Values: [][]string{{"b"}}}, {Values: [][]string{{"m", "x"}}}, {Values: [][]string{{"sub", "z"}}}, {Values: [][]string{{"global", "g"}}}, {Release: true},
	}
)

// allStatements are those, with each expression in them, and all that include a part.
func allStatements() (all []string) {
	for _, statement := range statements {
		if !strings.Contains(statement, "EXPR") {
			all = append(all, statement)
			continue
		}
		for _, expression := range expressions {
			all = append(all, strings.ReplaceAll(statement, "EXPR", expression))
		}
	}
	for _, how := range slices.Sorted(maps.Keys(named)) {
		all = append(all, "{{ "+strings.ReplaceAll(how, "EXPR", "$.Values.a")+" }}")
	}
	return all
}

// ofTemplates is a chart of some, with a dependency that has one.
func ofTemplates(sub string, templates ...string) (*Chart, error) {
	parts := ""
	for _, how := range slices.Sorted(maps.Keys(named)) {
		parts += fmt.Sprintf("{{ define %s }}%s{{ end }}", strings.Fields(how)[1], named[how])
	}
	files := []*archive.BufferedFile{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0}]\n")},
		{Name: "charts/sub/Chart.yaml", Data: []byte("apiVersion: v2\nname: sub\nversion: 1.0.0\n")},
		{Name: "charts/sub/templates/s.yaml", Data: []byte(sub)}, {Name: "templates/_parts.tpl", Data: []byte(parts)}, {Name: "f", Data: []byte(`{{ .Values.a }}`)},
	}
	for i, text := range templates {
		files = append(files, &archive.BufferedFile{Name: fmt.Sprintf("templates/%d.yaml", i+1), Data: []byte(text)})
	}
	return load(files)
}

// valuesWith are all values, with another in the place of what is open. Text is one that may be a template.
func valuesWith(open Open, text, of string) map[string]any {
	all := map[string]any{"a": "1", "b": "2", "t": text, "m": map[string]any{"x": "3", "y": "4"}, "sub": map[string]any{"z": "5", "y": "6"}, "global": map[string]any{"g": "7"}}
	for _, at := range open.Values {
		inside := all
		for _, step := range at[:len(at)-1] {
			inside = inside[step].(map[string]any)
		}
		inside[at[len(at)-1]] = of
	}
	return all
}

type ctx interface{ Context() context.Context }

// others are files that come out otherwise with another open value, and are no dependents. Known is how many are none.
func others(t ctx, chart *Chart, open Open, text string) (found []string, known int) {
	depending, err := chart.Dependents(t.Context(), Release{Name: "rx", Namespace: "n", Values: valuesWith(open, text, "x")}, open)
	if err != nil {
		return nil, 0 // it is no chart
	}
	was := map[string]string{}
	for i, of := range []string{"x", "", "y"} {
		_, is, err := chart.texts(Release{Name: "r" + map[bool]string{open.Release: of}[true], Namespace: "n", Values: valuesWith(open, text, of)}, nil)
		if err != nil {
			return nil, 0
		}
		for file, text := range is {
			if i > 0 && text != was[file] && !slices.ContainsFunc(depending, func(d Dependent) bool { return d.File == file }) {
				found = append(found, fmt.Sprintf("%s: %q, and was %q", file, text, was[file]))
			}
		}
		was = is
	}
	return found, len(was) - len(depending)
}

// What is no dependent comes out the same, whatever takes the place of what is open.
func TestWhatIsNoDependentIsTheSameWithAnyOpenValue(t *testing.T) {
	g := NewWithT(t)
	known, all := 0, allStatements()
	for i, statement := range all {
		chart, err := ofTemplates(ofSub[i%len(ofSub)], "{{ .Values.a }}", statement)
		g.Expect(err).NotTo(HaveOccurred())
		for j, open := range opens {
			text := []string{"{{ .Values.b }}", "plain"}[(i+j)%2]
			if strings.Contains(statement, "tpl") && open.Values != nil {
				text = "plain"
			}
			found, none := others(t, chart, open, text)
			g.Expect(found).To(BeEmpty(), "%s with %v", statement, open)
			known += none
		}
	}
	g.Expect(known).To(BeNumerically(">", len(all)*len(opens)/4), "many depend on nothing")
}

// The same for several statements in several files, which may change values for one another.
func TestWhatIsNoDependentIsTheSameBesideOthers(t *testing.T) {
	all := allStatements()
	rapid.Check(t, func(t *rapid.T) {
		var templates []string
		for range rapid.IntRange(1, 3).Draw(t, "files") {
			text := ""
			for range rapid.IntRange(1, 3).Draw(t, "statements") {
				text += all[rapid.Uint64().Draw(t, "statement")%uint64(len(all))] + "\n"
			}
			templates = append(templates, text)
		}
		chart, err := ofTemplates(rapid.SampledFrom(ofSub).Draw(t, "of sub"), templates...)
		if err != nil {
			t.Fatal(err)
		}
		open := rapid.SampledFrom(opens).Draw(t, "open")
		found, _ := others(t, chart, open, rapid.SampledFrom([]string{"plain", "{{ .Values.b }}"}).Draw(t, "t"))
		if len(found) > 0 {
			t.Fatalf("with %v: %v", open, found)
		}
	})
}

// A chart is anybody's. Each loop in a loop must not double the work.
func TestLoopsInLoopsAreReadInTime(t *testing.T) {
	g := NewWithT(t)
	const deep = 60
	chart, err := ofTemplates("", strings.Repeat("{{ range .Values.a }}\n---\n", deep)+"{{ toYaml . }}"+strings.Repeat("{{ end }}", deep))
	g.Expect(err).NotTo(HaveOccurred())
	found, err := chart.Dependents(t.Context(), Release{Name: "r", Values: map[string]any{"a": []any{}}}, Open{Values: [][]string{{"a"}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].MayBeAny).To(BeTrue())
}
