package survivors

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A path leads to fields of an object: names with dots between them, as in spec.template. A name that has dots or slashes
// itself stands in brackets and quotes: metadata.annotations["example.com/config"]. [*] is every item of a list, or every
// value of a mapping, and ** is the value itself and every one below it, at any depth.
type steps []string

const (
	every = "[*]"
	deep  = "**"
)

// parsePath reads a path.
func parsePath(text string) (path steps, err error) {
	rest := strings.TrimPrefix(text, ".")
	for rest != "" {
		var s string
		switch {
		case strings.HasPrefix(rest, every):
			s, rest = every, rest[len(every):]
		case strings.HasPrefix(rest, `["`):
			inside, after, closed := strings.Cut(rest[2:], `"]`)
			if !closed || inside == "" {
				return nil, fmt.Errorf("path %q: a name in brackets ends with \"]", text)
			}
			s, rest = "."+inside, after
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if s, rest = "."+rest[:end], rest[end:]; s == "."+deep {
				s = deep
			} else if s == "." || strings.ContainsAny(s, `* ]"`) {
				return nil, fmt.Errorf("path %q: %q is no name, no [*] and no **", text, s[1:])
			}
		}
		path = append(path, s)
		if rest != "" && rest[0] != '[' && rest[0] != '.' {
			return nil, fmt.Errorf("path %q: a dot or a bracket is missing before %q", text, rest)
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	if len(path) == 0 {
		return nil, errors.New("a path is empty")
	}
	return path, nil
}

// values are those that a path leads to, each with where it is. What is not there is left out, and so is null.
func (p steps) values(at string, value any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) { p.walk(at, value, yield) }
}

func (p steps) walk(at string, value any, yield func(string, any) bool) bool {
	if value == nil {
		return true
	}
	if len(p) == 0 {
		return yield(at, value)
	}
	switch p[0] {
	case every:
		for where, item := range children(at, value) {
			if !p[1:].walk(where, item, yield) {
				return false
			}
		}
		return true
	case deep:
		if !p[1:].walk(at, value, yield) {
			return false
		}
		for where, item := range children(at, value) {
			if !p.walk(where, item, yield) {
				return false
			}
		}
		return true
	}
	name := p[0][1:]
	fields, _ := value.(map[string]any)
	return p[1:].walk(below(at, name), fields[name], yield)
}

// children are the items of a list and the values of a mapping, in their order.
func children(at string, value any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch v := value.(type) {
		case []any:
			for i, item := range v {
				if !yield(extend(at, "["+strconv.Itoa(i)+"]"), item) {
					return
				}
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if !yield(below(at, name), v[name]) {
					return
				}
			}
		}
	}
}

// below is the path of a field, as parsePath reads it.
func below(at, name string) string {
	switch {
	case len(at)+len(name) > longest: // or it would be copied first
		return extend(at, name)
	case strings.ContainsAny(name, `./[]"* `) || name == "":
		return extend(at, `["`+name+`"]`)
	case at == "":
		return extend(at, name)
	default:
		return extend(at, "."+name)
	}
}

// longest is how many bytes a path has at most, more or less. Fields may have names of megabytes, with a million fields below.
const longest = 1 << 10

// extend leads a path on, or reports that it does lead on.
func extend(at, part string) string {
	const on = "…"
	switch {
	case len(at)+len(part) <= longest:
		return at + part
	case strings.HasSuffix(at, on):
		return at
	default:
		return at + on
	}
}
