package notes

import (
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/change"
)

// phrases say what has changed; %[1]s is the value before and %[2]s the value after.
var phrases = map[change.Rule]string{
	change.CRDAdded:                  "is new",
	change.CRDRemoved:                "is gone",
	change.GroupChanged:              "the group was %[1]s and is %[2]s",
	change.KindChanged:               "the kind was %[1]s and is %[2]s",
	change.PluralChanged:             "the plural name was %[1]s and is %[2]s",
	change.ScopeChanged:              "the scope was %[1]s and is %[2]s",
	change.ListKindChanged:           "the kind of lists was %[1]s and is %[2]s",
	change.SingularChanged:           "the singular name was %[1]s and is %[2]s",
	change.ShortNamesAdded:           "new short names: %[2]s",
	change.ShortNamesRemoved:         "short names that are gone: %[1]s",
	change.CategoriesAdded:           "new categories: %[2]s",
	change.CategoriesRemoved:         "categories that are gone: %[1]s",
	change.OptInLabelGained:          "Moult migrates its objects",
	change.OptInLabelLost:            "Moult does not migrate its objects any more",
	change.PruningOn:                 "fields outside of the schema are dropped",
	change.PruningOff:                "fields outside of the schema are kept",
	change.StorageFlipped:            "objects are stored at it, and were at %[1]s",
	change.StorageFlippedAndRemoved:  "objects were stored at it, and are at %[2]s",
	change.ServedOn:                  "is served",
	change.ServedOff:                 "is not served any more",
	change.VersionDeprecated:         "the version is deprecated",
	change.VersionUndeprecated:       "the version is not deprecated any more",
	change.DeprecationWarningChanged: "the deprecation's warning is %[2]s",
	change.FieldNotInAll:             "is not in every served version",
	change.ConversionWebhookAdded:    "a webhook converts between versions: %[2]s",
	change.ConversionWebhookRemoved:  "no webhook converts between versions any more",
	change.ConversionWebhookMoved:    "the conversion webhook was at %[1]s and is at %[2]s",
	change.ConversionCAChanged:       "the conversion webhook has another certificate authority",
	change.ReviewVersionsNarrowed:    "the conversion webhook takes %[2]s of ConversionReview, and took %[1]s",
	change.ReviewVersionsWidened:     "the conversion webhook takes %[2]s of ConversionReview, and took %[1]s",
	change.StatusSubresourceAdded:    "`/status`",
	change.StatusSubresourceRemoved:  "`/status`",
	change.ScaleSubresourceAdded:     "`/scale`",
	change.ScaleSubresourceChanged:   "`/scale` stands for %[2]s, and stood for %[1]s",
	change.ScaleSubresourceRemoved:   "`/scale`",
	change.PrinterColumnsChanged:     "columns of `kubectl get`: %[2]s",
	change.SelectableFieldsAdded:     "field selectors take %[2]s",
	change.SelectableFieldsRemoved:   "field selectors do not take %[1]s any more",
	change.FieldAdded:                "(%[2]s)",
	change.FieldRemoved:              "(%[1]s)",
	change.FieldLost:                 "(%[1]s)",
	change.FieldDeprecated:           "%[2]s",
	change.FieldTypeChanged:          "was %[1]s and is %[2]s",
	change.FieldRequired:             "is required",
	change.FieldOptional:             "is optional",
	change.DefaultAdded:              "has a default: %[2]s",
	change.DefaultChanged:            "has another default: %[2]s, and had %[1]s",
	change.DefaultRemoved:            "has no default any more; it was %[1]s",
	change.EnumAdded:                 "takes only %[2]s",
	change.EnumRemoved:               "takes any value, and took only %[1]s",
	change.EnumValuesAdded:           "takes %[2]s, too",
	change.EnumValuesRemoved:         "does not take %[1]s any more",
	change.FormatChanged:             "the format was %[1]s and is %[2]s",
	change.PatternAdded:              "has to match %[2]s",
	change.PatternChanged:            "has to match %[2]s, and had to match %[1]s",
	change.PatternRemoved:            "does not have to match %[1]s any more",
	change.LimitTightened:            "has a tighter limit: %[2]s, and had %[1]s",
	change.LimitLoosened:             "has a looser limit: %[2]s, and had %[1]s",
	change.NullAllowed:               "may be null",
	change.NullForbidden:             "may not be null any more",
	change.ListTypeChanged:           "is merged as %[2]s, and was as %[1]s",
	change.MapTypeChanged:            "is merged as %[2]s, and was as %[1]s",
	change.UnknownFieldsKept:         "keeps unknown fields",
	change.UnknownFieldsPruned:       "does not keep unknown fields any more",
	change.EmbeddedResourceChanged:   "embeds a whole object: %[2]s, and was %[1]s",
	change.ValidationAdded:           "has to hold: %[2]s",
	change.ValidationRemoved:         "does not have to hold any more: %[1]s",
	change.ValidationReworded:        "says something else when this is broken: %[2]s",
	change.CombinationChanged:        "has other combined rules: %[2]s, and had %[1]s",
	change.SchemaChanged:             "has another schema: %[2]s, and had %[1]s",
	change.SchemaTooLarge:            "is too large to be compared",
}

// plain values are words and not what somebody would type.
var plain = map[change.Rule]bool{
	change.FieldAdded: true, change.FieldRemoved: true, change.FieldLost: true, change.FieldDeprecated: true, change.FieldTypeChanged: true,
	change.ConversionWebhookAdded: true, change.LimitTightened: true, change.LimitLoosened: true, change.ListTypeChanged: true,
	change.MapTypeChanged: true, change.ScaleSubresourceChanged: true, change.DeprecationWarningChanged: true,
}

// say is a change as a phrase.
func say(c change.Change) string {
	phrase, ok := phrases[c.Rule]
	if !ok {
		phrase = string(c.Rule) + ": %[2]s, and was %[1]s"
	}
	shown := code
	if plain[c.Rule] {
		shown = words
	}
	text := fmt.Sprintf(phrase+"%.0[1]s%.0[2]s", shown(c.From), shown(c.To))
	switch {
	case c.Rule == change.FieldNotInAll:
		return "is not in " + code(c.Against)
	case c.Rule == change.VersionDeprecated && c.To != "":
		text += ": " + words(c.To)
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

// words are a value as plain text, in one line.
func words(value string) string {
	if value == "" {
		return "none"
	}
	return special.Replace(strings.Join(strings.Fields(value), " "))
}
