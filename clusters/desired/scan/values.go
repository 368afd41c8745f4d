package scan

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/unpacking"
)

// otherValues are names of files that have values for a chart beside its own, for an environment as a rule.
var otherValues = regexp.MustCompile(`^values[-._].+\.ya?ml$|^.+[-._]values\.ya?ml$`)

// IsValues reports whether a file beside a chart is one of values that the chart is followed with.
func IsValues(name string) bool { return otherValues.MatchString(name) }

// valuesFor are changed files that a chart may be installed with, by their paths from the root. Its
// templates or its dependencies take half of their keys or more.
func (c changes) valuesFor(t *files.Tree, dir string) (found []string) {
	if len(c.values) == 0 {
		return nil
	}
	var templates strings.Builder
	for _, file := range files.In(filepath.Join(dir, "templates")) {
		content, _ := render.ReadRegular(file)
		templates.Write(content)
	}
	chart, _ := render.ReadRegular(filepath.Join(dir, files.ChartFile))
	takes := func(key string) bool {
		return strings.Contains(templates.String(), ".Values."+key) || regexp.MustCompile(`\b(?:name|alias|condition):\s*["']?`+regexp.QuoteMeta(key)+`\b`).Match(chart)
	}
	for _, file := range slices.Sorted(maps.Keys(c.values)) {
		isPart := filepath.Dir(file) == dir && (IsValues(filepath.Base(file)) || isOwn[filepath.Base(file)]) ||
			slices.ContainsFunc([]string{"templates", "crds", "charts"}, func(part string) bool { return files.Inside(file, filepath.Join(dir, part)) })
		around := t.ChartAround(filepath.Dir(file)) // another chart's are for that one
		taken := slices.DeleteFunc(slices.Clone(c.values[file]), func(key string) bool { return !takes(key) })
		if !isPart && (around == "" || around == dir) && 2*len(taken) >= len(c.values[file]) {
			found = append(found, t.Relative(file))
		}
	}
	return found
}

// isOwn are files that each chart has.
var isOwn = map[string]bool{files.ChartFile: true, "Chart.lock": true, "values.yaml": true, "values.schema.json": true}

// valueKeys are the keys of a file that may be one of values, by which an entry point can be written. None are those of any other.
func valueKeys(t *files.Tree, file string) []string {
	if !detect.IsManifest(filepath.Base(file)) || strings.Contains(t.Relative(file), ",") || detect.ForReading(t.Dir, file) {
		return nil
	}
	content, err := render.ReadRegular(file)
	values := map[string]any{}
	if err != nil || unpacking.Unmarshal(content, &values) != nil || values["kind"] != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(values))
}

// valuesBeside are the files of values in the folder of a chart, beside its own.
func valuesBeside(dir string) []string {
	return slices.DeleteFunc(files.In(dir), func(file string) bool {
		return filepath.Dir(file) != dir || !IsValues(filepath.Base(file))
	})
}

// valuesElsewhere are changed files of values that are part of no chart, by their paths from the root: nothing shows for which chart
// they are.
func (c changes) valuesElsewhere(t *files.Tree) (found []string) {
	for _, file := range slices.Sorted(maps.Keys(c.files)) {
		name := filepath.Base(file)
		if (name == "values.yaml" || name == "values.yml" || otherValues.MatchString(name)) && !strings.Contains(name, ",") && t.ChartAround(filepath.Dir(file)) == "" {
			found = append(found, t.Relative(file))
		}
	}
	return found
}
