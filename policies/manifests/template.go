package manifests

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/finding"
)

// isTemplate reports what only looks like YAML, because a template engine comes first.
func isTemplate(file string, p part) bool {
	if !bytes.Contains(p.content, []byte("{{")) {
		return false
	}
	return slices.ContainsFunc(p.roots, isTemplated) || slices.Contains(strings.Split(path.Dir(file), "/"), "templates")
}

// What these find is the key's indentation and the value. A brace or a comma comes first where JSON is in one line.
var (
	apiVersionLine = regexp.MustCompile(`(?:^|[{,])([\s-]*)["']?apiVersion["']?:\s*["']?([^\s"'#,}]+)`)
	kindLine       = regexp.MustCompile(`(?:^|[{,])([\s-]*)["']?kind["']?:\s*["']?([^\s"'#,}]+)`)
	nameLine       = regexp.MustCompile(`^\s+["']?name["']?:\s*["']?([^\s"'#,{}]+)["']?\s*(?:#.*)?$`)
)

// template finds versions in a document that is no YAML, line by line.
func (v *visitor) template(p part) {
	why := "the file is not YAML; look at it by hand"
	if bytes.Contains(p.content, []byte("{{")) {
		why = "a template; change it by hand, and look at the fields it sets"
	}
	for _, document := range split(p.content) {
		lines := newText(document.content)
		for i := range lines.starts {
			found := apiVersionLine.FindSubmatch(lines.line(i + 1))
			if found == nil {
				continue
			}
			group, version := groupVersion(strings.ReplaceAll(string(found[2]), `\/`, "/"))
			gk := GroupKind{group, kindNear(lines, i, len(found[1]))}
			if v.wants(gk, version) {
				v.found = append(v.found, match{Reference: Reference{
					Place: finding.Place{File: v.file, Line: p.above + document.above + i + 1}, GroupKind: gk, Version: version, Role: Template, Name: nameBelow(lines, i), Why: why,
				}})
			}
		}
	}
}

// kindNear is the kind beside the apiVersion of a line: the nearest one with the same indentation.
func kindNear(lines *text, at, indentation int) string {
	if found := kindLine.FindSubmatch(lines.line(at + 1)); found != nil {
		return string(found[2])
	}
	for distance := 1; distance < len(lines.starts); distance++ {
		for _, i := range []int{at + distance, at - distance} {
			if i < 0 || i >= len(lines.starts) {
				continue
			}
			if found := kindLine.FindSubmatch(lines.line(i + 1)); len(found) > 0 && len(found[1]) == indentation {
				return string(found[2])
			}
		}
	}
	return ""
}

// nameBelow is the name in the metadata below an apiVersion, unless it is a template itself.
func nameBelow(lines *text, at int) string {
	inMetadata := false
	for i := at + 1; i < len(lines.starts); i++ {
		line := lines.line(i + 1)
		switch {
		case bytes.HasPrefix(bytes.TrimSpace(line), []byte("metadata:")):
			inMetadata = true
		case inMetadata && nameLine.Match(line):
			return string(nameLine.FindSubmatch(line)[1])
		}
	}
	return ""
}
