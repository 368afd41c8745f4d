package health_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/health"
	"github.com/moult-dev/moult/test/verdicts"
)

func judge(kind string, object map[string]any) health.Verdict {
	if kind == "VersionRemoval" {
		return health.VersionRemoval(object)
	}
	return health.CRD(object)
}

func TestEveryFixtureFaresAsItIsWritten(t *testing.T) {
	g := NewWithT(t)
	fixtures, err := verdicts.Read("../lua")
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range fixtures {
		t.Run(f.Kind+"/"+f.Name, func(t *testing.T) {
			want := health.Verdict{Status: health.Status(f.Status), Message: f.Message}
			for decoder, decode := range map[string]func() (map[string]any, error){
				"int64": f.Object, "float64": f.ObjectOfFloats, "json.Number": func() (map[string]any, error) { return withNumbers(f.YAML) },
			} {
				g := NewWithT(t)
				object, err := decode()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(judge(f.Kind, object)).To(Equal(want), "with numbers as %s", decoder)
			}
		})
	}
}

func withNumbers(content []byte) (map[string]any, error) {
	content, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	object := map[string]any{}
	return object, decoder.Decode(&object)
}

// TestEveryReasonHasAFixture keeps the vocabulary and the fixtures together: a
// new reason needs an object that shows how it fares.
func TestEveryReasonHasAFixture(t *testing.T) {
	g := NewWithT(t)
	fixtures, err := verdicts.Read("../lua")
	g.Expect(err).NotTo(HaveOccurred())
	for file, kinds := range map[string][]string{
		"conditions.go": {"CustomResourceDefinition", "VersionRemoval"},
		"verdicts.go":   {"VersionRemoval"},
	} {
		reasons := reasonsIn(t, file)
		g.Expect(reasons).NotTo(BeEmpty())
		for _, reason := range reasons {
			for _, kind := range kinds {
				if kind == "VersionRemoval" && reason == v1alpha1.ReasonMigrated {
					continue // a gate says SafeToRemove instead
				}
				g.Expect(fixtures).To(ContainElement(Satisfy(func(f verdicts.Fixture) bool {
					return f.Kind == kind && bytes.Contains(f.YAML, []byte("reason: "+reason+"\n"))
				})), "no %s in the fixtures has the reason %s", kind, reason)
			}
		}
	}
}

// reasonsIn reads the values of the constants named Reason… from a file of the
// API, as a program cannot list constants.
func reasonsIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../api/v1alpha1", file), nil, parser.SkipObjectResolution)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var reasons []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		if constant, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(constant.Names[0].Name, "Reason") {
			reason, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			reasons = append(reasons, reason)
		}
		return true
	})
	return reasons
}
