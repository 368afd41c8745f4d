package desired

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/policies/delivery"
)

// chartEntry fills a unit with what a chart makes, as somebody installs it by hand: an app of apps, as a rule. Files of values
// are looked for beside the chart, then from the root of the repository.
func (f *follower) chartEntry(ctx context.Context, unit *delivery.Unit, dir string, valueFiles []string) {
	unit.Dirs = []string{f.tree.Relative(dir)}
	if err := f.addChartEntry(ctx, unit, dir, valueFiles); err != nil {
		unit.Unseen = "it is a chart that cannot be rendered: " + files.FailureOf(f.tree.Shorten(err))
		f.hiddenOf(unit).add(dir)
		for _, file := range valueFiles {
			f.hiddenOf(unit).add(f.tree.Absolute(file))
		}
	}
}

func (f *follower) addChartEntry(ctx context.Context, unit *delivery.Unit, dir string, valueFiles []string) error {
	chart, err := helm.Load(f.tree, dir)
	if err != nil {
		return err
	}
	values := map[string]any{}
	for _, name := range valueFiles {
		content, found := f.tree.Read(f.tree.Relative(filepath.Join(dir, filepath.FromSlash(name))))
		if !found {
			content, found = f.tree.Read(name)
		}
		if !found {
			return fmt.Errorf("there is no file of values %s", name)
		}
		if values, err = charts.WithFile(values, name, content); err != nil {
			return err
		}
	}
	rendering, err := f.charts.Render(ctx, chart, charts.Release{Name: chart.Name(), Namespace: "default", Values: values})
	if err != nil {
		return err
	}
	unit.Charts = []string{helm.Name(chart)}
	unit.Objects = append(helm.Placed(f.tree, rendering.CRDs), helm.Placed(f.tree, rendering.Objects)...)
	return nil
}
