package desired

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// parameters are what a generator gives for one Application, under the names that a template calls them by.
type parameters map[string]string

// generated are the Applications of an ApplicationSet, as far as its generators can be run without a cluster: list, and
// git with directories. Of the others there is one unit that says so.
func (f *follower) generated(p pointer) []*delivery.Unit {
	set := p.by
	unseen := &delivery.Unit{Name: unitName(p), Tool: delivery.ArgoCD, By: p.by, Parent: p.parent, Sources: delivery.SourcesOf(set)}
	f.hiddenOf(unseen).widen(scopeOf(set)) // its Applications may be of any folder
	all, err := f.parametersOf(set)
	if err != nil {
		unseen.Unseen = err.Error()
		return []*delivery.Unit{unseen}
	}
	var units []*delivery.Unit
	for _, given := range all {
		application, err := applicationOf(set, given)
		if err != nil {
			unseen.Unseen = err.Error()
			return []*delivery.Unit{unseen}
		}
		application.SetNamespace(set.GetNamespace())
		by := &delivery.Object{Unstructured: application.Unstructured, At: func(fields ...string) finding.Place {
			return p.by.Place(delivery.Under([]string{"spec", "template"}, fields...)...)
		}}
		one := pointer{by: by, parent: p.parent}
		if !f.seen[f.key(one)] {
			f.seen[f.key(one)] = true
			unit := f.unit(one)
			unit.Set = set
			addInput(unit, "what the generators of "+nameOf(p.by, p.parent)+" read", generatorsRead(set))
			units = append(units, unit)
		}
	}
	f.seen[f.key(p)] = true
	return units
}

// parametersOf runs the generators.
func (f *follower) parametersOf(set *delivery.Object) ([]parameters, error) {
	if set.Field("spec", "templatePatch") != nil {
		return nil, errors.New("its Applications are patched by a template (spec.templatePatch)")
	}
	var all []parameters
	for _, generator := range set.Entries("spec", "generators") {
		switch {
		case generator.Field("selector") != nil:
			return nil, errors.New("it selects what its generators give")
		case hasContent(generator.Field("list", "template")), hasContent(generator.Field("git", "template")):
			return nil, errors.New("its generators have templates of their own")
		case generator.Field("list", "elements") != nil:
			for _, element := range generator.Entries("list", "elements") {
				given := parameters{}
				flatten(given, "", element.Object)
				all = append(all, given)
			}
		case generator.Field("git", "directories") != nil && generator.Text("git", "pathParamPrefix") == "":
			for _, dir := range f.directories(generator.Entries("git", "directories")) {
				all = append(all, pathParameters(dir))
			}
		default:
			return nil, errors.New("what its generators give is not known without a cluster")
		}
	}
	if len(all) == 0 {
		return nil, errors.New("its generators give nothing in this repository")
	}
	return all, nil
}

// hasContent tells whether there is any text, number or list in a value. An ApplicationSet that was read from a cluster has
// templates without any.
func hasContent(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasContent)
	case nil:
		return false
	}
	return value != ""
}

// flatten names what is inside of maps by the way there, with dots.
func flatten(into parameters, prefix string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			name := key
			if prefix != "" {
				name = prefix + "." + key
			}
			flatten(into, name, inner)
		}
	case string:
		into[prefix] = v
	case nil, []any:
	default:
		into[prefix] = fmt.Sprint(v)
	}
}

// pathParameters are those of a folder, for both kinds of templates.
func pathParameters(dir string) parameters {
	base := path.Base(dir)
	normal := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(base), "-"), "-.")
	given := parameters{"path": dir, "path.path": dir, "path.basename": base, "path.basenameNormalized": normal}
	for i, segment := range strings.Split(dir, "/") {
		given["path["+strconv.Itoa(i)+"]"] = segment
		given["index path.segments "+strconv.Itoa(i)] = segment
	}
	return given
}

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// directories are the folders of the repository that match a pattern and none that excludes.
func (f *follower) directories(patterns []*delivery.Object) []string {
	var found []string
	_ = filepath.WalkDir(f.tree.Root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // what cannot be read is not there
		}
		if strings.HasPrefix(entry.Name(), ".") && name != f.tree.Root {
			return filepath.SkipDir
		}
		dir := f.tree.Relative(name)
		taken := false
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern.Text("path"), dir); err == nil && ok {
				if pattern.True("exclude") {
					return nil
				}
				taken = true
			}
		}
		if taken {
			found = append(found, dir)
		}
		return nil
	})
	slices.Sort(found)
	return found
}

// applicationOf fills in the template.
func applicationOf(set *delivery.Object, given parameters) (*delivery.Object, error) {
	template, ok := set.Field("spec", "template").(map[string]any)
	if !ok {
		return nil, errors.New("it has no template")
	}
	filled, err := fill(runtime.DeepCopyJSON(template), given)
	if err != nil {
		return nil, err
	}
	content, _ := filled.(map[string]any)
	application := delivery.Wrap(content)
	application.SetAPIVersion("argoproj.io/v1alpha1")
	application.SetKind("Application")
	return application, nil
}

// action is what a template has between braces: a name, for Go templates with a dot before it.
var action = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)

// fill puts parameters into all strings of a value. What is more than a name is not for us to run.
func fill(value any, given parameters) (any, error) {
	var failed error
	switch v := value.(type) {
	case string:
		filled := action.ReplaceAllStringFunc(v, func(found string) string {
			name := strings.ReplaceAll(action.FindStringSubmatch(found)[1], " .", " ")
			known, ok := given[strings.TrimPrefix(name, ".")]
			if !ok {
				failed = fmt.Errorf("its template has %s, which is not known without a cluster", found)
			}
			return known
		})
		return filled, failed
	case []any:
		for i := range v {
			if v[i], failed = fill(v[i], given); failed != nil {
				return nil, failed
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], failed = fill(v[key], given); failed != nil {
				return nil, failed
			}
		}
	}
	return value, nil
}
