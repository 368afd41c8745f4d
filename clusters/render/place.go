package render

import (
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// placeIn looks for an object in a file.
func placeIn(file, kind, name string, fields []string) finding.Place {
	content, err := ReadRegular(file)
	if err != nil {
		return finding.Place{File: file}
	}
	parsed, err := sourceOf(content)
	if err != nil {
		return finding.Place{File: file}
	}
	if found := named(parsed.documents, kind, name); found != nil {
		return found.place(file, fields)
	}
	return finding.Place{File: file}
}

// named is the document of an object. A build may have put a prefix and a suffix to its name; then the longest name
// that fits is the one, if there is only one.
func named(documents []document, kind, name string) *document {
	var best *document
	length, several := -1, false
	for i := range documents {
		d := &documents[i]
		switch {
		case d.kind() != kind:
			continue
		case d.name() == name:
			return d
		case !strings.Contains(name, d.name()) || len(d.name()) < length:
			continue
		}
		several = len(d.name()) == length
		best, length = d, len(d.name())
	}
	if several {
		return nil
	}
	return best
}
