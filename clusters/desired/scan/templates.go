package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// noteTemplate remembers a template that makes CRDs, by what it says and by what it makes. The CRDs are those that are
// compared.
func (s *scan) noteTemplate(chart, file, content string, made []*delivery.Object) {
	text, name := sha256.Sum256([]byte(s.textOf(chart, content))), s.tree.Relative(file)
	s.cluster.Templates = append(s.cluster.Templates, delivery.Template{
		Name: name, By: files.StandIn("File", name, name), Text: hex.EncodeToString(text[:]), Made: madeOf(made),
	})
}

// textOf is what a template of a chart says, with the named templates that it takes in.
func (s *scan) textOf(chart, content string) string {
	var text strings.Builder
	defined, taken := s.definedIn(chart), map[string]bool{}
	for next := []string{content}; len(next) > 0; next = next[1:] {
		text.WriteString(detect.WithoutComments(next[0]))
		for _, include := range included.FindAllStringSubmatch(next[0], -1) {
			if body, known := defined[include[1]]; known && !taken[include[1]] {
				taken[include[1]] = true
				next = append(next, body)
			}
		}
	}
	return text.String()
}

// withPartials is a file, with the named templates that it takes in if it is a chart's.
func (s *scan) withPartials(file string, content []byte) []byte {
	if chart := s.tree.ChartAround(filepath.Dir(file)); chart != "" {
		return []byte(s.textOf(chart, string(content)) + string(content))
	}
	return content
}

var (
	// included finds the named templates that a template takes in, and definition where one begins.
	included   = regexp.MustCompile(`\b(?:include|template)\s+"([^"]+)"`)
	definition = regexp.MustCompile(`\{\{-?\s*define\s+"([^"]+)"\s*-?\}\}`)
)

// definedIn are the named templates of a chart and of those below it, each with all that follows in its file up to the next one.
func (s *scan) definedIn(chart string) map[string]string {
	if known := s.chartAt(chart).defined; known != nil {
		return known
	}
	found := map[string]string{}
	s.chartAt(chart).defined = found
	_ = s.tree.Each(chart, detect.IsNotApplied, func(file string) error {
		if ext := filepath.Ext(file); ext != ".tpl" && ext != ".yaml" && ext != ".yml" {
			return nil
		}
		content, err := render.ReadRegular(file)
		if err != nil {
			return nil //nolint:nilerr // a chart that cannot be read is not rendered
		}
		begins := definition.FindAllSubmatchIndex(content, -1)
		for i, at := range begins {
			end := len(content)
			if i+1 < len(begins) {
				end = begins[i+1][0]
			}
			found[string(content[at[2]:at[3]])] += string(content[at[1]:end])
		}
		return nil
	})
	return found
}

// ofRelease are labels that are otherwise with every release of a chart.
var ofRelease = []string{"helm.sh/chart", "app.kubernetes.io/version", "chart"}

// madeOf stands for CRDs, but for what every release of a chart changes in them.
func madeOf(crds []*delivery.Object) string {
	sum := sha256.New()
	for _, crd := range crds {
		labels := maps.Clone(crd.GetLabels())
		maps.DeleteFunc(labels, func(key, _ string) bool { return slices.Contains(ofRelease, key) })
		raw, err := json.Marshal([]any{crd.GetName(), labels, crd.GetAnnotations(), crd.Field("spec")})
		if err != nil {
			raw = []byte(err.Error())
		}
		sum.Write(raw)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
