package desired

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/helm"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Everywhere are all CRDs in the files of a tree, by whatever they are applied: a unit for each folder that has some. It is for a
// tree without an entry point, such as an operator's repository, where nothing says what is applied.
//
// A CRD is as the nearest kustomization around its file builds it, if that one does: patches add conversion webhooks, for
// example. YAML that is no manifest is passed over. A template of a chart is as the chart makes it with
// its own values. A file that mentions CRDs and cannot be read or rendered is unseen. Left out is what no tool applies: hidden folders, as Flux does, and those that notApplied names.
//
// Built is what Touched finds, whose CRDs are compared as it makes them, too. Of the options WithNetwork counts: nothing is followed.
func Everywhere(ctx context.Context, t *repository.Tree, built []string, options ...Option) (*delivery.Cluster, error) {
	e := newEverywhere(ctx, t, options)
	err := e.walk(func(file string) error {
		switch name := filepath.Base(file); {
		case filepath.Ext(name) == ".tgz":
			return e.archive(file)
		case ofPrograms[filepath.Ext(name)] != "":
			return e.noteProgram(file, ofPrograms[filepath.Ext(name)])
		case !detect.IsManifest(name):
			return nil
		case name == files.ChartFile, name == "requirements.yaml" && files.HasChart(filepath.Dir(file)): // the latter with Helm 2's charts
			return e.chart(file)
		}
		return e.file(file)
	})
	for _, name := range built {
		dir, values := helm.ValuesOf(name)
		at := filepath.Join(t.Dir, filepath.FromSlash(dir))
		e.asKustomized(at)
		e.asInstalled(at, values)
		if err == nil {
			err = e.passedOver(at)
		}
	}
	e.findInCharts()
	e.findPrograms()
	return e.cluster, err
}

func newEverywhere(ctx context.Context, t *repository.Tree, options []Option) *everywhere {
	e := &everywhere{
		follower: follower{tree: files.Of(t), ctx: ctx}, cluster: &delivery.Cluster{Name: t.Name}, built: map[string]*render.Rendering{},
		charts: map[string]*madeByChart{}, added: map[*delivery.Object]bool{}, specs: map[[sha256.Size]byte]map[string]any{},
		making: map[string][]delivery.InChart{}, defined: map[string]map[string]string{}, programs: map[string]program{},
	}
	for _, option := range options {
		option(&e.follower)
	}
	return e
}

// everywhere is a walk under way.
type everywhere struct {
	follower // for the places
	cluster  *delivery.Cluster
	built    map[string]*render.Rendering  // by the folder of a kustomization; nil for one that cannot be built
	charts   map[string]*madeByChart       // by the folder of a chart
	defined  map[string]map[string]string  // named templates, by the folder of a chart
	making   map[string][]delivery.InChart // of charts with CRDs among their templates, what these are if nothing is rendered
	added    map[*delivery.Object]bool     // of these
	programs map[string]program            // by their language
	// applied are files and folders that commands apply, and changed what is not as it was.
	applied, changed []string
	specs            map[[sha256.Size]byte]map[string]any
}

// file adds the CRDs of a file.
func (e *everywhere) file(name string) error {
	e.tree.Reads.File(name)
	content, err := render.ReadRegular(name)
	if pointer := (*render.PointerError)(nil); errors.As(err, &pointer) {
		return e.pointer(name, pointer)
	}
	if err != nil || !detect.MayDeclare(content) {
		return err
	}
	says := detect.CRD.Match(content)
	if says && bytes.Contains(content, []byte("{{")) && e.templated(name, content) {
		return nil
	}
	read, err := e.builds.File(name, content)
	if err != nil && (says || detect.EncodedCRD.Match(content)) {
		e.unseen(name, e.withPartials(name, content), e.tree.Shorten(err))
	}
	if err != nil {
		return nil //nolint:nilerr // it is noted, or says nothing of CRDs
	}
	all := files.Placed(read, e.tree.Place)
	if says && files.IsTemplateOfChart(name) {
		e.noteTemplate(e.chartAround(filepath.Dir(name)), name, string(content), kinds.CRDs(all))
	}
	for _, object := range all {
		if !object.IsCRD() {
			for _, crd := range e.crdsOf(e.tree.Relative(name), object) {
				e.add(filepath.Dir(name), crd)
			}
			continue
		}
		untemplate(object)
		e.inChart(name, object)
		e.add(filepath.Dir(name), e.asBuilt(object, name))
	}
	return nil
}

// pointer notes a file whose content is elsewhere.
func (e *everywhere) pointer(file string, pointer *render.PointerError) error {
	content, err := render.ReadAsIs(file)
	if err == nil {
		e.hidden(file, content, "it may hold CRDs, and is "+pointer.How+"; "+pointer.Fix)
	}
	return err
}

// shared gives copies of a CRD one spec, which nothing changes.
func (e *everywhere) shared(crd *delivery.Object) {
	spec, _ := crd.Object["spec"].(map[string]any)
	raw, err := json.Marshal(spec)
	if spec == nil || err != nil {
		return
	}
	sum := sha256.Sum256(raw)
	if e.specs[sum] == nil {
		e.specs[sum] = spec
	}
	crd.Object["spec"] = e.specs[sum]
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
func (e *everywhere) add(dir string, crd *delivery.Object) {
	name := e.tree.Relative(dir)
	unit := e.cluster.Unit(name)
	if unit == nil {
		unit = &delivery.Unit{Name: name, Dirs: []string{name}}
		e.cluster.Units = append(e.cluster.Units, unit)
	}
	e.shared(crd)
	unit.Objects = append(unit.Objects, crd)
}

// unseen notes a file that decides about CRDs and cannot be read, or built.
func (e *everywhere) unseen(file string, content []byte, err error) {
	why := "it is about CRDs, and fails: " + files.FailureOf(err)
	if bytes.Contains(content, []byte("{{")) {
		why = "it is a template that declares CRDs"
	}
	e.hidden(file, content, why)
}

// archive notes a chart that is packed.
func (e *everywhere) archive(file string) error {
	content, err := render.ReadAsIs(file)
	if err != nil {
		return err
	}
	if _, noChart := charts.Archive(content); noChart == nil || filepath.Base(filepath.Dir(file)) == "charts" {
		e.hidden(file, content, "it is a packed chart, which may have CRDs")
	}
	return nil
}

// chart notes what a chart depends on and is not in this repository.
// https://helm.sh/docs/topics/charts/#chart-dependencies
func (e *everywhere) chart(file string) error {
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
	if len(elsewhere) > 0 {
		lock, _ := render.ReadRegular(strings.TrimSuffix(file, ".yaml") + ".lock") // of a range of versions, it says which
		e.hidden(file, append([]byte(jsonOf(elsewhere)), lock...), "it depends on charts of other repositories, which may have CRDs")
	}
	return nil
}

// hidden notes a file whose CRDs cannot be seen, which are the same as long as its content is.
func (e *everywhere) hidden(file string, content []byte, why string) {
	name, sum := e.tree.Relative(file), sha256.Sum256(content)
	e.cluster.Unseen = append(e.cluster.Unseen, delivery.Unseen{Name: name, By: files.StandIn("File", name, name), Why: why, Fingerprint: hex.EncodeToString(sum[:])})
}
