package render

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is where something was written.
type Place struct {
	// File is a path that can be opened, the name of a stream, or a path in Repo.
	File string
	// Line counts from 1, and is 0 when it cannot be told.
	Line int
	// Repo and Ref are set when Kustomize fetched the file from there.
	Repo, Ref string
	// Template is the file of the chart that the object was rendered from, as Helm tells it in a comment.
	Template string
}

// String is the place as compilers write it, for example crds/widgets.yaml:12.
func (p Place) String() string {
	text := p.File
	if p.Repo != "" {
		text = fmt.Sprintf("%s//%s?ref=%s", p.Repo, p.File, p.Ref)
	}
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
	}
	if p.Template != "" {
		text += " (" + p.Template + ")"
	}
	return text
}

// placeIn looks for an object in a file.
func placeIn(file, kind, name string, fields []string) Place {
	content, err := ReadRegular(file)
	if err != nil {
		return Place{File: file}
	}
	parsed, err := sourceOf(content)
	if err != nil {
		return Place{File: file}
	}
	if found := named(parsed.documents, kind, name); found != nil {
		return found.place(file, fields)
	}
	return Place{File: file}
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
