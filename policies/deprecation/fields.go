package deprecation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// of is a change as a finding. It is no graver than the change.
func of(c crddiff.Change, why, fix string) Violation {
	return Violation{Finding: finding.Finding{Severity: c.Severity, Why: why, Remediation: fix}, Version: c.Version, Path: c.Field}
}

// said are changes that say themselves why they matter, and what to do.
func said(changes []crddiff.Change, fix string) []Violation {
	return words.Of(changes, func(c crddiff.Change) Violation { return of(c, c.Why, fix) })
}

// grave leaves out what is only worth a note.
func grave(changes []crddiff.Change) []crddiff.Change {
	return slices.DeleteFunc(changes, func(c crddiff.Change) bool { return c.Severity.Weight() <= finding.Info.Weight() })
}

// A version that was released keeps its fields, rule 1 of the deprecation policy, so what to do is always much the same.
const newVersion = "leave it as it is in this version, and change it in a new one that the conversion leads to"

// renames are the fields that go, with those that seem to take their place.
func (s *step) renames() map[crddiff.Change]crddiff.Change {
	type side struct{ version, parent, kind string }
	sideOf := func(c crddiff.Change) side { return side{c.Version, parent(c.Field), c.From + c.To} }
	gone, come := map[side][]crddiff.Change{}, map[side][]crddiff.Change{}
	for _, c := range s.within(crddiff.FieldRemoved) {
		gone[sideOf(c)] = append(gone[sideOf(c)], c)
	}
	for _, c := range s.within(crddiff.FieldAdded) {
		come[sideOf(c)] = append(come[sideOf(c)], c)
	}
	renamed := map[crddiff.Change]crddiff.Change{}
	for where, removed := range gone {
		if added := come[where]; len(removed) == 1 && len(added) == 1 && s.alike(removed[0], added[0]) {
			renamed[removed[0]] = added[0]
		}
	}
	return renamed
}

// alike reports whether what is in two fields has the same type, too.
func (s *step) alike(removed, added crddiff.Change) bool {
	was, is := schemaAt(s.was, removed.Version, removed.Field), schemaAt(s.is, added.Version, added.Field)
	for was != nil && is != nil && was.Type == "array" && is.Type == "array" {
		if was.Items == nil || is.Items == nil {
			return false
		}
		was, is = was.Items.Schema, is.Items.Schema
	}
	return was != nil && is != nil && was.Type == is.Type && slices.Equal(slices.Sorted(maps.Keys(was.Properties)), slices.Sorted(maps.Keys(is.Properties)))
}

// schemaAt is that of a field of a version; nil if there is none.
func schemaAt(crd *definition, version, path string) *apiextensionsv1.JSONSchemaProps {
	if v := crds.Version(crd, version); v != nil && v.Schema != nil {
		return crddiff.Fields(v.Schema.OpenAPIV3Schema)[path]
	}
	return nil
}

// parent is the path around a field.
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return ""
}

func fieldRenamed(s *step) (found []Violation) {
	renamed := s.renames()
	for _, c := range s.within(crddiff.FieldRemoved) {
		if to, is := renamed[c]; is {
			found = append(found, of(c,
				fmt.Sprintf("it is removed, and %s is added beside it with the same type, which looks like a new name (that is a guess). Objects and manifests that use the old name lose the value", to.Field),
				fmt.Sprintf("keep both for a release, read the old one where the new one is empty, and drop %s in a new version", c.Field)))
		}
	}
	return found
}

func fieldRemoved(s *step) (found []Violation) {
	renamed := s.renames()
	for _, c := range s.within(crddiff.FieldRemoved) {
		if _, is := renamed[c]; !is {
			found = append(found, of(c, "the field is removed from a version that was released: "+c.Why, newVersion))
		}
	}
	return found
}

func fieldTypeChanged(s *step) []Violation {
	return words.Of(s.within(crddiff.FieldTypeChanged), func(c crddiff.Change) Violation {
		return of(c, fmt.Sprintf("it was %s and is %s: %s", c.From, c.To, c.Why), newVersion)
	})
}

func fieldRequired(s *step) []Violation {
	return words.Of(s.within(crddiff.FieldRequired), func(c crddiff.Change) Violation {
		return of(c, "it has to be there from now on: "+c.Why, "leave it optional in this version, or give it a default")
	})
}

func enumValuesRemoved(s *step) (found []Violation) {
	for _, c := range s.within(crddiff.EnumValuesRemoved, crddiff.EnumAdded) {
		fix := newVersion
		if asks := s.Policy.Windows.of(levelOf(c.Version)).asks(); asks != "" {
			fix = "take the value until it was called deprecated for " + asks
		}
		found = append(found, of(c, c.Why, fix))
	}
	return found
}

func defaultChanged(s *step) []Violation {
	return said(s.within(crddiff.DefaultChanged, crddiff.DefaultRemoved), newVersion)
}

func validationTightened(s *step) []Violation {
	return said(grave(s.within(crddiff.PatternAdded, crddiff.PatternChanged, crddiff.LimitTightened, crddiff.ValidationAdded, crddiff.NullForbidden, crddiff.FormatChanged,
		crddiff.CombinationChanged, crddiff.ListTypeChanged, crddiff.MapTypeChanged, crddiff.EmbeddedResourceChanged, crddiff.SchemaChanged, crddiff.SchemaTooLarge)), "take in this version what it took when it was released")
}

func unknownFieldsPruned(s *step) []Violation {
	return append(said(grave(s.within(crddiff.UnknownFieldsPruned)), newVersion),
		said(s.changes(crddiff.PruningOn), "name in the schema what objects have; `moult rehearse` lists which fields they would lose")...)
}

func subresourceRemoved(s *step) (found []Violation) {
	for _, c := range s.changes(crddiff.StatusSubresourceRemoved, crddiff.ScaleSubresourceRemoved, crddiff.SelectableFieldsRemoved) {
		if !s.stays(c.Version) {
			continue
		}
		f := of(c, c.Why, newVersion)
		f.Severity, f.Path = "", ""
		if c.Rule == crddiff.SelectableFieldsRemoved {
			f.Why = "selectors of fields that clients use are refused: " + c.From
		}
		found = append(found, f)
	}
	return found
}

func conversionRemoved(s *step) []Violation {
	if s.is == nil {
		return nil
	}
	served := 0
	for _, v := range s.diff.Head.Versions {
		if v.Served {
			served++
		}
	}
	if served < 2 {
		return nil
	}
	return said(s.changes(crddiff.ConversionWebhookRemoved), "keep the webhook until one version is left")
}

func fieldLost(s *step) []Violation {
	return words.Of(s.changes(crddiff.FieldLost), func(c crddiff.Change) Violation {
		return of(c, c.Why, fmt.Sprintf("give %s the field, or convert with a webhook; `moult rehearse` lists which objects have it", c.Against))
	})
}

func fieldNotInAll(s *step) (found []Violation) {
	for _, c := range s.changes(crddiff.FieldNotInAll) {
		if s.stays(c.Version) {
			found = append(found, of(c, c.Why, fmt.Sprintf("give %s the field, too, or convert with a webhook", c.Against)))
		}
	}
	return found
}
