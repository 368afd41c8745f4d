package releasenotes

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
)

// phrases say what has changed; %[1]s is the value before and %[2]s the value after.
var phrases = map[crddiff.Rule]string{
	crddiff.CRDAdded:                  "is new",
	crddiff.CRDRemoved:                "is removed",
	crddiff.GroupChanged:              "the group was %[1]s and is %[2]s",
	crddiff.KindChanged:               "the kind was %[1]s and is %[2]s",
	crddiff.PluralChanged:             "the plural name was %[1]s and is %[2]s",
	crddiff.ScopeChanged:              "the scope was %[1]s and is %[2]s",
	crddiff.ListKindChanged:           "the kind of lists was %[1]s and is %[2]s",
	crddiff.SingularChanged:           "the singular name was %[1]s and is %[2]s",
	crddiff.ShortNamesAdded:           "new short names: %[2]s",
	crddiff.ShortNamesRemoved:         "short names that are removed: %[1]s",
	crddiff.CategoriesAdded:           "new categories: %[2]s",
	crddiff.CategoriesRemoved:         "categories that are removed: %[1]s",
	crddiff.OptInLabelGained:          "Moult migrates its objects",
	crddiff.OptInLabelLost:            "Moult does not migrate its objects any more",
	crddiff.PruningOn:                 "fields outside of the schema are dropped",
	crddiff.PruningOff:                "fields outside of the schema are kept",
	crddiff.StorageFlipped:            "objects are stored at it, and were at %[1]s",
	crddiff.StorageFlippedAndRemoved:  "objects were stored at it, and are at %[2]s",
	crddiff.ServedOn:                  "is served",
	crddiff.ServedOff:                 "is not served any more",
	crddiff.VersionDeprecated:         "the version is deprecated",
	crddiff.VersionUndeprecated:       "the version is not deprecated any more",
	crddiff.DeprecationWarningChanged: "the deprecation's warning is %[2]s",
	crddiff.FieldNotInAll:             "is not in every served version",
	crddiff.ConversionWebhookAdded:    "a webhook converts between versions: %[2]s",
	crddiff.ConversionWebhookRemoved:  "no webhook converts between versions any more",
	crddiff.ConversionWebhookMoved:    "the conversion webhook was at %[1]s and is at %[2]s",
	crddiff.ConversionCAChanged:       "the conversion webhook has another certificate authority",
	crddiff.ReviewVersionsNarrowed:    "the conversion webhook takes %[2]s of ConversionReview, and took %[1]s",
	crddiff.ReviewVersionsWidened:     "the conversion webhook takes %[2]s of ConversionReview, and took %[1]s",
	crddiff.StatusSubresourceAdded:    "`/status`",
	crddiff.StatusSubresourceRemoved:  "`/status`",
	crddiff.ScaleSubresourceAdded:     "`/scale`",
	crddiff.ScaleSubresourceChanged:   "`/scale` stands for %[2]s, and stood for %[1]s",
	crddiff.ScaleSubresourceRemoved:   "`/scale`",
	crddiff.PrinterColumnsChanged:     "columns of `kubectl get`: %[2]s",
	crddiff.SelectableFieldsAdded:     "field selectors take %[2]s",
	crddiff.SelectableFieldsRemoved:   "field selectors do not take %[1]s any more",
	crddiff.FieldAdded:                "(%[2]s)",
	crddiff.FieldRemoved:              "(%[1]s)",
	crddiff.FieldLost:                 "(%[1]s)",
	crddiff.FieldDeprecated:           "%[2]s",
	crddiff.FieldTypeChanged:          "was %[1]s and is %[2]s",
	crddiff.FieldRequired:             "is required",
	crddiff.FieldOptional:             "is optional",
	crddiff.DefaultAdded:              "has a default: %[2]s",
	crddiff.DefaultChanged:            "has another default: %[2]s, and had %[1]s",
	crddiff.DefaultRemoved:            "has no default any more; it was %[1]s",
	crddiff.EnumAdded:                 "takes only %[2]s",
	crddiff.EnumRemoved:               "takes any value, and took only %[1]s",
	crddiff.EnumValuesAdded:           "takes %[2]s, too",
	crddiff.EnumValuesRemoved:         "does not take %[1]s any more",
	crddiff.FormatChanged:             "the format was %[1]s and is %[2]s",
	crddiff.PatternAdded:              "has to match %[2]s",
	crddiff.PatternChanged:            "has to match %[2]s, and had to match %[1]s",
	crddiff.PatternRemoved:            "does not have to match %[1]s any more",
	crddiff.LimitTightened:            "has a tighter limit: %[2]s, and had %[1]s",
	crddiff.LimitLoosened:             "has a looser limit: %[2]s, and had %[1]s",
	crddiff.NullAllowed:               "may be null",
	crddiff.NullForbidden:             "may not be null any more",
	crddiff.ListTypeChanged:           "is merged as %[2]s, and was as %[1]s",
	crddiff.MapTypeChanged:            "is merged as %[2]s, and was as %[1]s",
	crddiff.UnknownFieldsKept:         "keeps unknown fields",
	crddiff.UnknownFieldsPruned:       "does not keep unknown fields any more",
	crddiff.EmbeddedResourceChanged:   "embeds a whole object: %[2]s, and was %[1]s",
	crddiff.ValidationAdded:           "has to hold: %[2]s",
	crddiff.ValidationRemoved:         "does not have to hold any more: %[1]s",
	crddiff.ValidationReworded:        "says something else when this is broken: %[2]s",
	crddiff.CombinationChanged:        "has other combined rules: %[2]s, and had %[1]s",
	crddiff.SchemaChanged:             "has another schema: %[2]s, and had %[1]s",
	crddiff.SchemaTooLarge:            "is too large to be compared",
}

// plain values are words and not what somebody would type.
var plain = map[crddiff.Rule]bool{
	crddiff.FieldAdded: true, crddiff.FieldRemoved: true, crddiff.FieldLost: true, crddiff.FieldDeprecated: true, crddiff.FieldTypeChanged: true,
	crddiff.ConversionWebhookAdded: true, crddiff.LimitTightened: true, crddiff.LimitLoosened: true, crddiff.ListTypeChanged: true,
	crddiff.MapTypeChanged: true, crddiff.ScaleSubresourceChanged: true, crddiff.DeprecationWarningChanged: true,
}

// say is a change as a phrase.
func say(c crddiff.Change) string {
	phrase, ok := phrases[c.Rule]
	if !ok {
		phrase = string(c.Rule) + ": %[2]s, and was %[1]s"
	}
	shown := code
	if plain[c.Rule] {
		shown = escaped
	}
	text := fmt.Sprintf(phrase+"%.0[1]s%.0[2]s", shown(c.From), shown(c.To))
	switch {
	case c.Rule == crddiff.FieldNotInAll:
		return "is not in " + code(c.Against)
	case c.Rule == crddiff.VersionDeprecated && c.To != "":
		text += ": " + escaped(c.To)
	}
	return text
}

// code is a value as Markdown shows what one types.
func code(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	switch {
	case value == "":
		return "none"
	case strings.Contains(value, "`"):
		return "`` " + strings.ReplaceAll(value, "``", "` `") + " ``"
	default:
		return "`" + value + "`"
	}
}

// special are what Markdown and HTML would take for themselves.
var special = strings.NewReplacer("\\", "\\\\", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "|", "\\|")

// escaped is a value as plain text, in one line.
func escaped(value string) string {
	if value == "" {
		return "none"
	}
	return special.Replace(strings.Join(strings.Fields(value), " "))
}
