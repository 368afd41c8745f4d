package crddiff

import (
	"fmt"
	"sync"

	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"

	"github.com/moult-dev/moult/policies/finding"
)

// configuration is how grave crdify's validations are to us. What is not listed is Error, crdify's own default.
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

// fieldRemoval is the severity of crdify's existingFieldRemoval, which judges whole CRDs.
const fieldRemoval = finding.Error

// verdicts asks crdify's validations one by one. Its runner is not enough, for three reasons. It takes a field and the
// branches of its allOf, anyOf and oneOf for one, so that the last of them hides the others. It panics on a version
// without a schema. And it says what has changed as a text only. A test holds us to finding all that the runner finds.
type verdicts struct {
	fields map[string]validations.Comparator[schema]
	crds   map[string]validations.Comparator[definition]
}

var judge = sync.OnceValue(func() verdicts {
	v, err := newVerdicts(configuration)
	if err != nil {
		panic(fmt.Sprintf("crdify refuses a configuration that is compiled in: %v", err))
	}
	return v
})

func newVerdicts(c config.Config) (verdicts, error) {
	v := verdicts{fields: map[string]validations.Comparator[schema]{}, crds: map[string]validations.Comparator[definition]{}}
	if err := config.ValidateConfig(&c); err != nil {
		return v, err
	}
	registry := runner.DefaultRegistry()
	all, err := validations.LoadValidationsFromRegistry(registry)
	if err != nil {
		return v, err
	}
	all, err = validations.ConfigureValidations(all, registry, c)
	if err != nil {
		return v, err
	}
	for name, validation := range all {
		if comparator, ok := validation.(validations.Comparator[schema]); ok {
			v.fields[name] = comparator
		}
		if comparator, ok := validation.(validations.Comparator[definition]); ok {
			v.crds[name] = comparator
		}
	}
	return v, nil
}

// field asks a validation about two states of a field, which it gets copies of: crdify's validations change what they
// are given. Info means that it has nothing against it.
func (v verdicts) field(name string, a, b schema) finding.Severity {
	return ask(v.fields, name, &a, &b)
}

// crd asks a validation about two CRDs.
func (v verdicts) crd(name string, a, b *definition) finding.Severity { return ask(v.crds, name, a, b) }

func ask[T validations.Comparable](known map[string]validations.Comparator[T], name string, a, b *T) finding.Severity {
	comparator, ok := known[name]
	if !ok {
		return finding.Error
	}
	return severityOf(comparator.Compare(a, b))
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
