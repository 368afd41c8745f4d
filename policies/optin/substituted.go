package optin

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// substituted: Flux takes ${…} for a variable wherever it stands, in a description or a pattern, too. Then the build
// fails, or the schema in the cluster is another one than in Git.
func substituted(c check, crd delivery.CRD) []Found {
	const setting = delivery.FluxGroup + "/substitute"
	by := c.unit.By
	if by == nil || c.unit.Tool != delivery.Flux || !substitutes(by) ||
		crd.Field("metadata", "annotations", setting) == "disabled" || crd.Field("metadata", "labels", setting) == "disabled" {
		return nil
	}
	field, text := variable(crd.Object.Object, by.TextMap("spec", "postBuild", "substitute"))
	if text == "" {
		return nil
	}
	return aboutCRD(crd, field,
		fmt.Sprintf("Flux takes %s for a variable (spec.postBuild of Kustomization %s), so the build fails or the CRD is changed on its way", text, by.GetName()),
		fmt.Sprintf("annotate the CRD with %s: disabled, or write $%s", setting, text))
}

// substitutes reports whether Flux looks for variables at all.
func substitutes(kustomization *delivery.Object) bool {
	inline, _ := kustomization.Field("spec", "postBuild", "substitute").(map[string]any)
	from, _ := kustomization.Field("spec", "postBuild", "substituteFrom").([]any)
	return len(inline)+len(from) > 0 || kustomization.Text("spec", "postBuild", "substituteStrategy") == "Always"
}

// variable finds the first ${…} that has no value on purpose, and the field that holds it.
func variable(value any, known map[string]string) (where []string, text string) {
	for at, value := range crdschema.Each(value) {
		key, _ := at.Last().(string)
		held, _ := value.(string)
		if text := cmp.Or(unknownVariable(key, known), unknownVariable(held, known)); text != "" {
			return words.Of(at, func(step any) string { return fmt.Sprint(step) }), text
		}
	}
	return nil, ""
}

var variablePattern = regexp.MustCompile(`^\$\{(\w*)[^}]*\}?`)

// unknownVariable skips $$, with which a dollar is written, and variables that are known by name.
func unknownVariable(text string, known map[string]string) string {
	for i := strings.IndexByte(text, '$'); i >= 0 && i+1 < len(text); {
		skip := 1
		if text[i+1] == '$' {
			skip = 2
		} else if found := variablePattern.FindStringSubmatch(text[i:]); found != nil {
			if _, ok := known[found[1]]; !ok {
				return found[0]
			}
		}
		next := strings.IndexByte(text[i+skip:], '$')
		if next < 0 {
			return ""
		}
		i += skip + next
	}
	return ""
}
