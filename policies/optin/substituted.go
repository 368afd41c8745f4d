package optin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
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
	field, text := variable(crd.Object.Object, nil, by.TextMap("spec", "postBuild", "substitute"))
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
func variable(value any, field []string, known map[string]string) (where []string, text string) {
	switch v := value.(type) {
	case string:
		return field, unknownVariable(v, known)
	case []any:
		for i, item := range v {
			if where, text := variable(item, delivery.Under(field, strconv.Itoa(i)), known); text != "" {
				return where, text
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text := unknownVariable(key, known); text != "" {
				return delivery.Under(field, key), text
			}
			if where, text := variable(v[key], delivery.Under(field, key), known); text != "" {
				return where, text
			}
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
