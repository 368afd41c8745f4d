package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// A query's parts, enough to find the metrics and labels that it asks for: names, what is in braces, and the rest.
var (
	words     = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]|\b(?:by|on|without|ignoring)\s*\([^)]*\)|([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(|\{[^}]*\})?`)
	matchers  = regexp.MustCompile(`([a-zA-Z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	operators = []string{"and", "or", "unless", "bool", "offset", "sum", "max", "min", "count"}
	exposed   = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? `)
)

// fromPrometheus are labels that come from the scrape, and not from the controller.
var fromPrometheus = []string{"job", "pod", "namespace", "exported_namespace"}

// hasMetrics looks for what the shipped rules and the dashboard ask for in what the controller exposes.
func hasMetrics(t *testing.T, controller *Controller) {
	t.Helper()
	g := NewWithT(t)
	text, err := controller.get("metrics", "/metrics")
	g.Expect(err).NotTo(HaveOccurred())
	labels := map[string]string{} // of the series of each metric
	for _, series := range exposed.FindAllStringSubmatch(text, -1) {
		labels[series[1]] += series[2]
	}
	queries := append(ruleQueries(g), dashboardQueries(g)...)
	g.Expect(len(queries)).To(BeNumerically(">", 15))
	for _, query := range queries {
		for _, word := range words.FindAllStringSubmatch(query, -1) {
			metric, selector := word[1], word[2]
			if metric == "" || selector == "(" || slices.Contains(operators, metric) {
				continue
			}
			_, found := labels[metric]
			g.Expect(found).To(BeTrue(), "%s, for which asks: %s", metric, query)
			g.Expect(selector).To(ContainSubstring(`job="moult-controller"`), query)
			for _, matcher := range matchers.FindAllStringSubmatch(selector, -1) {
				if !slices.Contains(fromPrometheus, matcher[1]) {
					g.Expect(labels[metric]).To(ContainSubstring(matcher[1]+`="`), query)
				}
			}
		}
	}
}

func ruleQueries(g Gomega) (queries []string) {
	content, err := os.ReadFile(filepath.Join(root, "clusters/components/monitoring/rules.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr string
					Annotations map[string]string
				}
			}
		}
	}
	g.Expect(yaml.Unmarshal(content, &rules)).To(Succeed())
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			g.Expect(rule.Annotations).To(And(HaveKey("summary"), HaveKey("description")), rule.Alert)
			queries = append(queries, rule.Expr)
		}
	}
	return queries
}

func dashboardQueries(g Gomega) (queries []string) {
	content, err := os.ReadFile(filepath.Join(root, "clusters/components/dashboard/moult.json"))
	g.Expect(err).NotTo(HaveOccurred())
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	g.Expect(json.Unmarshal(content, &dashboard)).To(Succeed())
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}
