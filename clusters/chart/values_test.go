package chart

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"

	"github.com/moult-dev/moult/clusters/charts"
)

// documented are the names of all values.
func documented(g Gomega) (order []string) {
	content, err := os.ReadFile("values.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	rows, err := Rows(content)
	g.Expect(err).NotTo(HaveOccurred())
	for _, row := range rows {
		order = append(order, row.Name)
	}
	return order
}

// `make generate` writes the table of the README.
func TestTheREADMEHasEveryValue(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("README.md")
	g.Expect(err).NotTo(HaveOccurred())
	var got []string
	for line := range strings.Lines(string(content)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") {
			g.Expect(len(cells)).To(Equal(3), line)
			got = append(got, strings.Trim(cells[0], "| `"))
		}
	}
	g.Expect(got).To(Equal(documented(g)))
}

func TestAValueWithoutACommentIsRefused(t *testing.T) {
	g := NewWithT(t)
	rows, err := Rows([]byte("# -- One.\na: 1\nb:\n  # -- Two.\n  c: [x]\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows).To(Equal([]Row{{"a", "1", "One."}, {"b.c", `["x"]`, "Two."}}))
	_, err = Rows([]byte("b:\n  c: 1\n"))
	g.Expect(err).To(MatchError(ContainSubstring("b.c has no comment")))
}

// The schema has the values of values.yaml, the word that Helm itself gives a chart within a chart, and no others.
func TestTheSchemaHasEveryValue(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("values.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	type schema struct {
		Properties           map[string]*schema
		AdditionalProperties *bool
	}
	var of schema
	g.Expect(json.Unmarshal(content, &of)).To(Succeed())
	var known []string
	var add func(above string, of *schema)
	add = func(above string, of *schema) {
		g.Expect(of.AdditionalProperties).To(HaveValue(BeFalse()), above)
		for name, property := range of.Properties {
			if len(property.Properties) > 0 {
				add(above+name+".", property)
			} else {
				known = append(known, above+name)
			}
		}
	}
	add("", &of)
	g.Expect(known).To(ConsistOf(append(documented(g), "global")))
}

func TestValuesThatMeanNothingAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		values values
		says   string // empty: accepted
	}{
		"a word that is no value":            {values{"reference": true}, "reference"},
		"the same in a group":                {values{"image": values{"name": "x"}}, "name"},
		"a word for yes":                     {values{"nudge": "yes"}, "nudge"},
		"a mode that there is not":           {values{"admission": values{"mode": "audit"}}, "admission/mode"},
		"a digest that is cut short":         {values{"image": values{"digest": "sha256:0123"}}, "image/digest"},
		"a flag that is none":                {values{"args": []any{"settle=2m"}}, "args/0"},
		"a resource without a group":         {values{"migrate": values{"resources": []any{values{"resources": []any{"secrets"}}}}}, "group"},
		"a group of Kubernetes' own":         {values{"migrate": values{"resources": []any{values{"group": "apps", "resources": []any{"deployments"}}}}}, "group"},
		"every resource":                     {values{"migrate": values{"resources": []any{values{"group": "a.example.com", "resources": []any{"*"}}}}}, "resources"},
		"another part of a resource":         {values{"migrate": values{"resources": []any{values{"group": "a.example.com", "resources": []any{"widgets/scale"}}}}}, "resources"},
		"policies that know another label":   {values{"labelKey": "green.example.com/migrate", "admission": values{"mode": "warn"}}, "leave out admission or labelKey"},
		"a policy that puts back that label": {values{"labelKey": "green.example.com/migrate", "admission": values{"keepLabel": true}}, "leave out admission or labelKey"},
		"what Helm gives a chart in a chart": {values{"global": values{"registry": "x"}}, ""},
		"a resource and its status":          {values{"migrate": values{"resources": []any{values{"group": "a.example.com", "resources": []any{"widgets", "widgets/status"}}}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rendered(t, charts.Release{Name: "moult", Namespace: "default", Values: c.values})
			if c.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

// As `helm lint --strict` does. That a chart has no icon is for information.
func TestHelmFindsNothingToSay(t *testing.T) {
	for name, with := range map[string]values{"by default": {}, "with everything": {
		"monitoring": true, "dashboard": true, "references": true, "admission": values{"mode": "deny", "keepLabel": true},
		"migrate": values{"resources": []any{values{"group": "a.example.com", "resources": []any{"widgets", "widgets/status"}}}},
	}} {
		t.Run(name, func(t *testing.T) {
			found := lint.RunAll(".", with, "moult-system")
			for _, message := range found.Messages {
				NewWithT(t).Expect(message.Severity).To(BeNumerically("<", support.WarningSev), message.Error())
			}
		})
	}
}
