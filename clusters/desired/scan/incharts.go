package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// knownChart is what is known of a chart of the tree.
type knownChart struct {
	// made is what it makes, nil until it is rendered; added are those of its CRDs that units have.
	made  *madeByChart
	added map[*delivery.Object]bool
	// defined are its named templates, nil until somebody asks.
	defined map[string]string
	// makes: it has CRDs among its templates. Plain are what these are if nothing is rendered.
	makes bool
	plain []delivery.InChart
}

func (s *scan) chartAt(dir string) *knownChart {
	if s.charts[dir] == nil {
		s.charts[dir] = &knownChart{added: map[*delivery.Object]bool{}}
	}
	return s.charts[dir]
}

// madeByChart are the CRDs of a chart, as Helm gets them with some values.
type madeByChart struct {
	chart *charts.Chart // nil if it cannot be read
	// byDefault are those of the chart's own values, and ifAsked those of values that switch CRDs on.
	byDefault, ifAsked crdsOfRelease
	rendered           bool
}

// crdsOfRelease are the CRDs of a chart and of the charts below it that the values switch on.
type crdsOfRelease struct {
	// templates are those that templates make, atInstall those of crds/, and held those in other objects, such as a ConfigMap for a Job.
	templates, atInstall, held []*delivery.Object
}

func (c crdsOfRelease) all() []*delivery.Object {
	return slices.Concat(c.templates, c.atInstall, c.held)
}

// madeBy renders a chart, once.
func (s *scan) madeBy(ctx context.Context, dir string) *madeByChart {
	if known := s.chartAt(dir).made; known != nil {
		return known
	}
	made := &madeByChart{}
	s.chartAt(dir).made = made
	chart, err := helm.Load(s.tree, dir)
	if err != nil {
		return made
	}
	made.chart = chart
	for to, values := range map[*crdsOfRelease]map[string]any{&made.byDefault: nil, &made.ifAsked: chart.ValuesWithCRDs()} {
		if found, err := s.crdsWith(ctx, chart, values); err == nil {
			*to, made.rendered = found, true
		}
	}
	return made
}

// crdsWith are the CRDs of a chart with some values over its own.
func (s *scan) crdsWith(ctx context.Context, chart *charts.Chart, values map[string]any) (found crdsOfRelease, err error) {
	rendering, err := chart.Render(ctx, charts.Release{Name: chart.Name(), Namespace: "default", Values: values})
	if err != nil {
		return found, err
	}
	objects := helm.Placed(s.tree, rendering.Objects)
	found.templates, found.atInstall = kinds.CRDs(objects), kinds.CRDs(helm.Placed(s.tree, rendering.CRDs))
	for _, object := range objects {
		held, _ := object.Inside()
		found.held = append(found.held, held...)
	}
	return found, err
}

// asInstalled adds the CRDs of a chart, if it is there: with some files of values, or else with its own values and with each file of
// values beside them.
func (s *scan) asInstalled(ctx context.Context, dir string, values []string) {
	if !files.HasChart(dir) {
		return
	}
	if len(values) > 0 {
		_ = s.dependencies(filepath.Join(dir, files.ChartFile), words.Of(values, s.tree.Absolute)) // what cannot be read is noted otherwise
	}
	switch made := s.madeBy(ctx, dir); {
	case made.chart == nil && s.mentionsCRDs(dir):
		s.hideWhole(dir, "it is a chart about CRDs that cannot be read")
	case made.chart != nil && (len(made.byDefault.all())+len(made.ifAsked.all()) > 0 || s.mentionsCRDs(dir)):
		if len(values) == 0 {
			s.makes(dir)
			s.builtOfChart(delivery.InChart{Dir: s.tree.Relative(dir)}, s.crdsOfChart(ctx, dir))
			values = words.Of(valuesBeside(dir), s.tree.Relative)
		}
		for _, file := range values {
			s.installedWith(ctx, dir, file, made.chart)
		}
	}
}

// installedWith adds the CRDs of a chart with a file of values, by its path from the root, if that is there.
func (s *scan) installedWith(ctx context.Context, dir, file string, chart *charts.Chart) {
	if !files.Has(s.tree.Root, file) {
		return
	}
	found, err := s.crdsWithFile(ctx, chart, s.tree.Absolute(file))
	if err != nil && files.Inside(s.tree.Absolute(file), dir) && s.mayTemplate(dir) {
		s.hideWhole(dir, fmt.Sprintf("it is a chart with CRDs, and with %s it fails: %s", path.Base(file), files.FailureOf(err)))
	}
	if err != nil {
		return // values of another chart, most likely
	}
	with := delivery.InChart{Dir: s.tree.Relative(dir), Values: file}
	if files.Inside(s.tree.Absolute(file), dir) {
		with.Values = path.Base(file)
	}
	s.builtOfChart(with, found.all())
	s.brings(with, delivery.AtInstall, found.atInstall)
	s.brings(with, delivery.ByDefault, found.templates)
}

// brings remembers CRDs as those of a chart.
func (s *scan) brings(with delivery.InChart, how delivery.Brought, crds []*delivery.Object) {
	for _, crd := range crds {
		with.CRD, with.How = crd, how
		s.cluster.InCharts = append(s.cluster.InCharts, with)
	}
}

func (s *scan) crdsWithFile(ctx context.Context, chart *charts.Chart, file string) (found crdsOfRelease, err error) {
	s.tree.Reads.File(file)
	content, err := render.ReadRegular(file)
	if err != nil {
		return found, err
	}
	values, err := charts.WithFile(map[string]any{}, filepath.Base(file), content)
	if err != nil {
		return found, err
	}
	return s.crdsWith(ctx, chart, values)
}

// builtOfChart adds a unit for CRDs that a chart makes.
func (s *scan) builtOfChart(chart delivery.InChart, crds []*delivery.Object) {
	for _, crd := range crds {
		s.shared(crd)
	}
	s.cluster.Built = append(s.cluster.Built, &delivery.Unit{
		Name: delivery.ChartUnit(chart.Name()), Tool: delivery.Helm, Dirs: []string{chart.Dir}, Objects: crds,
	})
}

// hideWhole notes a chart whose CRDs cannot be seen, which are the same as long as all its files are.
func (s *scan) hideWhole(dir, why string) {
	s.hidden(filepath.Join(dir, files.ChartFile), []byte(s.tree.Sum(dir)), why)
}

// mentionsCRDs is whether a file below a folder may be about CRDs.
func (s *scan) mentionsCRDs(dir string) bool {
	return s.hasBelow(dir, detect.IsNotApplied, func(_ string, content []byte) bool { return detect.CRD.Match(content) })
}

// mayTemplate is whether a chart may have CRDs in another place than crds/, where values change none, or read these by a template.
func (s *scan) mayTemplate(dir string) bool {
	return s.hasBelow(dir, func(name string) bool { return name == "crds" }, func(file string, content []byte) bool {
		return filepath.Ext(file) == ".tgz" || detect.MayDeclare(content) || bytes.Contains(content, []byte(".Files"))
	})
}

func (s *scan) hasBelow(dir string, skip func(name string) bool, is func(file string, content []byte) bool) bool {
	found := errors.New("found")
	return errors.Is(s.tree.Each(dir, skip, func(file string) error {
		if content, err := render.ReadRegular(file); err == nil && is(file, content) {
			return found
		}
		return nil
	}), found)
}

// makes remembers that a chart has CRDs among its templates, and so have the charts around it.
func (s *scan) makes(dir string, plain ...delivery.InChart) {
	for ; dir != ""; dir = s.tree.ChartAround(filepath.Dir(dir)) {
		known := s.chartAt(dir)
		known.makes = true
		for _, crd := range plain {
			crd.Dir = s.tree.Relative(dir)
			known.plain = append(known.plain, crd)
		}
		if dir == s.tree.Root {
			return
		}
	}
}

// inChart remembers a CRD in a file that is no template, as one that the chart around it brings. These are all files of crds/ and of
// templates/ that .helmignore does not name.
func (s *scan) inChart(ctx context.Context, name string, crd *delivery.Object) {
	dir := s.tree.ChartAround(filepath.Dir(name))
	if dir == "" {
		return
	}
	short, err := filepath.Rel(dir, name)
	if err != nil {
		return
	}
	brought := delivery.InChart{Dir: s.tree.Relative(dir), CRD: crd}
	switch folder, _, _ := strings.Cut(filepath.ToSlash(short), "/"); folder {
	case "crds":
		brought.How = delivery.AtInstall
		if around := s.tree.ChartAround(filepath.Dir(dir)); around != "" {
			s.makes(around) // its values may switch this one off
		}
	case "templates":
		brought.How = delivery.ByDefault
	default:
		return
	}
	if files.Has(dir, ".helmignore") {
		if chart := s.madeBy(ctx, dir).chart; chart != nil {
			if _, found := chart.File(filepath.ToSlash(short)); !found {
				return
			}
		}
	}
	if brought.How == delivery.ByDefault {
		s.makes(dir, brought)
		return
	}
	s.cluster.InCharts = append(s.cluster.InCharts, brought)
}

// findInCharts adds what templates make. Of a chart that cannot be rendered, these are the files that are no templates.
func (s *scan) findInCharts(ctx context.Context) {
	for _, dir := range slices.Sorted(maps.Keys(s.charts)) {
		if !s.charts[dir].makes {
			continue
		}
		made, chart := s.madeBy(ctx, dir), delivery.InChart{Dir: s.tree.Relative(dir)}
		if !made.rendered {
			s.cluster.InCharts = append(s.cluster.InCharts, s.charts[dir].plain...)
		}
		s.brings(chart, delivery.AtInstall, made.byDefault.atInstall)
		s.brings(chart, delivery.ByDefault, made.byDefault.templates)
		s.brings(chart, delivery.IfAsked, made.ifAsked.templates)
	}
	for i, brought := range s.cluster.InCharts {
		s.cluster.InCharts[i].Chart = s.nameOfChart(filepath.Join(s.tree.Root, filepath.FromSlash(brought.Dir)))
	}
}

// nameOfChart is the name in Chart.yaml, empty if there is none.
func (s *scan) nameOfChart(dir string) string {
	var chart struct {
		Name string `json:"name"`
	}
	content, found := s.tree.Read(s.tree.Relative(filepath.Join(dir, files.ChartFile)))
	if !found || unpacking.Unmarshal(content, &chart) != nil {
		return ""
	}
	return chart.Name
}
