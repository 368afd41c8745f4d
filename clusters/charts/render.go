package charts

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Release is what a tool passes to Helm about an installation of a chart.
type Release struct {
	Name, Namespace string
	// Values are those beside the chart's own.
	Values map[string]any
	// Upgrade: the templates see an upgrade, and not an installation.
	Upgrade bool
	// KubeVersion is empty for that of the Kubernetes release which Moult is built with.
	KubeVersion string
	// APIVersions are those of the cluster, beside Kubernetes' own.
	APIVersions []string
	// Hooks are those of Helm's that count beside the ones of installations and upgrades.
	Hooks []string
	// Cluster is what other clusters decide otherwise.
	Cluster Cluster
	// SkipSchema: the values are not held against values.schema.json.
	SkipSchema bool
}

// Rendering is what a chart amounts to.
type Rendering struct {
	// Objects are those of the templates, in the order of the files, without hooks that only tests or a deletion run.
	Objects []*delivery.Object
	// CRDs are the manifests in crds/, which no template engine has touched. What becomes of them is the tool's decision.
	CRDs []*delivery.Object
}

// KubeVersion is what charts are reported unless somebody says otherwise: that of the libraries in go.mod.
const KubeVersion = "v1.37.0"

// Render runs the templates. The error says what the chart or its values lack, as Helm does; it is about this chart only.
//
// Most charts are the same before and after a pull request, and in each cluster: what was rendered is kept, by the content
// of the chart and the release. Each caller gets objects of its own.
func (c *Chart) Render(ctx context.Context, r Release) (*Rendering, error) {
	kept, err := keptRendering(c.key(r), func() (*Rendering, error) {
		return Limited(ctx, func() (*Rendering, error) { return c.render(r) })
	})
	if err != nil {
		return nil, err
	}
	return &Rendering{Objects: c.own(kept.Objects), CRDs: c.own(kept.CRDs)}, nil
}

func (c *Chart) render(r Release) (rendering *Rendering, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("the chart breaks Helm: %v", caught)
		}
	}()
	again, rendered, err := c.texts(r, nil)
	if err != nil {
		return nil, err
	}
	rendering = &Rendering{}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		if err := rendering.add(again, name, rendered[name], r.Hooks); err != nil {
			return nil, err
		}
	}
	if r.Cluster.Files != nil {
		return rendering, nil // crds/ is the same in each cluster
	}
	return rendering, rendering.addCRDs(again)
}

// texts are what the templates become, by their files, with functions in the place of others. The chart is the one that was rendered, since
// that changes it.
func (c *Chart) texts(r Release, others template.FuncMap) (again *Chart, rendered map[string]string, err error) {
	if again, err = load(c.files); err != nil {
		return nil, nil, err
	}
	if r.Cluster.Files != nil {
		again.keepOnly(r.Cluster.Files)
	}
	values, err := again.prepare(r)
	if err != nil {
		return nil, nil, err
	}
	all := functions()
	maps.Copy(all, r.Cluster.functions())
	maps.Copy(all, others)
	if rendered, err = (engine.Engine{CustomTemplateFuncs: all}).Render(again.chart, values); err != nil {
		return nil, nil, inOneLine(err)
	}
	return again, rendered, nil
}

// prepare leaves out the dependencies that are switched off, and puts the values together.
func (c *Chart) prepare(r Release) (common.Values, error) {
	values := copied(r.Values)
	if err := chartutil.ProcessDependencies(c.chart, values); err != nil {
		return nil, err
	}
	for _, wanted := range c.chart.Metadata.Dependencies {
		if !slices.ContainsFunc(c.chart.Dependencies(), func(held *chartv2.Chart) bool {
			return held.Name() == wanted.Name || held.Name() == wanted.Alias
		}) {
			return nil, &MissingError{c.asLocked(wanted)}
		}
	}
	capabilities, err := capabilities(r)
	if err != nil {
		return nil, err
	}
	if need := c.chart.Metadata.KubeVersion; need != "" && !chartutil.IsCompatibleRange(need, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("it needs Kubernetes %s, and is rendered for %s", need, capabilities.KubeVersion.Version)
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: !r.Upgrade, IsUpgrade: r.Upgrade}
	if r.Upgrade {
		options.Revision = 2
	}
	prepared, err := util.ToRenderValuesWithSchemaValidation(c.chart, values, options, capabilities, true)
	if err == nil {
		prepared["Capabilities"] = seenBy(capabilities)
	}
	if err != nil || r.SkipSchema {
		return prepared, err
	}
	all, _ := prepared["Values"].(common.Values)
	return prepared, validate(c.chart, all)
}

// MissingError is for a chart that needs another one, which is not in charts/.
type MissingError struct{ Dependency }

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("its dependency %s is not in charts/", strings.TrimSpace(e.Name+" "+e.Version))
}

// add takes the objects of one template.
func (r *Rendering) add(c *Chart, name, text string, more []string) error {
	inChart := strings.TrimPrefix(name, c.chart.Name()+"/")
	// Helm splits at each line that begins so, whatever follows.
	read, err := render.Stream(name, strings.NewReader(separator.ReplaceAllString(text, "---\n")))
	if err != nil {
		return fmt.Errorf("what the template makes is no manifest: %w", err)
	}
	for _, object := range read.Objects {
		if isApplied(object, more) {
			r.Objects = append(r.Objects, &delivery.Object{Unstructured: object.Unstructured, At: func(...string) finding.Place {
				return finding.Place{File: inChart}
			}})
		}
	}
	return nil
}

// separator is between documents, as Helm's releaseutil.SplitManifests has it.
var separator = regexp.MustCompile(`(?m)^---[ \t]*`)

// addCRDs takes the manifests of crds/, those of dependencies too. Helm has the charts below in another order each time.
func (r *Rendering) addCRDs(c *Chart) error {
	crds := c.chart.CRDObjects()
	slices.SortStableFunc(crds, func(a, b chartv2.CRD) int { return strings.Compare(a.Filename, b.Filename) })
	for _, crd := range crds {
		name := strings.TrimPrefix(path.Clean(filepath.ToSlash(crd.Filename)), c.Name()+"/")
		read, err := render.Stream(name, strings.NewReader(string(crd.File.Data)))
		if err != nil {
			return err
		}
		for _, object := range read.Objects {
			r.CRDs = append(r.CRDs, &delivery.Object{Unstructured: object.Unstructured, At: func(fields ...string) finding.Place {
				return finding.Place{File: name, Line: object.Place(fields...).Line}
			}})
		}
	}
	return nil
}

// own are copies of objects, with places in this chart.
func (c *Chart) own(objects []*delivery.Object) []*delivery.Object {
	copies := make([]*delivery.Object, len(objects))
	for i, object := range objects {
		copies[i] = &delivery.Object{Unstructured: object.DeepCopy(), At: func(fields ...string) finding.Place {
			return c.place(object.Place(fields...))
		}}
	}
	return copies
}

// place is a file of the chart. What lies in an archive is named as Helm names a template.
func (c *Chart) place(inChart finding.Place) finding.Place {
	if onDisk := filepath.Join(c.Dir, filepath.FromSlash(inChart.File)); c.Dir != "" && isFile(onDisk) {
		return finding.Place{File: onDisk, Line: inChart.Line}
	}
	return finding.Place{Template: path.Join(c.Name(), inChart.File)}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// hooks are those that Helm runs at an installation or an upgrade, and atOther those of other occasions.
// https://helm.sh/docs/topics/charts_hooks/#the-available-hooks
var (
	hooks   = []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
	atOther = []string{"pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success"}
)

// AnyHook has the hooks of all occasions count, for tools that have their own rules.
const AnyHook = "*"

// isApplied reports whether an object is applied: all but the hooks of other occasions. Helm leaves out what names a hook that it does not know.
// https://github.com/helm/helm/blob/v4.2.4/pkg/release/v1/util/manifest_sorter.go (isUnknownHook)
func isApplied(object *delivery.Object, more []string) bool {
	named := HooksOf(object)
	isKnown := func(hook string) bool { return slices.Contains(hooks, hook) || slices.Contains(atOther, hook) }
	counts := func(hook string) bool {
		return slices.Contains(hooks, hook) || slices.Contains(more, hook) || slices.Contains(more, AnyHook)
	}
	return len(named) == 0 || !slices.ContainsFunc(named, func(hook string) bool { return !isKnown(hook) }) && slices.ContainsFunc(named, counts)
}

// HooksOf are Helm's hooks that an object is run as; none if it is no hook.
func HooksOf(object *delivery.Object) (named []string) {
	if hook := object.Annotation(delivery.HelmHook); hook != "" {
		for one := range strings.SplitSeq(hook, ",") {
			named = append(named, strings.ToLower(strings.TrimSpace(one)))
		}
	}
	return named
}
