package scan

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/policies/delivery"
)

// templated adds the CRDs that a file of a chart declares as the chart makes them with its own values, and reports whether it
// could. Where nothing says how a chart is installed, its values are the best guess there is. Values that switch CRDs off are
// switched on, as there would be nothing to compare.
//
// A file that declares more CRDs than are made of it has others for other values: then it is not seen.
func (s *scan) templated(ctx context.Context, name string, content []byte) bool {
	dir := s.tree.ChartAround(filepath.Dir(name))
	if dir == "" {
		return false
	}
	s.makes(dir)
	declared := len(detect.CRD.FindAll(content, -1))
	var found []*delivery.Object
	for _, crd := range s.crdsOfChart(ctx, dir) {
		if crd.Place().File == s.tree.Relative(name) || isIncluded(name, dir) && !s.declaring(crd) {
			found = append(found, crd)
		}
	}
	if len(found) < declared {
		return false
	}
	s.noteTemplate(dir, name, string(content), found)
	for _, crd := range found {
		if known := s.chartAt(dir); !known.added[crd] {
			known.added[crd] = true
			s.add(filepath.Dir(name), crd)
		}
	}
	return true
}

// isIncluded reports whether a file makes nothing by itself, but templates take it in: a partial, or a file of the chart.
func isIncluded(name, chart string) bool {
	return strings.HasPrefix(filepath.Base(name), "_") || !files.Inside(name, filepath.Join(chart, "templates"))
}

// declaring reports whether the template of a CRD declares CRDs itself.
func (s *scan) declaring(crd *delivery.Object) bool {
	content, found := s.tree.Read(crd.Place().File)
	return found && detect.CRD.Match(content)
}

// crdsOfChart are the CRDs of a chart with the values of which it has most; none if it cannot be rendered.
func (s *scan) crdsOfChart(ctx context.Context, dir string) []*delivery.Object {
	made := s.madeBy(ctx, dir)
	byDefault, ifAsked := made.byDefault.all(), made.ifAsked.all()
	if len(ifAsked) > len(byDefault) {
		return ifAsked
	}
	return byDefault
}
