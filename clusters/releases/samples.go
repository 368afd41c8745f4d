package releases

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// mostOfSample is how large a file is that is looked at for samples.
const mostOfSample = 4 << 20

// sampled are folders that hold what users copy.
var sampled = []string{"samples", "examples", "docs"}

// notSampled are those that users do not copy from: somebody else's, tests', and designs, which are as old as they are.
var notSampled = append([]string{"testdata", "test", "tests", "e2e", "proposals", "design", "designs", "enhancements", "adr", "adrs", "rfcs"}, others...)

// samples are the objects of the release's own kinds that it shows to users. What is no YAML, such as a template, is passed over.
func samples(ctx context.Context, release Release) (all []deprecation.Sample) {
	groups := words.Of(release.CRDs, func(crd *apiextensionsv1.CustomResourceDefinition) []byte { return []byte(crd.Spec.Group + "/") })
	for name, entry := range entries(release.Files, notSampled) {
		if ctx.Err() != nil {
			break
		}
		if !entry.Type().IsRegular() || !shown(name) {
			continue
		}
		content := contentOf(release.Files, name)
		if slices.ContainsFunc(groups, func(group []byte) bool { return bytes.Contains(content, group) }) {
			all = append(all, inFile(name, string(content))...)
		}
	}
	return all
}

// shown reports whether a file is one of those that users copy from.
func shown(name string) bool {
	among := slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(part string) bool { return slices.Contains(sampled, part) })
	return name == "README.md" || among && (isManifest(name) || path.Ext(name) == ".md")
}

// contentOf is a file's, empty if it is too large or cannot be read. Links are no files, so none leads elsewhere.
func contentOf(files fs.FS, name string) []byte {
	if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() || info.Size() > mostOfSample {
		return nil // a pipe would be waited for
	}
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil
	}
	return content
}

// inFile are the objects of a manifest, or of the blocks of YAML in Markdown.
func inFile(name, content string) (all []deprecation.Sample) {
	lines := strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n")
	if path.Ext(name) != ".md" {
		return inLines(name, 0, lines)
	}
	from, indent, mark := -1, "", ""
	for i, line := range lines {
		trimmed := strings.TrimLeft(line, " \t")
		switch fence := opens.FindStringSubmatch(line); {
		case mark == "" && fence != nil:
			from, indent, mark = -1, fence[1], fence[2]
			if slices.Contains([]string{"yaml", "yml"}, strings.ToLower(fence[3])) {
				from = i + 1
			}
		case mark != "" && strings.HasPrefix(trimmed, mark) && strings.Trim(trimmed, mark[:1]+" \t") == "":
			if from >= 0 {
				block := words.Of(lines[from:i], func(inside string) string { return strings.TrimPrefix(inside, indent) })
				all = append(all, inLines(name, from, block)...)
			}
			mark = ""
		}
	}
	return all
}

// opens is how a block begins: its indentation, the marks, and the language.
var opens = regexp.MustCompile("^([ \\t]*)(```+|~~~+)[ \\t]*([A-Za-z]*)")

// inLines are the objects of the documents in some lines, of which the first one is after so many others.
func inLines(name string, before int, lines []string) (all []deprecation.Sample) {
	for len(lines) > 0 {
		end := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "---") })
		document := lines
		if end >= 0 {
			document = lines[:end]
		}
		text := strings.Join(document, "\n")
		if object := objectOf(text); object != nil {
			line := slices.IndexFunc(document, func(line string) bool {
				return strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "#")
			})
			all = append(all, deprecation.Sample{Place: finding.Place{File: name, Line: before + line + 1}, Object: object, Fragment: isFragment(name, text, object)})
		}
		if end < 0 {
			break
		}
		before, lines = before+end+1, lines[end+1:]
	}
	return all
}

// objectOf is the object of a document; nil if it is none, or a template.
func objectOf(text string) (object map[string]any) {
	if strings.Contains(text, "{{") {
		return nil
	}
	raw, err := unpacking.YAMLToJSONStrict([]byte(text))
	if err != nil || utiljson.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// left is what stands for something that is left out or is to be filled in.
var left = regexp.MustCompile(`(?m)\$\{?[A-Za-z_]|<[A-Za-z][^<>\n]*>|^\s*(?:#\s*|-\s*)?(?:\.\.\.|…)|:\s*["']?(?:\.\.\.|…)["']?\s*$`)

// isFragment reports whether an object does not claim to be whole: a patch, one without a name, or with something left out.
func isFragment(name, text string, object map[string]any) bool {
	meta, _ := object["metadata"].(map[string]any)
	return meta["name"] == nil && meta["generateName"] == nil || strings.Contains(path.Base(name), "patch") || left.MatchString(text)
}
