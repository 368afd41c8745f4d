package survey

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
)

// addChart adds the CRDs that a folder makes of templates, if it is a chart: with its own values, and CRDs switched on. Those that lie
// in it as they are, are files like others. A chart that cannot be rendered matters only if its templates say that they are CRDs.
func (s *survey) addChart(ctx context.Context, dir string) {
	if !files.HasChart(dir) || files.IsSubchart(dir) {
		return
	}
	made, err := s.madeByChart(ctx, absolute(dir))
	switch {
	case err != nil && slices.ContainsFunc(files.In(filepath.Join(dir, "templates")), declaresInTemplate):
		s.failed = append(s.failed, fmt.Errorf("the chart %s has CRDs in its templates, and cannot be rendered: %w", dir, err))
	case len(made) > 0:
		s.addBuild(&render.Rendering{Name: dir, Objects: made}, absolute(filepath.Join(dir, files.ChartFile)), nil)
	}
}

func (s *survey) madeByChart(ctx context.Context, dir string) ([]*delivery.Object, error) {
	chart, err := charts.Folder(dir, cmp.Or(s.rootOf(dir), dir))
	if err != nil {
		return nil, err
	}
	rendering, err := chart.Render(ctx, charts.Release{Name: chart.Name(), Namespace: "default", Values: chart.ValuesWithCRDs()})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(kinds.CRDs(rendering.Objects), func(crd *delivery.Object) bool {
		file := crd.Place().File
		return file != "" && !isTemplate(file)
	}), nil
}

func isTemplate(file string) bool {
	content, err := render.ReadRegular(file)
	return err == nil && bytes.Contains(content, []byte("{{"))
}

func declaresInTemplate(file string) bool {
	content, err := render.ReadRegular(file)
	return err == nil && bytes.Contains(content, []byte("{{")) && detect.CRD.Match(content)
}
