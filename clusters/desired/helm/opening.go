package helm

import (
	"errors"
	"regexp"
	"slices"

	"github.com/moult-dev/moult/clusters/charts"
)

// An Opening puts a word in the place of what only a cluster gives, and notes where that is.
type Opening struct {
	part *regexp.Regexp
	open charts.Open
	err  error
}

// NewOpening takes what the pattern finds for a part of a text that only a cluster gives.
func NewOpening(part *regexp.Regexp) *Opening { return &Opening{part: part} }

// Word stands in the place of what is open. It is a name, and a part of a host or a path.
const Word = "unknown"

// Value fills in values, which are changed, at a path.
func (o *Opening) Value(at []string, value any) any {
	switch v := value.(type) {
	case string:
		return o.Text(at, v)
	case []any:
		for i, item := range v {
			v[i] = o.Value(at, item)
		}
	case map[string]any:
		for key, item := range v {
			if o.part.MatchString(key) {
				o.err = errors.New("the name of a value is not known")
			}
			v[key] = o.Value(append(slices.Clone(at), key), item)
		}
	}
	return value
}

// Text fills in a value that is a text.
func (o *Opening) Text(at []string, text string) string {
	if o.part.MatchString(text) {
		o.Unknown(at)
	}
	return o.part.ReplaceAllString(text, Word)
}

// Release fills in the name or the namespace of a release.
func (o *Opening) Release(text string) string {
	o.open.Release = o.open.Release || o.part.MatchString(text)
	return o.part.ReplaceAllString(text, Word)
}

// Unknown notes that a value and all below it are not known; all values without a path.
func (o *Opening) Unknown(at []string) { o.open.Values = append(o.open.Values, at) }
