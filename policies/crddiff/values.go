package crddiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// stricter is what happens to objects that break a stricter rule.
const stricter = "objects that break it can be read, and written only if the field stays as it is (before Kubernetes 1.30: not at all)"

// types reports whether the type has changed, and with it everything below.
func (f field) types() bool {
	from, to := basic(f.a), basic(f.b)
	if from == to {
		return false
	}
	severity, why := finding.Error, "values of the old type are refused, and clients that expect it cannot read new ones"
	switch {
	case to == anything:
		severity, why = finding.Warning, "objects keep what they have, but nothing checks it any more"
	case from == anything:
		severity, why = finding.Error, "values of another type were allowed and are refused"
	case f.widens(from, to):
		severity, why = finding.Warning, "what was valid is valid, and clients that expect the old type may read the other one"
	}
	f.add(FieldTypeChanged, severity, from, to, why)
	return true
}

// widens reports whether every value of the old type is one of the new, and nothing else is asked of it. A pattern asks nothing of numbers.
func (f field) widens(from, to string) bool {
	switch from + " " + to {
	case "integer int-or-string", "string int-or-string", "integer number":
	default:
		return false
	}
	a, b := f.a.DeepCopy(), f.b.DeepCopy()
	for _, s := range []*schema{a, b} {
		s.Type, s.XIntOrString, s.AnyOf, s.Description, s.Title = "", false, nil, "", ""
		s.Default, s.Example = nil, nil
		if from == "integer" {
			s.Pattern = ""
			if s.Format == "int32" || s.Format == "int64" {
				s.Format = "" // a narrower one for clients alone: the API server takes any
			}
		}
	}
	return len(f.a.AnyOf) == 0 && (len(f.b.AnyOf) == 0 || to == "int-or-string") && equality.Semantic.DeepEqual(a, b)
}

const anything = "anything"

// basic is the type as the API server knows it.
func basic(s *schema) string {
	switch {
	case s.XIntOrString:
		return "int-or-string"
	case s.Type == "":
		return anything
	default:
		return s.Type
	}
}

// typeOf is a type as people call it.
func typeOf(s *schema) string {
	if s.Type == "object" && s.AdditionalProperties != nil && (s.AdditionalProperties.Allows || s.AdditionalProperties.Schema != nil) {
		return "map"
	}
	return basic(s)
}

// required: which fields of an object have to be there. It is reported at the field, not at the object around it.
func (f field) required() {
	now, was := f.b.Required, f.a.Required
	for _, name := range missing(now, was) {
		path := join(f.path, name)
		change := Change{Rule: FieldRequired, Severity: finding.Error, Field: path, Why: "manifests that leave it out are refused, and so is every write of an object that lacks it"}
		if _, old := f.before[path]; !old {
			change.Why = "it is new, so no object has it: every write is refused until it is set"
		}
		if child, ok := f.after[path]; ok && child.Default != nil {
			change.Severity, change.Why = finding.Info, "objects that leave it out get its default, "+value(child.Default)
		}
		f.difference.add(change)
	}
	for _, name := range missing(was, now) {
		path := join(f.path, name)
		if f.before[path].schema == nil || f.after[path].schema != nil { // else it is reported as removed
			f.difference.add(Change{Rule: FieldOptional, Severity: finding.Info, Field: path, Why: "clients have to work without it"})
		}
	}
}

// values: which there may be, and which there is by default.
func (f field) values() {
	f.defaults()
	f.enums()
	if f.a.Format != f.b.Format {
		f.add(FormatChanged, finding.Warning, f.a.Format, f.b.Format, "values that were taken may be refused, or be read differently")
	}
	if f.a.Nullable != f.b.Nullable {
		if f.b.Nullable {
			f.add(NullAllowed, finding.Info, "", "", "clients have to accept null")
		} else {
			f.add(NullForbidden, finding.Error, "", "", "null is refused, or replaced by the default if there is one")
		}
	}
	f.pattern()
}

func (f field) defaults() {
	from, to := canonical(f.a.Default), canonical(f.b.Default)
	if from == to {
		return
	}
	switch {
	case from == "":
		f.add(DefaultAdded, finding.Warning, "", to, "objects that leave the field out have it from now on, those that exist too")
	case to == "" && f.after[f.path].required:
		f.add(DefaultRemoved, finding.Error, from, "", "it is required, so manifests that leave it out are refused from now on")
	case to == "":
		f.add(DefaultRemoved, finding.Warning, from, "", "objects written from now on do not have the field if they leave it out; what they mean then is up to the controller")
	default:
		f.add(DefaultChanged, finding.Warning, from, to, "objects that leave the field out mean something else from now on; those that were stored with the old default keep it")
	}
}

func (f field) enums() {
	from, to := enumOf(f.a), enumOf(f.b)
	gone, come := missing(from, to), missing(to, from)
	if len(gone)+len(come) == 0 {
		return
	}
	switch {
	case len(from) == 0:
		f.add(EnumAdded, finding.Error, "", list(to), "any other value is refused; "+stricter)
		return
	case len(to) == 0:
		f.add(EnumRemoved, finding.Info, list(from), "", "clients have to accept any value")
		return
	}
	if len(gone) > 0 {
		f.add(EnumValuesRemoved, finding.Error, list(gone), "", "manifests that use such a value are refused; "+stricter)
	}
	if len(come) > 0 {
		f.add(EnumValuesAdded, finding.Info, "", list(come), "clients have to accept a value that they do not know")
	}
}

// enumOf is empty when any value is allowed.
func enumOf(s *schema) []string {
	return words.Of(s.Enum, func(value apiextensionsv1.JSON) string { return canonical(&value) })
}

// list writes values for people: strings without quotation marks, unless that would be empty.
func list(values []string) string {
	shown := words.Of(values, func(v string) string {
		if bare := strings.Trim(v, `"`); bare != "" && !strings.ContainsAny(bare, `, "`) {
			return bare
		}
		return v
	})
	slices.Sort(shown)
	return strings.Join(shown, ", ")
}

func (f field) pattern() {
	from, to := f.a.Pattern, f.b.Pattern
	switch {
	case from == to:
	case from == "":
		f.add(PatternAdded, finding.Error, "", to, stricter)
	case to == "":
		f.add(PatternRemoved, finding.Info, from, "", "clients have to accept any text")
	default:
		f.add(PatternChanged, finding.Warning, from, to, "text that matched may not match any more; "+stricter)
	}
}

// canonical is a JSON value such that equal values are equal texts; empty for none.
func canonical(j *apiextensionsv1.JSON) string {
	if j == nil {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(j.Raw))
	decoder.UseNumber()
	var parsed any
	if err := decoder.Decode(&parsed); err != nil {
		return string(j.Raw)
	}
	return asJSON(parsed)
}

// asJSON is without the escapes that only browsers need.
func asJSON(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(err)
	}
	return strings.TrimSpace(b.String())
}

// value is a JSON value in a sentence.
func value(j *apiextensionsv1.JSON) string { return cut(canonical(j)) }

// cut keeps a long value from filling a screen.
func cut(s string) string { return words.Clip(s, 120) }
