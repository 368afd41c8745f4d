package preview

import (
	"slices"

	"github.com/moult-dev/moult/policies/change"
	"github.com/moult-dev/moult/policies/finding"
)

// judgedElsewhere are changes that the gate or the roll-out judges, with more knowledge.
var judgedElsewhere = []change.Rule{change.VersionRemoved, change.CRDRemoved}

// asksMore are changes after which objects that were fine are refused, or clients have to change, while nothing that is
// stored is lost. An owner of the API may want them.
var asksMore = []change.Rule{
	change.ServedOff, change.OptInLabelLost,
	change.FieldRequired, change.DefaultRemoved, change.DefaultChanged, change.EnumAdded, change.EnumValuesRemoved, change.PatternAdded,
	change.PatternChanged, change.LimitTightened, change.NullForbidden, change.ValidationAdded, change.CombinationChanged, change.FormatChanged,
	change.FieldTypeChanged, change.StatusSubresourceRemoved, change.ScaleSubresourceRemoved, change.ConversionCAChanged,
	change.ReviewVersionsNarrowed, change.SchemaTooLarge, change.SchemaChanged, change.EmbeddedResourceChanged, change.ListTypeChanged, change.MapTypeChanged,
}

// weigh is what a change does to the verdict by itself; false if that is judged elsewhere.
func weigh(c change.Change) (Verdict, bool) {
	switch {
	case slices.Contains(judgedElsewhere, c.Rule):
		return Safe, false
	case c.Severity == finding.Error && slices.Contains(asksMore, c.Rule):
		return Warned, true
	default:
		return verdictOf(c.Severity), true
	}
}

func verdictOf(s finding.Severity) Verdict {
	switch s {
	case finding.Error:
		return Blocked
	case finding.Warning:
		return Warned
	case finding.Info:
	}
	return Safe
}

// gravity orders verdicts: what is blocked for sure is worse than what nobody knows.
var gravity = []Verdict{Safe, Warned, Unknown, Blocked}

func worse(a, b Verdict) bool { return slices.Index(gravity, a) > slices.Index(gravity, b) }
