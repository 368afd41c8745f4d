package preview

import (
	"slices"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/rollout"
)

// judgedElsewhere are changes that the gate or the roll-out judges, with more knowledge.
var judgedElsewhere = []crddiff.Rule{crddiff.VersionRemoved, crddiff.CRDRemoved}

// asksMore are changes after which objects that were fine are refused, or clients have to change, while nothing that is
// stored is lost. An owner of the API may want them.
var asksMore = []crddiff.Rule{
	crddiff.ServedOff, crddiff.OptInLabelLost,
	crddiff.FieldRequired, crddiff.DefaultRemoved, crddiff.DefaultChanged, crddiff.EnumAdded, crddiff.EnumValuesRemoved, crddiff.PatternAdded,
	crddiff.PatternChanged, crddiff.LimitTightened, crddiff.NullForbidden, crddiff.ValidationAdded, crddiff.CombinationChanged, crddiff.FormatChanged,
	crddiff.FieldTypeChanged, crddiff.StatusSubresourceRemoved, crddiff.ScaleSubresourceRemoved, crddiff.ConversionCAChanged,
	crddiff.ReviewVersionsNarrowed, crddiff.SchemaTooLarge, crddiff.SchemaChanged, crddiff.EmbeddedResourceChanged, crddiff.ListTypeChanged, crddiff.MapTypeChanged,
}

// weigh is what a change does to the verdict by itself; false if that is judged elsewhere.
func weigh(c crddiff.Change) (Verdict, bool) {
	switch {
	case slices.Contains(judgedElsewhere, c.Rule):
		return Safe, false
	case c.Severity == finding.Error && slices.Contains(asksMore, c.Rule):
		return Warned, true
	default:
		return verdictOf(c.Severity), true
	}
}

// losses are findings about changes that block by themselves, so that they stand beside the line of the diff.
func (d Delivered) losses(c crddiff.Diff) []finding.Finding {
	var found []finding.Finding
	for _, one := range c.Changes {
		v, why, counts := d.weigh(c.Name, one)
		if !counts || v != Blocked || one.Rule == crddiff.StorageFlippedAndRemoved {
			continue // of the latter, rollout says more
		}
		found = append(found, finding.Finding{
			Rule: string(one.Rule), Severity: finding.Error, CRD: c.Name, Cluster: d.Name, Place: d.place(c.Name), Why: why, Remediation: fixes[one.Rule],
		})
	}
	return found
}

// fixes are what to do about changes that lose something.
var fixes = map[crddiff.Rule]string{
	crddiff.FieldRemoved:             "keep the field in this version, or leave it out of a new one that a webhook converts to",
	crddiff.FieldLost:                "give the field a place in the storage version, convert with a webhook, or let it go with the annotation " + v1alpha1.AllowFieldLossAnnotation + "; a snapshot with --fields shows whether objects have it",
	crddiff.UnknownFieldsPruned:      "name the fields that are in use in the schema first",
	crddiff.PruningOn:                "name the fields that are in use in the schema first",
	crddiff.ConversionWebhookAdded:   "roll the webhook out first, and refer to it in a later commit",
	crddiff.ConversionWebhookMoved:   "roll the webhook out at the new address first, and refer to it in a later commit",
	crddiff.ConversionWebhookRemoved: "keep the webhook as long as the versions differ",
	crddiff.StorageFlipped:           "serve the version first, and store at it in a later commit",
	crddiff.GroupChanged:             "make another CRD, and move the objects to it",
	crddiff.KindChanged:              "make another CRD, and move the objects to it",
	crddiff.PluralChanged:            "make another CRD, and move the objects to it",
	crddiff.ScopeChanged:             "make another CRD, and move the objects to it",
}

// verdictOfFinding is what a finding does to the verdict: what cannot be seen and changes is not known, whatever it may be.
func verdictOfFinding(f finding.Finding) Verdict {
	if f.Acknowledged != "" {
		return Safe
	}
	if rollout.LeavesUnknown(f.Rule) || slices.Contains([]string{BaseNotBuilt, NewNotBuilt, CRDLeavesChart}, f.Rule) || f.Rule == NeitherBuilt && f.Severity != finding.Info {
		return Unknown
	}
	return verdictOf(f.Severity)
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

// gravity orders verdicts: what is blocked for sure is worse than what is not known.
var gravity = []Verdict{Safe, Warned, Unknown, Blocked}

// Weight orders verdicts: the graver, the greater. What is none is not known.
func (v Verdict) Weight() int {
	if weight := slices.Index(gravity, v); weight >= 0 {
		return weight
	}
	return Unknown.Weight()
}

func worse(a, b Verdict) bool { return a.Weight() > b.Weight() }
