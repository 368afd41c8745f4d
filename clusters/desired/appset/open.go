package appset

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
)

// One cluster may stand in for all, if nothing is known about them. What only a cluster gives stays in the texts as it is written, between
// braces.

// openText puts in what is known. A text in Go that decides something, or of which one part cannot be told from another, stays whole.
func (f filler) openText(text string, given parameters) (string, error) {
	if f.isGo && decides.MatchString(text) {
		return text, nil
	}
	var failed error
	filled := name.ReplaceAllStringFunc(text, func(found string) string {
		inside := name.FindStringSubmatch(found)[1]
		if !f.isGo {
			if value, known := given[inside]; known {
				return fmt.Sprint(value)
			}
			return found
		}
		if text, isText := delivery.Wrap(given).Field(strings.Split(strings.TrimPrefix(inside, "."), ".")...).(string); isText && strings.HasPrefix(inside, ".") {
			return text
		}
		if !isKnown(inside, given) {
			return found
		}
		value, err := f.goText(found, given)
		if err != nil {
			failed = err
		}
		return value
	})
	return filled, failed
}

// decides is what has a template in Go do more than to put in values one by one.
var decides = regexp.MustCompile(`\{\{-|-\}\}|\{\{\s*(if|else|end|range|with|block|define|template|break|continue|/\*)\b|:=|\$`)

var (
	// quoted are texts in a template, and fieldOf what it takes from the parameters.
	quoted  = regexp.MustCompile("\"[^\"]*\"|`[^`]*`")
	fieldOf = regexp.MustCompile(`\.[\w.]*`)
)

// isKnown reports whether all that a part of a template in Go takes is given, and is the same for each cluster.
func isKnown(inside string, given parameters) bool {
	fields := fieldOf.FindAllString(quoted.ReplaceAllString(inside, ""), -1)
	return !slices.ContainsFunc(fields, func(field string) bool {
		steps := strings.Split(strings.TrimPrefix(field, "."), ".")
		value := delivery.Wrap(given).Field(steps...)
		return field == "." || value == nil || IsOpen(value)
	})
}

// IsOpen reports whether a value has something in it that only a cluster gives.
func IsOpen(value any) bool {
	switch v := value.(type) {
	case string:
		return isTemplated(v)
	case []any:
		return slices.ContainsFunc(v, IsOpen)
	case map[string]any:
		for key, inner := range v {
			if isTemplated(key) || IsOpen(inner) {
				return true
			}
		}
	}
	return false
}

// ofACluster is a part of a text that is put in as it is, whichever cluster it is.
var ofACluster = regexp.MustCompile(`^\{\{\s*\.?(name|nameNormalized|metadata\.(labels|annotations)\.[\w./-]+)\s*\}\}$`)

// IsPlain reports whether all that is open in a text is a name of a cluster, a label or an annotation.
func IsPlain(text string) bool {
	return !slices.ContainsFunc(placeholder.FindAllString(text, -1), func(found string) bool { return !ofACluster.MatchString(found) }) &&
		!isTemplated(placeholder.ReplaceAllString(text, ""))
}

// mostMerged is how many sets of parameters a merge may give.
const mostMerged = 1000

// mergedOpen is what the parameters of a first generator become if they may have the keys of others: both stay.
func mergedOpen(all, above []parameters, keys []string) (found []parameters, err error) {
	found = slices.Clone(all)
	for _, over := range above {
		for i, one := range slices.Clone(found) {
			isKnown := func(key string) bool {
				return one[key] != nil && over[key] != nil && !IsOpen(one[key]) && !IsOpen(over[key])
			}
			known := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !isKnown(key) })
			switch {
			case keyOf(one, known) != keyOf(over, known):
			case len(known) == len(keys):
				found[i] = merged(one, over)
			case len(found) >= mostMerged:
				return nil, ErrClusters
			default:
				found = append(found, merged(one, over))
			}
		}
	}
	return found, nil
}

// WithoutOpen is a text with a word for each part that is open.
func WithoutOpen(text string) string { return placeholder.ReplaceAllString(text, "cluster") }
