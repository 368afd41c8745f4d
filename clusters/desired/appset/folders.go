package appset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/words"
)

// placeholder is what a template has between braces, and severalFolders what may become more than one folder there.
var (
	placeholder    = regexp.MustCompile(`\{\{.*?\}\}`)
	severalFolders = regexp.MustCompile(`path|annotation|values`)
	// ofOneFolder is a whole path that is none.
	ofOneFolder = regexp.MustCompile(`name|label`)
	// branches is a path that is one of several texts.
	branches = regexp.MustCompile(`\{\{-?\s*(?:if|else|end|with|range)\b`)
)

// FoldersLike are those of some folders that a templated path of an ApplicationSet may become.
func FoldersLike(set *delivery.Object, templated string, folders []string) (found []string) {
	var like strings.Builder
	rest := strings.TrimPrefix(strings.TrimSuffix(templated, "/"), "./")
	isAny := branches.MatchString(rest) || strings.Contains(rest, "..") && strings.Contains(rest, "{{")
	if isAny || rest != "" && placeholder.FindString(rest) == rest && !ofOneFolder.MatchString(rest) && !severalFolders.MatchString(rest) {
		return folders // nothing is known of it
	}
	for at := placeholder.FindStringIndex(rest); at != nil; at = placeholder.FindStringIndex(rest) {
		like.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		like.WriteString(mayBecome(set, rest[at[0]:at[1]], at[1] == len(rest)))
		rest = rest[at[1]:]
	}
	pattern := regexp.MustCompile("^" + like.String() + regexp.QuoteMeta(rest) + "$")
	for _, folder := range folders {
		if pattern.MatchString(folder) || pattern.MatchString(folder+"/") { // nothing may come behind a slash
			found = append(found, folder)
		}
	}
	return found
}

// FixedParts are what a templated path may begin with, up to what is not known of it: folders, or all of it. Empty stands for the root.
func FixedParts(set *delivery.Object, templated string) []string {
	parts, rest := []string{""}, templated
	add := func(texts ...string) {
		var longer []string
		for _, part := range parts {
			for _, text := range texts {
				longer = append(longer, part+text)
			}
		}
		parts = longer
	}
	for at := placeholder.FindStringIndex(rest); at != nil; at = placeholder.FindStringIndex(rest) {
		add(rest[:at[0]])
		texts, known := valuesOf(set, rest[at[0]:at[1]], at[1] == len(rest))
		if rest = rest[at[1]:]; !known || len(parts)*len(texts) > mostParts {
			add("x") // to cut off what the placeholder is a part of
			parts, rest = words.Of(parts, path.Dir), ""
			break
		}
		add(texts...)
	}
	add(rest)
	return words.Distinct(words.Of(parts, func(part string) string { return strings.Trim(path.Clean("/"+part), "/") }))
}

// mostParts is how many values of a path are tried.
const mostParts = 100

// mayBecome is a pattern of what may take the place of a placeholder: what the generators give, if they say that.
func mayBecome(set *delivery.Object, placeholder string, isLast bool) string {
	if texts, known := valuesOf(set, placeholder, isLast); known {
		return "(?:" + strings.Join(words.Of(texts, regexp.QuoteMeta), "|") + ")"
	}
	if severalFolders.MatchString(placeholder) || mayHaveSlashes(set, placeholder) {
		return ".+"
	}
	return "[^/]+"
}

// valuesOf are the parts of a path that a placeholder may become, if the generators say that.
func valuesOf(set *delivery.Object, placeholder string, isLast bool) ([]string, bool) {
	key := ofValues.FindStringSubmatch(placeholder)
	if key == nil {
		return nil, false
	}
	texts, known := given(set.Entries("spec", "generators"), key[1])
	isPart := func(text string) bool { return fs.ValidPath(text) && text != "." || text == "" && isLast }
	return texts, known && !slices.ContainsFunc(texts, func(text string) bool { return !isPart(text) })
}

// mayHaveSlashes reports whether a placeholder may become several folders by its functions, or by what is given for it. The generators of an
// ApplicationSet give that, or the inputs of a ResourceSet.
func mayHaveSlashes(set *delivery.Object, placeholder string) bool {
	for at, value := range crdschema.Each(set.Field("spec", "generators")) {
		if slices.Contains(at, "elements") && isGiven(placeholder, at, value) || slices.Contains(at, "plugin") || slices.Contains(at, "elementsYaml") {
			return true
		}
	}
	for at, value := range crdschema.Each(set.Field("spec", "inputs")) {
		if isGiven(placeholder, at, value) {
			return true
		}
	}
	return strings.Contains(placeholder, "/") || set.Field("spec", "inputsFrom") != nil // a branch, for one
}

// isGiven reports whether a value with a slash, by its place, may be what a placeholder names.
func isGiven(placeholder string, at crdschema.Path, value any) bool {
	text, _ := value.(string)
	return strings.Contains(text, "/") && slices.ContainsFunc(at, func(step any) bool {
		key, isKey := step.(string)
		return isKey && strings.Contains(placeholder, key)
	})
}

// ofValues is a placeholder for one of the values that generators give.
var ofValues = regexp.MustCompile(`^\{\{\s*\.?values\.([\w-]+)\s*\}\}$`)

// given are the texts that generators give for values.KEY, in whichever cluster; not known if some may be of templates, of files or
// of another kind of generator.
func given(generators []*delivery.Object, key string) (texts []string, known bool) {
	for _, generator := range generators {
		for kind := range generator.Object {
			values := []any{generator.Field(kind, "values", key)}
			switch kind {
			case "clusters", "selector":
			case "list":
				for _, element := range generator.Entries(kind, "elements") {
					values = append(values, element.Field("values."+key), element.Field("values", key))
				}
			case "matrix", "merge":
				inside, known := given(generator.Entries(kind, "generators"), key)
				if !known {
					return nil, false
				}
				texts = append(texts, inside...)
			default:
				return nil, false
			}
			for _, value := range values {
				if text := fmt.Sprint(value); value != nil && strings.Contains(text, "{{") || generator.Field(kind, "elementsYaml") != nil {
					return nil, false
				} else if value != nil {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts, true
}

// GivenBy are those of some folders that git generators give to Applications of something else, such as a chart that is called as the folder.
func GivenBy(set *delivery.Object, source delivery.Source, folders []string) (given []string) {
	text, _ := json.Marshal(source.Settings.Object)
	isNamed := func(field string) bool { return strings.Contains(source.Settings.Text(field), "{{") }
	if strings.Contains(source.Path, "{{") && !isNamed("repoURL") && !isNamed("targetRevision") || !bytes.Contains(text, []byte("{{")) {
		return nil
	}
	for at, value := range crdschema.Each(set.Field("spec", "generators")) {
		pattern, _ := value.(string)
		if !slices.Contains(at, "directories") {
			continue
		}
		for _, folder := range folders {
			if fits, err := path.Match(placeholder.ReplaceAllString(pattern, "*"), folder); err == nil && fits {
				given = append(given, folder)
			}
		}
	}
	return given
}

// GeneratorsRead is where git generators look, empty if an ApplicationSet has none that says.
func GeneratorsRead(set *delivery.Object) string {
	var read []string
	for _, generator := range set.Entries("spec", "generators") {
		if url, revision := generator.Text("git", "repoURL"), generator.Text("git", "revision"); url+revision != "" {
			read = append(read, network.Normal(url)+" "+revision)
		}
	}
	return strings.Join(read, "\n")
}

// Addresses are the repositories that git generators look at.
func Addresses(set *delivery.Object) (found []string) {
	for _, value := range crdschema.Each(set.Field("spec", "generators")) {
		generator, _ := value.(map[string]any)
		if git, _ := generator["git"].(map[string]any); git != nil {
			found = append(found, delivery.Wrap(git).Text("repoURL"))
		}
	}
	return found
}

// ScopeOf is how much of the repository may decide about the Applications of an ApplicationSet whose generators cannot be run, or
// about an Application. Files of values that it names come beside that. With generators that read files, it is each file that holds
// data; with a plug-in, or a parameter that is any file, everything.
func ScopeOf(set *delivery.Object) files.Scope {
	switch spec := set.Field("spec"); {
	case HoldsKey(set.Field(delivery.SpecOf(set)...), "plugin"), HoldsKey(spec, "fileParameters"), readsOthers(set):
		return files.Everything
	case HoldsKey(spec, "files"), HoldsKey(set.Field("spec", "generators"), "valueFiles"), HoldsKey(spec, "templatePatch"):
		return files.Data
	}
	return files.Wires
}

// readsOthers reports whether a git generator reads files that need not be data by their names.
func readsOthers(set *delivery.Object) bool {
	for at, value := range crdschema.Each(set.Field("spec", "generators")) {
		if pattern, isText := value.(string); isText && slices.Contains(at, "files") && at.Last() == "path" && !files.IsData(pattern) {
			return true
		}
	}
	return false
}

// HoldsKey reports whether there is a field of that name anywhere in a value.
func HoldsKey(value any, name string) bool {
	for at := range crdschema.Each(value) {
		if at.Last() == name {
			return true
		}
	}
	return false
}
