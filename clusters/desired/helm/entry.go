package helm

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/policies/delivery"
)

// valuesAre stands between a chart that is an entry point and its files of values.
const valuesAre = "?values="

// ValuesOf takes the files of values off an entry point that is a chart, written as CHART?values=FILE,FILE.
func ValuesOf(entry string) (folder string, values []string) {
	folder, files, found := strings.Cut(entry, valuesAre)
	if found {
		values = strings.Split(files, ",")
	}
	return folder, values
}

// EntryOf writes such an entry point.
func EntryOf(folder string, values ...string) string {
	return folder + valuesAre + strings.Join(values, ",")
}

// AddEntry adds to a unit what a chart makes that is an entry point. Files of values are looked for beside the chart, then from the root of
// the repository.
func (r Renderer) AddEntry(ctx context.Context, unit *delivery.Unit, dir string, valueFiles []string) error {
	chart, err := Load(r.Tree, dir)
	if err != nil {
		return err
	}
	values := map[string]any{}
	for _, name := range valueFiles {
		content, found := r.Tree.Read(r.Tree.Relative(filepath.Join(dir, filepath.FromSlash(name))))
		if !found {
			content, found = r.Tree.Read(name)
		}
		if !found {
			return fmt.Errorf("there is no file of values %s", name)
		}
		if values, err = charts.WithFile(values, name, content); err != nil {
			return err
		}
	}
	release := charts.Release{Name: chart.Name(), Namespace: "default", Values: values}
	rendering, chart, err := r.Render(ctx, chart, release)
	if err != nil {
		return err
	}
	r.Elsewhere(ctx, unit, chart, release, true)
	unit.Charts = []string{Name(chart)}
	unit.Objects = append(Placed(r.Tree, rendering.CRDs), Placed(r.Tree, rendering.Objects)...)
	return nil
}
