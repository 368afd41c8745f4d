package crddiff

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
)

// configuration is how grave the findings of crdify are to us, which is how grave our own have to be. What is not listed is Error, the default of crdify.
var configuration = config.Config{
	Validations: []config.ValidationConfig{
		// A value more takes nothing from anybody who has objects.
		{Name: "enum", Enforcement: config.EnforcementPolicyError, Configuration: map[string]any{"additionPolicy": "Allow"}},
		// It may be meant: nothing fails, but objects that leave the field out behave differently.
		{Name: "default", Enforcement: config.EnforcementPolicyWarn},
		{Name: "description", Enforcement: config.EnforcementPolicyNone},
		// Status is none of the manifests'; what a cluster stores is for policies/preview to join in.
		{Name: "storedVersionRemoval", Enforcement: config.EnforcementPolicyNone},
	},
	UnhandledEnforcement: config.EnforcementPolicyWarn,
	Conversion:           config.ConversionPolicyIgnore,
}

func severityOf(result validations.ComparisonResult) finding.Severity {
	switch {
	case len(result.Errors) > 0:
		return finding.Error
	case len(result.Warnings) > 0:
		return finding.Warning
	default:
		return finding.Info
	}
}

// counterparts are the rules that say what a validation of crdify says.
var counterparts = map[string][]Rule{
	"default":       {DefaultAdded, DefaultChanged, DefaultRemoved},
	"enum":          {EnumAdded, EnumValuesRemoved, EnumRemoved},
	"required":      {FieldRequired},
	"type":          {FieldTypeChanged},
	"maximum":       {LimitTightened},
	"maxItems":      {LimitTightened},
	"maxLength":     {LimitTightened},
	"maxProperties": {LimitTightened},
	"minimum":       {LimitTightened},
	"minItems":      {LimitTightened},
	"minLength":     {LimitTightened},
	"minProperties": {LimitTightened},
}

// What crdify's own runner finds, we find, as grave as it is to the runner.
func TestNothingThatCrdifyFindsIsMissing(t *testing.T) {
	for _, folder := range folders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			after := byName(read(t, filepath.Join(folder, "head.yaml")))
			for _, base := range read(t, filepath.Join(folder, "base.yaml")) {
				if head := after[base.Name]; head != nil {
					agree(NewWithT(t), base, head)
				}
			}
		})
	}
}

// agree holds Compare to the runner's results.
func agree(g Gomega, base, head *definition) {
	g.Expect(config.ValidateConfig(&configuration)).To(Succeed())
	r, err := runner.New(&configuration, runner.DefaultRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	ours := Compare(base, head, v1alpha1.MigrateLabel).Changes
	results := r.Run(base, head)
	for version, fields := range results.SameVersionValidation {
		for path, found := range fields {
			for _, result := range found {
				if slices.Equal(result.Errors, ofNoConsequence) && result.Name != "minimum" {
					continue
				}
				if rules, ok := counterparts[result.Name]; ok && severityOf(result) != finding.Info {
					g.Expect(covered(ours, version, pathOf(path), rules, severityOf(result))).To(BeTrue(),
						"%s %s: %v\nours: %v", version, path, result, ours)
				}
			}
		}
	}
	for _, result := range results.CRDValidation {
		for _, text := range result.Errors {
			g.Expect(crdErrorCovered(ours, result, text)).To(BeTrue(), "%s\nours: %v", text, ours)
		}
	}
}

// pathOf is crdify's path as ours; it has [*] for the values of maps, too.
func pathOf(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "^"), ".")
	if path == "" {
		return whole
	}
	return path
}

// covered reports whether a change says the same, or the same of a field around it.
func covered(ours []Change, version, path string, rules []Rule, severity finding.Severity) bool {
	return slices.ContainsFunc(ours, func(c Change) bool {
		if c.Version != version || c.Against != "" {
			return false
		}
		at := pathOf(simple.Replace(c.Field))
		switch c.Rule { //nolint:exhaustive // the others have a counterpart or none
		case FieldRemoved, FieldTypeChanged, FieldAdded, SchemaTooLarge: // with all that is below
			if at == path || at == whole || strings.HasPrefix(path, at) {
				return true
			}
		case CombinationChanged, SchemaChanged: // the runner takes a branch for the field
			return at == path
		case UnknownFieldsKept: // additionalProperties: true is no field to the runner
			return at == path && slices.Contains(rules, FieldRemoved)
		case FieldRequired: // told at the field and not at the object; Info if there is a default
			return slices.Contains(rules, FieldRequired) && (path == whole || strings.HasPrefix(at, path))
		case EnumRemoved: // which the runner takes for values that vanish
			return at == path && slices.Contains(rules, EnumRemoved)
		}
		return at == path && slices.Contains(rules, c.Rule) && c.Severity.Weight() >= severity.Weight()
	})
}

// simple turns our paths into those of crdify.
var simple = strings.NewReplacer("{*}", "[*]", `["`, ".", `"]`, "")

// ofNoConsequence is what crdify minds and we do not: nothing is shorter than 0.
var ofNoConsequence = []string{"minimum constraint added when there was none previously : 0"}

func crdErrorCovered(ours []Change, result validations.ComparisonResult, text string) bool {
	if result.Name == "scope" {
		return slices.ContainsFunc(ours, func(c Change) bool { return c.Rule == ScopeChanged && c.Severity == finding.Error })
	}
	_, where, _ := strings.Cut(text, " : ")
	version, path, _ := strings.Cut(where, ".^")
	return covered(ours, version, pathOf(path), []Rule{FieldRemoved}, finding.Warning)
}

// What its runner does not see is why it only holds us to account. It takes a field and the branches of its allOf, anyOf
// and oneOf for one, so that the last of them hides the others. It also panics on a version without a schema.
func TestWhatCrdifysRunnerOverlooks(t *testing.T) {
	g := NewWithT(t)
	base, head := plainCRD(), plainCRD()
	set := func(crd *definition, s schema) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["field"] = s
	}
	either := []schema{{Type: "integer"}, {Type: "string"}}
	most := int64(3)
	set(base, schema{XIntOrString: true, AnyOf: either})
	set(head, schema{XIntOrString: true, AnyOf: either, MaxLength: &most})
	r, err := runner.New(&configuration, runner.DefaultRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Run(base, head).HasFailures()).To(BeFalse(), "crdify sees it now")
	g.Expect(Compare(base, head, "").Changes).To(ConsistOf(And(HaveField("Rule", LimitTightened), HaveField("Severity", finding.Error))))
}

func TestWhatGeneratorsWriteNextToIntOrStringIsNoChange(t *testing.T) {
	g := NewWithT(t)
	base, head := plainCRD(), plainCRD()
	base.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["field"] = schema{XIntOrString: true}
	head.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["field"] = schema{XIntOrString: true, AnyOf: []schema{{Type: "integer"}, {Type: "string"}}}
	g.Expect(Compare(base, head, "").Changes).To(BeEmpty())
}
