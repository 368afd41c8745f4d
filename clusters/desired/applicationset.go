package desired

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// generated are the Applications of an ApplicationSet, as far as its generators can be run without a cluster. Of the others
// there is one unit with the reason.
func (f *follower) generated(p pointer) []*delivery.Unit {
	set := p.by
	applications, err := appset.Applications(set, f.tree, f.clusters)
	if err != nil {
		unseen := &delivery.Unit{Name: unitName(p), Tool: delivery.ArgoCD, By: p.by, Parent: p.parent, Sources: delivery.SourcesOf(set), Unseen: err.Error()}
		f.hideSet(unseen)
		return []*delivery.Unit{unseen}
	}
	var units []*delivery.Unit
	for _, application := range applications {
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

// mostFolders is how many folders an ApplicationSet that cannot be expanded may be of, to be looked at one by one.
const mostFolders = 100

// hideSet remembers what of this repository decides about an ApplicationSet that cannot be expanded: what matters in all folders
// that its Applications may be of. If files are read for them, or if it may be any folder, it is more.
func (f *follower) hideSet(u *delivery.Unit) {
	much := scopeOf(u.By)
	var folders []string
	for _, source := range u.Sources {
		if source.Path != "" {
			folders = append(folders, f.foldersLike(u.By, source.Path)...)
		}
	}
	if much != files.Wires || len(folders) == 0 || len(folders) > mostFolders || holdsKey(u.By.Field("spec", "generators"), "template") {
		f.hiddenOf(u).widen(much)
		return
	}
	for _, source := range u.Sources {
		for _, dir := range f.foldersLike(u.By, source.Path) {
			f.hideFolder(f.hiddenOf(u), dir, func() (*render.Rendering, error) { return f.argoCDFolder(u, source, dir) })
		}
	}
}

// placeholder is what a template has between braces, and severalFolders what may become more than one folder there.
var (
	placeholder    = regexp.MustCompile(`\{\{.*?\}\}`)
	severalFolders = regexp.MustCompile(`path|annotation|values`)
)

// foldersLike are the folders, absolute, that a templated path of an ApplicationSet may become.
func (f *follower) foldersLike(set *delivery.Object, path string) (found []string) {
	var like strings.Builder
	rest := strings.TrimPrefix(strings.TrimSuffix(path, "/"), "./")
	for at := placeholder.FindStringIndex(rest); at != nil; at = placeholder.FindStringIndex(rest) {
		like.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		like.WriteString(mayBecome(set, rest[at[0]:at[1]], at[1] == len(rest)))
		rest = rest[at[1]:]
	}
	pattern := regexp.MustCompile("^" + like.String() + regexp.QuoteMeta(rest) + "$")
	for _, folder := range f.tree.Folders() {
		if pattern.MatchString(folder) || pattern.MatchString(folder+"/") { // nothing may come behind a slash
			found = append(found, f.tree.Absolute(folder))
		}
	}
	return found
}

// mayBecome is a pattern of what may take the place of a placeholder: what the generators give, if they say that.
func mayBecome(set *delivery.Object, placeholder string, isLast bool) string {
	if key := ofValues.FindStringSubmatch(placeholder); key != nil {
		texts, known := given(set.Entries("spec", "generators"), key[1])
		isPart := func(text string) bool { return fs.ValidPath(text) && text != "." || text == "" && isLast }
		if known && !slices.ContainsFunc(texts, func(text string) bool { return !isPart(text) }) {
			return "(?:" + strings.Join(words.Of(texts, regexp.QuoteMeta), "|") + ")"
		}
	}
	if severalFolders.MatchString(placeholder) {
		return ".+"
	}
	return "[^/]+"
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
