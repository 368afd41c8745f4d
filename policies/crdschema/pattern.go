package crdschema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/moult-dev/moult/policies/words"
)

// A pattern is a path as it is written in an annotation: * is any one key, and [*] any item of a list. A key that could
// be taken for something else is quoted, as in metadata.labels["example.com/team"].

// bracket is an item of a list, or a quoted name.
var bracket = regexp.MustCompile(`\[(?:"[^"]*"|\d+|\*)\]`)

// AnyItem is a path, or a sentence with some, in which [*] stands for each index.
func AnyItem(path string) string {
	return bracket.ReplaceAllStringFunc(path, func(step string) string {
		if strings.HasPrefix(step, `["`) {
			return step
		}
		return "[*]"
	})
}

// join adds a name to a path.
func join(path, name string) string { return string(joined([]byte(path), name)) }

func joined(path []byte, name string) []byte {
	if !isPlain(name) {
		return append(path, quoted(name)...)
	}
	return append(dotted(path), name...)
}

func dotted(path []byte) []byte {
	if len(path) == 0 {
		return path
	}
	return append(path, '.')
}

// anyKey adds * to a path.
func anyKey(path string) string { return strings.TrimPrefix(path+".*", ".") }

// isPlain reports whether a name can be read as nothing else but that name.
func isPlain(name string) bool {
	return name != "" && name != "*" && !strings.ContainsFunc(name, func(r rune) bool {
		return strings.ContainsRune(`.,[]"\`, r) || unicode.IsSpace(r) || !unicode.IsGraphic(r)
	})
}

// quoted is a name in quotes and brackets. What would end it, or end a pattern in a list of some, is escaped as in JSON.
func quoted(name string) string {
	var text strings.Builder
	for _, r := range name {
		if strings.ContainsRune(".*[]", r) || isPlain(string(r)) {
			text.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
	}
	return `["` + text.String() + `"]`
}

// steps are the names and the brackets of a path, each as it is written.
func steps(path string) (all []string) {
	for path != "" {
		end := strings.IndexAny(path, ".[")
		if strings.HasPrefix(path, "[") {
			if end = 0; strings.HasPrefix(path, bracket.FindString(path)) {
				end = len(bracket.FindString(path))
			}
		}
		if end <= 0 {
			end = len(path)
		}
		all = append(all, path[:end])
		path = strings.TrimPrefix(path[end:], ".")
	}
	return all
}

// Unquoted is a path with dots alone, as people write it: two paths that differ in quotes only are one then.
func Unquoted(path string) string {
	plain := strings.Join(words.Of(steps(path), func(step string) string {
		if strings.HasPrefix(step, `["`) {
			step = strings.TrimSuffix(strings.TrimPrefix(step, `["`), `"]`)
		}
		return step
	}), ".")
	return strings.ReplaceAll(plain, ".[", "[")
}

// Allows reports whether one of some patterns is that of a lost field: * stands for any one name.
func Allows(patterns []string, lost string) bool {
	path := steps(lost)
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(steps(pattern), path) })
}

func matches(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, step string) bool {
		isItem := strings.HasPrefix(step, "[") && !strings.HasPrefix(step, `["`)
		return p == step || p == "*" && !isItem
	})
}

// Has reports whether an object has a field of a pattern.
func Has(object map[string]any, pattern string) bool { return hasAt(object, steps(pattern)) }

func hasAt(value any, pattern []string) bool {
	if len(pattern) == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if matches(pattern[:1], steps(join("", name))) && hasAt(inner, pattern[1:]) {
				return true
			}
		}
	case []any:
		for i, inner := range v {
			if (pattern[0] == "[*]" || pattern[0] == fmt.Sprintf("[%d]", i)) && hasAt(inner, pattern[1:]) {
				return true
			}
		}
	}
	return false
}

// Patterns are those in a list with commas or spaces between them, sorted.
func Patterns(list string) []string {
	patterns := words.Distinct(strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }))
	slices.Sort(patterns)
	return patterns
}

// InStatus reports whether a pattern is of a field of status, which the objects' controller writes anew.
func InStatus(pattern string) bool { return In("status", pattern) }

// In reports whether a pattern is of a field of an object, or of one in it.
func In(field, pattern string) bool { return pattern != "" && steps(pattern)[0] == field }
