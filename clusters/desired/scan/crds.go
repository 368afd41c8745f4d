// Package scan finds the CRDs in all files of a repository, by whatever they are applied, and what tools install that are not followed. It is
// for a repository without an entry point, such as an operator's, and for files that no entry point leads to.
//
// Start with CRDs in crds.go. charts.go, incharts.go and templates.go are about what charts make of files, othertools.go about other tools.
// touched.go finds what changed files may be part of, and entries.go what look like entry points.
package scan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// CRDs are all in the files of a tree, by whatever they are applied: a unit for each folder that has some. It is for a
// tree without an entry point, such as an operator's repository, where nothing says what is applied.
//
// A CRD is as the nearest kustomization around its file builds it, if that one does: patches add conversion webhooks, for
// example. YAML that is no manifest is passed over. A template of a chart is as the chart makes it with
// its own values. A file that mentions CRDs and cannot be read or rendered is unseen. Left out is what no tool applies: what detect.IsNotApplied names.
//
// Built is what Touched finds, whose CRDs are compared as it makes them, too. Nothing is followed.
func CRDs(ctx context.Context, t *repository.Tree, built []string, o Options) (*delivery.Cluster, error) {
	s := newScan(t, o)
	err := s.walk(ctx, func(file string) error {
		switch name := filepath.Base(file); {
		case filepath.Ext(name) == ".tgz":
			return s.archive(file)
		case ofPrograms[filepath.Ext(name)] != "":
			return s.noteProgram(file, ofPrograms[filepath.Ext(name)])
		case !detect.IsManifest(name):
			return nil
		case name == files.ChartFile, name == "requirements.yaml" && files.HasChart(filepath.Dir(file)): // the latter with Helm 2's charts
			return s.chart(file)
		}
		return s.file(ctx, file)
	})
	for _, name := range built {
		dir, values := helm.ValuesOf(name)
		at := filepath.Join(t.Dir, filepath.FromSlash(dir))
		s.asKustomized(at)
		s.asInstalled(ctx, at, values)
		if err == nil {
			err = s.passedOver(ctx, at)
		}
	}
	s.findInCharts(ctx)
	s.findPrograms()
	return s.cluster, err
}

func newScan(t *repository.Tree, o Options) *scan {
	return &scan{
		Options: o, tree: files.Of(t), cluster: &delivery.Cluster{Name: t.Name}, built: map[string]*render.Rendering{},
		charts: map[string]*knownChart{}, specs: map[[sha256.Size]byte]map[string]any{}, programs: map[string]program{},
		given: map[string][]given{},
	}
}

// Options are how kustomizations are built.
type Options struct {
	// Network says whom a build may ask.
	Network *network.Policy
	// Builds are those of all that is looked at with it, nil for none.
	Builds *render.Builds
}

// scan is a walk under way.
type scan struct {
	Options

	tree     *files.Tree
	cluster  *delivery.Cluster
	built    map[string]*render.Rendering // by the folder of a kustomization; nil for one that cannot be built
	charts   map[string]*knownChart       // by the folder of a chart
	programs map[string]program           // by their language
	// applied are files and folders that commands apply, and changed what is not as it was.
	applied, changed []string
	specs            map[[sha256.Size]byte]map[string]any
	// given is what gives values to variables in the whole tree, by their names.
	given map[string][]given
	// included are the files that pipelines include, nil until somebody asks.
	included *[]files.Text
}

// file adds the CRDs of a file.
func (s *scan) file(ctx context.Context, name string) error {
	s.tree.Reads.File(name)
	content, err := render.ReadRegular(name)
	if pointer := (*render.PointerError)(nil); errors.As(err, &pointer) {
		return s.pointer(name, pointer)
	}
	if err != nil || !detect.MayDeclare(content) {
		return err
	}
	says := detect.CRD.Match(content)
	if says && bytes.Contains(content, []byte("{{")) && s.templated(ctx, name, content) {
		return nil
	}
	read, err := s.Builds.File(name, content)
	if err != nil && (says || detect.EncodedCRD.Match(content)) {
		s.unseen(name, s.withPartials(name, content), s.tree.Shorten(err))
	}
	if err != nil {
		return nil //nolint:nilerr // it is noted, or says nothing of CRDs
	}
	all := files.Placed(read, s.tree.Place)
	if says && files.IsTemplateOfChart(name) {
		s.noteTemplate(s.tree.ChartAround(filepath.Dir(name)), name, string(content), kinds.CRDs(all))
	}
	for _, object := range all {
		if !object.IsCRD() {
			for _, crd := range s.crdsOf(s.tree.Relative(name), object) {
				s.add(filepath.Dir(name), crd)
			}
			continue
		}
		untemplate(object)
		s.inChart(ctx, name, object)
		s.add(filepath.Dir(name), s.asBuilt(object, name))
	}
	return nil
}

// pointer notes a file whose content is elsewhere.
func (s *scan) pointer(file string, pointer *render.PointerError) error {
	content, err := render.ReadAsIs(file)
	if err == nil {
		s.hidden(file, content, "it is "+pointer.How+"; "+pointer.Fix)
	}
	return err
}

// shared gives copies of a CRD one spec, which nothing changes.
func (s *scan) shared(crd *delivery.Object) {
	spec, _ := crd.Object["spec"].(map[string]any)
	raw, err := json.Marshal(spec)
	if spec == nil || err != nil {
		return
	}
	sum := sha256.Sum256(raw)
	if s.specs[sum] == nil {
		s.specs[sum] = spec
	}
	crd.Object["spec"] = s.specs[sum]
}

// untemplate takes off labels and annotations whose values a chart fills in: of a template that is YAML all the same, they
// are what the API server would refuse.
func untemplate(crd *delivery.Object) {
	for _, field := range []string{"labels", "annotations"} {
		values := crd.TextMap("metadata", field)
		maps.DeleteFunc(values, func(_, value string) bool { return strings.Contains(value, "{{") })
		if crd.Field("metadata", field) != nil {
			_ = unstructured.SetNestedStringMap(crd.Object, values, "metadata", field) // metadata is a map: it has the field
		}
	}
}

// add puts a CRD into the unit of a folder, the last one as a rule.
func (s *scan) add(dir string, crd *delivery.Object) {
	name := s.tree.Relative(dir)
	unit := s.cluster.Unit(name)
	if unit == nil {
		unit = &delivery.Unit{Name: name, Dirs: []string{name}}
		s.cluster.Units = append(s.cluster.Units, unit)
	}
	s.shared(crd)
	unit.Objects = append(unit.Objects, crd)
}

// unseen notes a file that decides about CRDs and cannot be read, or built.
func (s *scan) unseen(file string, content []byte, err error) {
	why := "it is about CRDs, and fails: " + files.FailureOf(err)
	if bytes.Contains(content, []byte("{{")) {
		why = "it is a template that declares CRDs"
	}
	s.hidden(file, content, why)
}

// archive notes a chart that is packed.
func (s *scan) archive(file string) error {
	content, err := render.ReadAsIs(file)
	if err != nil {
		return err
	}
	if _, noChart := charts.Archive(content); noChart == nil || filepath.Base(filepath.Dir(file)) == "charts" {
		s.hidden(file, content, "it is a packed chart, which may have CRDs")
	}
	return nil
}

// chart notes what a chart depends on and is not in this repository, with its own values, and each file of values beside them.
// https://helm.sh/docs/topics/charts/#chart-dependencies
func (s *scan) chart(file string) error {
	dir := filepath.Dir(file)
	return s.dependencies(file, append(valuesBeside(dir), filepath.Join(dir, "values.yaml")))
}

func (s *scan) dependencies(file string, values []string) error {
	content, err := render.ReadRegular(file)
	if err != nil {
		return err
	}
	var chart struct {
		Dependencies []map[string]any `json:"dependencies"`
	}
	if unpacking.Unmarshal(content, &chart) != nil {
		return nil //nolint:nilerr // it is no chart
	}
	elsewhere := slices.DeleteFunc(chart.Dependencies, func(on map[string]any) bool {
		repository, _ := on["repository"].(string)
		return repository == "" || strings.HasPrefix(repository, "file://")
	})
	named, err := json.Marshal(elsewhere)
	if err == nil && len(elsewhere) > 0 {
		lock, _ := render.ReadRegular(strings.TrimSuffix(file, ".yaml") + ".lock") // of a range of versions, it says which
		s.hidden(file, slices.Concat(named, lock, handedOn(elsewhere, values)), "it depends on charts of other repositories, which may have CRDs")
	}
	return err
}

// handedOn are the values in some files that a chart hands on to what it depends on, and that decide about it.
func handedOn(dependencies []map[string]any, in []string) (all []byte) {
	keys := []string{"global", "tags"}
	for _, on := range dependencies {
		for _, field := range []string{"name", "alias", "condition"} {
			text, _ := on[field].(string)
			for _, one := range strings.Split(text, ",") {
				key, _, _ := strings.Cut(strings.TrimSpace(one), ".")
				keys = append(keys, key)
			}
		}
	}
	for _, file := range in {
		content, err := render.ReadRegular(file)
		values, invalid := charts.ParseValues(content)
		if err != nil || invalid != nil {
			continue
		}
		maps.DeleteFunc(values, func(key string, _ any) bool { return !slices.Contains(keys, key) })
		deciding.WithoutContainers(values)
		text, _ := json.Marshal(values)
		all = append(all, text...)
	}
	return all
}

// hidden notes a file whose CRDs cannot be seen, which are the same as long as its content is.
func (s *scan) hidden(file string, content []byte, why string) {
	s.cluster.Unseen = append(s.cluster.Unseen, s.tree.Unseen(file, content, why))
}
