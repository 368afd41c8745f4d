package desired

import (
	"crypto/sha256"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// madeByChart are the CRDs that the templates of a chart make.
type madeByChart struct {
	chart *charts.Chart // nil if it cannot be read
	// byDefault are those that the chart's own values make, and ifAsked those of values that switch CRDs on.
	byDefault, ifAsked []*delivery.Object
	// atInstall are those of crds/, in charts below as well that are switched on.
	atInstall []*delivery.Object
	rendered  bool
}

// madeBy renders a chart, once.
func (e *everywhere) madeBy(dir string) *madeByChart {
	if known, there := e.charts[dir]; there {
		return known
	}
	made := &madeByChart{}
	e.charts[dir] = made
	chart, err := e.chartIn(dir)
	if err != nil {
		return made
	}
	made.chart = chart
	for _, one := range []struct {
		values map[string]any
		to     *[]*delivery.Object
	}{{nil, &made.byDefault}, {chart.ValuesWithCRDs(), &made.ifAsked}} {
		if rendering, err := chart.Render(e.ctx, charts.Release{Name: chart.Name(), Namespace: "default", Values: one.values}); err == nil {
			*one.to, made.rendered = crdsAmong(e.placedInChart(rendering.Objects)), true
			if one.values == nil {
				made.atInstall = crdsAmong(e.placedInChart(rendering.CRDs))
			}
		}
	}
	return made
}

// asInstalled adds the CRDs that the templates of a chart make of its own values, if it is there: of whatever files.
func (e *everywhere) asInstalled(dir string) {
	if !hasFile(dir, chartFile) {
		return
	}
	file, name := filepath.Join(dir, chartFile), e.tree.Relative(dir)
	switch made := e.madeBy(dir); {
	case made.chart == nil && e.mentionsCRDs(dir):
		p := &fingerprint{follower: &e.follower, sum: sha256.New(), files: map[string]bool{}}
		p.file(dir)
		e.hidden(file, p.sum.Sum(nil), "it is a chart about CRDs that cannot be read")
	case len(made.byDefault)+len(made.ifAsked) > 0:
		e.makes(dir)
		unit := &delivery.Unit{Name: "chart " + name, Tool: delivery.Helm, Dirs: []string{name}}
		for _, crd := range e.crdsOfChart(dir) {
			e.shared(crd)
			unit.Objects = append(unit.Objects, crd)
		}
		e.cluster.Built = append(e.cluster.Built, unit)
	}
}

// mentionsCRDs is whether a file below a folder may be about CRDs.
func (e *everywhere) mentionsCRDs(dir string) bool {
	found := errors.New("found")
	return errors.Is(eachFile(e.tree, dir, isNotApplied, func(file string) error {
		if content, err := render.ReadRegular(file); err == nil && declares.Match(content) {
			return found
		}
		return nil
	}), found)
}

// makes remembers that a chart has CRDs among its templates, and so have the charts around it.
func (e *everywhere) makes(dir string, plain ...delivery.InChart) {
	for ; dir != ""; dir = e.chartAround(filepath.Dir(dir)) {
		for _, crd := range plain {
			crd.Dir = e.tree.Relative(dir)
			e.making[dir] = append(e.making[dir], crd)
		}
		if _, there := e.making[dir]; !there {
			e.making[dir] = nil
		}
		if dir == e.tree.Root {
			return
		}
	}
}

// inChart remembers a CRD in a file that is no template, as one that the chart around it brings: all files of crds/ and of
// templates/ that .helmignore does not name.
func (e *everywhere) inChart(name string, crd *delivery.Object) {
	dir := e.chartAround(filepath.Dir(name))
	if dir == "" {
		return
	}
	short, err := filepath.Rel(dir, name)
	if err != nil {
		return
	}
	brought := delivery.InChart{Dir: e.tree.Relative(dir), CRD: crd}
	switch folder, _, _ := strings.Cut(filepath.ToSlash(short), "/"); folder {
	case "crds":
		brought.How = delivery.AtInstall
		if around := e.chartAround(filepath.Dir(dir)); around != "" {
			e.makes(around) // its values may switch this one off
		}
	case "templates":
		brought.How = delivery.ByDefault
	default:
		return
	}
	if hasFile(dir, ".helmignore") {
		if chart := e.madeBy(dir).chart; chart != nil {
			if _, found := chart.File(filepath.ToSlash(short)); !found {
				return
			}
		}
	}
	if brought.How == delivery.ByDefault {
		e.makes(dir, brought)
		return
	}
	e.cluster.InCharts = append(e.cluster.InCharts, brought)
}

// findInCharts adds what templates make. Of a chart that cannot be rendered, these are the files that are no templates.
func (e *everywhere) findInCharts() {
	for _, dir := range slices.Sorted(maps.Keys(e.making)) {
		made := e.madeBy(dir)
		found := e.making[dir]
		if made.rendered {
			found = nil
			for _, crd := range made.atInstall {
				found = append(found, delivery.InChart{Dir: e.tree.Relative(dir), CRD: crd, How: delivery.AtInstall})
			}
			for _, crd := range made.byDefault {
				found = append(found, delivery.InChart{Dir: e.tree.Relative(dir), CRD: crd, How: delivery.ByDefault})
			}
			for _, crd := range made.ifAsked {
				found = append(found, delivery.InChart{Dir: e.tree.Relative(dir), CRD: crd, How: delivery.IfAsked})
			}
		}
		e.cluster.InCharts = append(e.cluster.InCharts, found...)
	}
	for i, brought := range e.cluster.InCharts {
		e.cluster.InCharts[i].Chart = e.nameOfChart(filepath.Join(e.tree.Root, filepath.FromSlash(brought.Dir)))
	}
}

// nameOfChart is the name in Chart.yaml, empty if there is none.
func (e *everywhere) nameOfChart(dir string) string {
	var chart struct {
		Name string `json:"name"`
	}
	content, found := e.fileInRepository(e.tree.Relative(filepath.Join(dir, "Chart.yaml")))
	if !found || unpacking.Unmarshal(content, &chart) != nil {
		return ""
	}
	return chart.Name
}
