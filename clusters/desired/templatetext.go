package desired

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
func (e *everywhere) noteTemplate(chart, file, content string, made []*delivery.Object) {
	text, name := sha256.Sum256([]byte(e.textOf(chart, content))), e.tree.Relative(file)
	e.cluster.Templates = append(e.cluster.Templates, delivery.Template{
		Name: name, By: files.StandIn("File", name, name), Text: hex.EncodeToString(text[:]), Made: madeOf(made),
	})
}

// textOf is what a template of a chart says, with the named templates that it takes in.
func (e *everywhere) textOf(chart, content string) string {
	var text strings.Builder
	defined, taken := e.definedIn(chart), map[string]bool{}
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
func (e *everywhere) withPartials(file string, content []byte) []byte {
	if chart := e.chartAround(filepath.Dir(file)); chart != "" {
		return []byte(e.textOf(chart, string(content)) + string(content))
	}
	return content
}

var (
	// included finds the named templates that a template takes in, and definition where one begins.
	included   = regexp.MustCompile(`\b(?:include|template)\s+"([^"]+)"`)
	definition = regexp.MustCompile(`\{\{-?\s*define\s+"([^"]+)"\s*-?\}\}`)
)

// definedIn are the named templates of a chart and of those below it, each with all that follows in its file up to the next one.
func (e *everywhere) definedIn(chart string) map[string]string {
	if known := e.defined[chart]; known != nil {
		return known
	}
	found := map[string]string{}
	e.defined[chart] = found
	_ = e.tree.Each(chart, detect.IsNotApplied, func(file string) error {
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
