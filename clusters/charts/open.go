package charts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// Open are values that are not known: only a cluster gives them.
type Open struct {
	// Values are their paths. What is below one is open, too.
	Values [][]string
	// Release: its name or its namespace is.
	Release bool
}

// A Dependent is a template of a chart that may come out otherwise with other values in the place of open ones.
type Dependent struct {
	// File is its name, and Text its source with that of all that it includes.
	File, Text string
	// HasFiles: files of the chart that are no templates become part of it.
	HasFiles bool
	// MayBeAny: a value begins a document or stands at the beginning of a line, so what it makes need not be what the text shows.
	MayBeAny bool
}

// FilesOf are the files that a template may take, without those for people. If it names all of them, the others do not count.
func (c *Chart) FilesOf(d Dependent) (contents [][]byte) {
	named := fileNames.FindAllStringSubmatch(d.Text, -1)
	isTaken := func(name string) bool {
		return len(named) < len(anyFiles.FindAllString(d.Text, -1)) || slices.ContainsFunc(named, func(one []string) bool {
			return strings.HasPrefix(name, one[1]) // up to what stands for several
		})
	}
	for next := []*chartv2.Chart{c.chart}; len(next) > 0; next = next[1:] {
		if !strings.HasPrefix(d.File, next[0].ChartFullPath()+"/") {
			continue
		}
		contents = nil // those of a dependency are its own
		for _, file := range next[0].Files {
			if isTaken(file.Name) && !forPeople.MatchString(file.Name) {
				contents = append(contents, file.Data)
			}
		}
		next = append(next, next[0].Dependencies()...)
	}
	return contents
}

var (
	// anyFiles finds what takes files in a template, and fileNames what such a call names.
	anyFiles  = regexp.MustCompile(`\bFiles\b`)
	fileNames = regexp.MustCompile(`\.Files\.(?:Get|GetBytes|Glob|Lines)\s+["` + "`" + `]([^"` + "`" + `*?\[{]+)`)
	forPeople = regexp.MustCompile(`(?i)\.md$|(?:^|/)(?:license|changelog|owners|\.helmignore)$`)
)

// Dependents are found by reading: a template that takes no open value is the same whatever this is. The error says why it cannot be found
// out.
func (c *Chart) Dependents(ctx context.Context, r Release, open Open) ([]Dependent, error) {
	o := &opened{Open: open, names: dependenciesOf(c.chart)}
	if err := o.enter(c.chart); err != nil {
		return nil, err
	}
	p, err := c.parts()
	if err != nil {
		return nil, err
	}
	inTexts, changesInTexts, err := c.rendersTemplates(ctx, r)
	if err != nil {
		return nil, err
	}
	o.inTexts = inTexts
	isTemplated := c.valuesAreTemplates(r.Values)
	changes := func(one *part) bool { return one.changes || one.rendersTexts && (isTemplated || one.hasFiles) }
	isChanged := changesInTexts || slices.ContainsFunc(slices.Concat(p.files, p.notes), func(file string) bool {
		all := p.within(file, true)
		return slices.ContainsFunc(all, changes) && slices.ContainsFunc(all, o.reach)
	})
	var found []Dependent
	for _, file := range p.files {
		if isChanged || slices.ContainsFunc(p.within(file, true), o.reach) {
			found = append(found, p.dependent(file))
		}
	}
	return found, nil
}

// rendersTemplates reports whether a text that the templates render has an action, and whether that may change values. What takes no open
// value renders the same texts with any.
func (c *Chart) rendersTemplates(ctx context.Context, r Release) (found, changing bool, err error) {
	_, err = Limited(ctx, func() (*Rendering, error) {
		_, _, err := c.texts(r, template.FuncMap{"tpl": func(text string, _ any) string {
			isTemplate := strings.Contains(text, "{{")
			found, changing = found || isTemplate, changing || isTemplate && changer.MatchString(text)
			return text
		}})
		return nil, err
	})
	return found, changing, err
}

// changer finds a function that may change values, or a part that may.
var changer = regexp.MustCompile(`\b(?:include|template|tpl|` + strings.Join(slices.Concat(change, join), "|") + `)\b`)

func (p *parts) dependent(file string) Dependent {
	d := Dependent{File: file}
	for _, one := range p.within(file, false) {
		d.Text += one.text + "\n"
		d.HasFiles = d.HasFiles || one.hasFiles
		d.MayBeAny = d.MayBeAny || one.reopens
	}
	seen := map[string]bool{}
	for next := []string{file}; len(next) > 0; next = next[1:] {
		for _, one := range p.named[next[0]] {
			d.MayBeAny = d.MayBeAny || one.opens
			if !seen[next[0]] {
				next = append(next, one.first...)
			}
		}
		seen[next[0]] = true
	}
	return d
}

// opened are open values as each of a chart and its dependencies has them.
type opened struct {
	Open

	// names are those of all dependencies.
	names []string
	// inTexts: some texts that are rendered are templates, and may take any value.
	inTexts bool
}

// enter adds the values of dependencies, which have them below their names or others that the chart gives them. The error is for what decides
// which dependencies there are.
func (o *opened) enter(c *chartv2.Chart) error {
	for i := 0; i < len(o.Values); i++ {
		switch at := o.Values[i]; {
		case len(at) == 0 || !slices.Contains(o.names, at[0]):
		case len(at) == 1:
			return fmt.Errorf("all values of its dependency %s", at[0])
		case !slices.ContainsFunc(o.Values, func(known []string) bool { return slices.Equal(known, at[1:]) }):
			o.Values = append(o.Values, at[1:])
		}
	}
	return o.decides(c)
}

func (o *opened) decides(c *chartv2.Chart) error {
	for _, d := range c.Metadata.Dependencies {
		if len(d.ImportValues) > 0 && len(o.Values) > 0 {
			return fmt.Errorf("values that it takes from its dependency %s", d.Name)
		}
		for condition := range strings.SplitSeq(d.Condition, ",") {
			if condition != "" && o.isOpen(strings.Split(strings.TrimSpace(condition), ".")) {
				return fmt.Errorf("whether it has its dependency %s", d.Name)
			}
		}
		if len(d.Tags) > 0 && o.isOpen([]string{"tags"}) {
			return errors.New("which dependencies it has")
		}
	}
	for _, below := range c.Dependencies() {
		if err := o.decides(below); err != nil {
			return err
		}
	}
	return nil
}

// dependenciesOf are the names of all, and those that charts give them.
func dependenciesOf(c *chartv2.Chart) (names []string) {
	for _, d := range c.Metadata.Dependencies {
		names = append(names, d.Name, d.Alias)
	}
	for _, below := range c.Dependencies() {
		names = append(append(names, below.Name()), dependenciesOf(below)...)
	}
	return names
}

// isOpen reports whether one at a path is open, or above an open one, or below. Helm puts global values into those of each dependency.
func (o *opened) isOpen(at []string) bool {
	return slices.ContainsFunc(o.Values, func(open []string) bool {
		n := min(len(at), len(open))
		return slices.Equal(at[:n], open[:n])
	}) || len(at) > 0 && slices.Contains(o.names, at[0]) && o.isOpen(at[1:])
}

func (o *opened) reach(p *part) bool {
	return p.all || p.release && o.Release || p.rendersTexts && o.inTexts || slices.ContainsFunc(p.values, o.isOpen)
}

// AllValues are those of a release, and those that the chart and its dependencies have themselves, one after the other.
func (c *Chart) AllValues(of map[string]any) []map[string]any {
	all := []map[string]any{of}
	for next := []*chartv2.Chart{c.chart}; len(next) > 0; next = next[1:] {
		all, next = append(all, next[0].Values), append(next, next[0].Dependencies()...)
	}
	return all
}

// valuesAreTemplates reports whether some may be, and change others where they are rendered.
func (c *Chart) valuesAreTemplates(of map[string]any) bool {
	return slices.ContainsFunc(c.AllValues(of), func(values map[string]any) bool {
		text, err := yaml.Marshal(values)
		return err != nil || bytes.Contains(text, []byte("{{"))
	})
}
