package releasenotes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/words"
)

// order are sentences about what has to come before what. None means that it does not matter.
func order(crd crddiff.Diff) []string {
	if crd.Base == nil || crd.Head == nil {
		return nil
	}
	var sentences []string
	say := func(format string, args ...any) { sentences = append(sentences, fmt.Sprintf(format, args...)) }
	if c, ok := find(crd, crddiff.ConversionWebhookAdded); ok {
		say("The conversion webhook (%s) has to answer before the CRD is applied: without it, objects stored at another version can be neither read nor written.",
			escaped(strings.TrimPrefix(c.To, "Webhook ")))
	}
	if c, ok := find(crd, crddiff.ConversionWebhookMoved); ok {
		say("The conversion webhook has to answer at its new address (%s) before the CRD is applied, and at the old one until then.", escaped(c.To))
	}
	if _, ok := find(crd, crddiff.ConversionWebhookRemoved); ok {
		say("The conversion webhook has to run until the CRD is applied.")
	}
	removed, before := crd.Removed, crd.Base.Storage
	switch {
	case crd.Flips() && slices.Contains(removed, before):
		say("This release stores objects at %s and has no %s any more, so nothing can be rewritten on the way. First apply a CRD that has both and stores at %[1]s, and migrate; `moult bridge` writes one.", code(crd.Head.Storage), code(before))
	case crd.Flips():
		say("This release stores objects at %s. Do not skip it: what is stored at %s has to be rewritten while the CRD has both versions.", code(crd.Head.Storage), code(crd.Base.Storage))
	}
	if len(removed) > 0 {
		say("Migrate stored objects before this release is applied: the API server refuses the CRD while its `status.storedVersions` names %s. Clients and manifests have to be off %s, too.",
			list(removed, "or"), words.Agree(len(removed), "it", "them"))
	}
	if more(crd) {
		say("Apply the CRD before the operator: fields and versions that the API server does not know are dropped or refused.")
	}
	return sentences
}

// more reports whether the CRD takes what it did not take before.
func more(crd crddiff.Diff) bool {
	return slices.ContainsFunc(crd.Changes, func(c crddiff.Change) bool {
		return c.Rule == crddiff.VersionAdded || c.Rule == crddiff.FieldAdded && c.Against == "" || c.Rule == crddiff.EnumValuesAdded && c.Against == ""
	})
}

func find(crd crddiff.Diff, rule crddiff.Rule) (crddiff.Change, bool) {
	i := slices.IndexFunc(crd.Changes, func(c crddiff.Change) bool { return c.Rule == rule })
	if i < 0 {
		return crddiff.Change{}, false
	}
	return crd.Changes[i], true
}

// list writes names for people, with a word before the last one.
func list(names []string, word string) string {
	shown := words.Of(names, code)
	if len(shown) < 2 {
		return strings.Join(shown, "")
	}
	return strings.Join(shown[:len(shown)-1], ", ") + " " + word + " " + shown[len(shown)-1]
}
