package reference_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/reference"
)

func TestEveryReasonHasARow(t *testing.T) {
	for heading, file := range map[string]string{
		"The condition of a CRD": "conditions.go",
		"VersionRemoval":         "verdicts.go",
	} {
		t.Run(heading, func(t *testing.T) {
			g := NewWithT(t)
			reasons := constants(g, "../../api/v1alpha1/"+file, "Reason")
			g.Expect(reasons).NotTo(BeEmpty())
			g.Expect(names(g, heading)).To(ConsistOf(reasons))
		})
	}
}

func TestEveryMetricHasARowWithItsLabels(t *testing.T) {
	g := NewWithT(t)
	var source []byte
	files, err := filepath.Glob("../../controllers/*/*metrics.go")
	g.Expect(err).NotTo(HaveOccurred())
	files = append(files, "../../cmd/moult-controller/build_metrics.go")
	for _, file := range files {
		some, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		source = append(source, some...)
	}
	inCode := map[string]string{}
	metric := regexp.MustCompile(`(?s)Opts\{Name: "(moult_\w+)",.*?\}, (?:\[\]string\{(.*?)\})?`)
	for _, found := range metric.FindAllStringSubmatch(string(source), -1) {
		inCode[found[1]] = strings.ReplaceAll(found[2], `"`, "")
	}
	rows, err := reference.Table("Metrics")
	g.Expect(err).NotTo(HaveOccurred())
	inTable := map[string]string{}
	for name, row := range rows {
		inTable[name] = strings.Trim(strings.ReplaceAll(row[0], "`", ""), "–")
	}
	g.Expect(inTable).To(Equal(inCode))
}

func TestEveryLabelAndAnnotationHasARow(t *testing.T) {
	g := NewWithT(t)
	var keys []string
	for _, row := range names(g, "Labels and annotations") {
		key, _, _ := strings.Cut(row, ":")
		keys = append(keys, key)
	}
	for _, value := range constants(g, "../../api/v1alpha1/labels.go", "") {
		switch {
		case strings.HasSuffix(value, "/"): // a prefix
			g.Expect(keys).To(ContainElement(HavePrefix(value)))
		case strings.Contains(value, "/"):
			g.Expect(keys).To(ContainElement(value))
		}
	}
}

// names are the first column of a table.
func names(g *WithT, heading string) []string {
	rows, err := reference.Table(heading)
	g.Expect(err).NotTo(HaveOccurred())
	return slices.Collect(maps.Keys(rows))
}

// constants are the values of the string constants in a file whose names begin with prefix.
func constants(g *WithT, file, prefix string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	g.Expect(err).NotTo(HaveOccurred())
	var values []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) == 0 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			g.Expect(err).NotTo(HaveOccurred())
			values = append(values, value)
		}
		return false
	})
	return values
}
