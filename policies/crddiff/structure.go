package crddiff

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/policies/finding"
)

// structure: how a field is merged and pruned.
func (f field) structure() {
	f.listType()
	if from, to := ptr.Deref(f.a.XMapType, "granular"), ptr.Deref(f.b.XMapType, "granular"); from != to {
		f.add(MapTypeChanged, finding.Warning, from, to, "server-side apply merges it in another way, so a manager may overwrite what another one owns")
	}
	switch was, is := keepsUnknown(f.a), keepsUnknown(f.b); {
	case was && !is && f.hasNone():
		f.add(UnknownFieldsPruned, finding.Info, "", "", "it has no fields that could be dropped")
	case was && !is && f.keepsEntries():
		f.add(UnknownFieldsPruned, finding.Info, "", "", "every field is kept as an entry of the map; values of another type are refused")
	case was && !is:
		f.add(UnknownFieldsPruned, finding.Error, "", "", "what the schema does not name is dropped from every object when it is read, and for good when it is written")
	case !was && is:
		f.add(UnknownFieldsKept, finding.Info, "", "", "what the schema does not name is kept, and nothing checks it")
	}
	if f.a.XEmbeddedResource != f.b.XEmbeddedResource {
		severity, why := finding.Warning, "apiVersion, kind and metadata are not checked any more"
		if f.b.XEmbeddedResource {
			severity, why = finding.Error, "it has to have apiVersion, kind and metadata as an object of its own would"
		}
		f.add(EmbeddedResourceChanged, severity, strconv.FormatBool(f.a.XEmbeddedResource), strconv.FormatBool(f.b.XEmbeddedResource), why)
	}
}

// hasNone reports whether a value has no fields, before and after.
func (f field) hasNone() bool { return isScalar(f.a) && isScalar(f.b) }

func isScalar(s *schema) bool {
	return s.XIntOrString || slices.Contains([]string{"string", "integer", "number", "boolean"}, s.Type)
}

// keepsEntries reports whether it is a map whose values have nothing that could be dropped.
func (f field) keepsEntries() bool {
	values, isMap := f.after[each(f.path, "{*}")]
	return isMap && (isScalar(values.schema) || keepsUnknown(values.schema))
}

func keepsUnknown(s *schema) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// listType: a set and a map have members that differ, and each of them has owners.
func (f field) listType() {
	from, to := listType(f.a), listType(f.b)
	if from == to {
		return
	}
	severity, why := finding.Warning, "server-side apply merges it in another way, so a manager may overwrite what another one owns"
	if to != "atomic" {
		severity = finding.Error
		why = "lists with members that are the same by the new rule are refused at every write, even an unchanged one; server-side apply merges it in another way"
	}
	f.add(ListTypeChanged, severity, from, to, why)
}

func listType(s *schema) string {
	kind := ptr.Deref(s.XListType, "atomic")
	if len(s.XListMapKeys) > 0 {
		kind += " by " + strings.Join(slices.Sorted(slices.Values(s.XListMapKeys)), ", ")
	}
	return kind
}

// validations: rules in CEL.
func (f field) validations() {
	from, to := ruleTexts(f.a), ruleTexts(f.b)
	for _, rule := range sortedKeys(to) {
		old, ok := from[rule]
		switch {
		case !ok:
			f.add(ValidationAdded, finding.Warning, "", rule, stricter)
		case old != to[rule]:
			f.add(ValidationReworded, finding.Info, rule, rule, "the same rule answers in other words, or at another place")
		}
	}
	for _, rule := range sortedKeys(from) {
		if _, ok := to[rule]; !ok {
			f.add(ValidationRemoved, finding.Info, rule, "", "clients have to accept objects that break it")
		}
	}
}

// ruleTexts are the rules, each with the rest of what is said about it.
func ruleTexts(s *schema) map[string]string {
	texts := map[string]string{}
	for _, rule := range s.XValidations {
		rest := rule
		rest.Rule = ""
		texts[rule.Rule] += asJSON(rest)
	}
	return texts
}

// combination: rules made of other schemas.
func (f field) combination() {
	from, to := combined(f.a), combined(f.b)
	switch {
	case from == to:
	case from == "":
		f.add(CombinationChanged, finding.Error, "", cut(to), "there was no such rule; "+stricter)
	case to == "":
		f.add(CombinationChanged, finding.Info, cut(from), "", "clients have to accept objects that break the old rule")
	default:
		f.add(CombinationChanged, finding.Warning, cut(from), cut(to), "whether it is stricter is not known; if it is, "+stricter)
	}
}

// combined is empty when there is no rule.
func combined(s *schema) string {
	only := schema{AllOf: plainly(s.AllOf), AnyOf: plainly(s.AnyOf), OneOf: plainly(s.OneOf), Not: s.Not}
	if s.XIntOrString && eitherType(only.AnyOf) {
		only.AnyOf = nil // it says the same
	}
	if len(only.AllOf)+len(only.AnyOf)+len(only.OneOf) == 0 && only.Not == nil {
		return ""
	}
	return asJSON(only)
}

// eitherType reports whether it is what generators write next to x-kubernetes-int-or-string.
func eitherType(some []schema) bool {
	return asJSON(some) == `[{"type":"integer"},{"type":"string"}]`
}

// plainly leaves descriptions out.
func plainly(some []schema) []schema {
	without := slices.Clone(some)
	for i := range without {
		without[i].Description, without[i].Title = "", ""
	}
	return without
}

// rest: whatever has no rule of its own.
func (f field) rest() {
	from, to := leftover(f.a), leftover(f.b)
	if from != to {
		f.add(SchemaChanged, finding.Warning, cut(from), cut(to), "its effect on objects is not known; apiextensions.k8s.io/v1 allows few fields that this comparison does not know")
	}
}

// leftover is a schema without what has a rule, empty if nothing is left.
func leftover(s *schema) string {
	if s.ID == "" && s.Schema == "" && s.Ref == nil && !s.UniqueItems && s.AdditionalItems == nil && s.AdditionalProperties == nil &&
		len(s.PatternProperties)+len(s.Dependencies)+len(s.Definitions) == 0 {
		return ""
	}
	return asJSON(schema{
		ID: s.ID, Schema: s.Schema, Ref: s.Ref, UniqueItems: s.UniqueItems,
		PatternProperties: s.PatternProperties, Dependencies: s.Dependencies, Definitions: s.Definitions, AdditionalItems: s.AdditionalItems,
		AdditionalProperties: s.AdditionalProperties,
	})
}
