package charts

import (
	"context"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"sigs.k8s.io/yaml"
)

// Cluster is what a cluster decides about a release. The zero value is one with the APIs that Helm knows, in which nothing is found.
type Cluster struct {
	// Files are the templates that are rendered, nil for all.
	Files []string
	// Found: what templates look up is there.
	Found bool
	// OnlyAPIs: it has no APIs but those of the release. Without are those of Kubernetes that it lacks.
	OnlyAPIs bool
	Without  []string
	// Helm is the version of the tool, empty for that of the library.
	Helm string
}

func (c Cluster) functions() template.FuncMap {
	if !c.Found {
		return nil
	}
	return template.FuncMap{"lookup": func(version, kind, namespace, name string) map[string]any {
		return map[string]any{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{}, "annotations": map[string]any{}},
			"data": map[string]any{}, "spec": map[string]any{}, "status": map[string]any{}, "items": []any{map[string]any{"metadata": map[string]any{"name": "found"}}},
		}
	}}
}

// AnyAPI stands for all APIs in a list of them.
const AnyAPI = "*"

// apis are the APIs of a cluster, as templates ask for them.
type apis []string

// Has is a method of Helm's.
func (a apis) Has(api string) bool { return slices.Contains(a, AnyAPI) || slices.Contains(a, api) }

// seen are capabilities as templates have them.
type seen struct {
	KubeVersion common.KubeVersion
	APIVersions apis
	HelmVersion any
}

func seenBy(c *common.Capabilities) *seen {
	return &seen{KubeVersion: c.KubeVersion, APIVersions: apis(c.APIVersions), HelmVersion: c.HelmVersion}
}

func capabilities(r Release) (*common.Capabilities, error) {
	text := r.KubeVersion
	if text == "" {
		text = KubeVersion
	}
	version, err := common.ParseKubeVersion(text)
	if err != nil {
		return nil, fmt.Errorf("the version of Kubernetes: %w", err)
	}
	c := &common.Capabilities{KubeVersion: *version, HelmVersion: common.DefaultCapabilities.HelmVersion, APIVersions: slices.Clone(r.APIVersions)}
	if r.Cluster.Helm != "" {
		c.HelmVersion.Version = r.Cluster.Helm
	}
	if !r.Cluster.OnlyAPIs {
		c.APIVersions = append(slices.DeleteFunc(slices.Clone(common.DefaultVersionSet), func(api string) bool { return slices.Contains(r.Cluster.Without, api) }), c.APIVersions...)
	}
	return c, nil
}

// keepOnly leaves out the files that make objects, but for some.
func (c *Chart) keepOnly(files []string) {
	for next := []*chartv2.Chart{c.chart}; len(next) > 0; next = next[1:] {
		prefix := next[0].ChartFullPath() + "/"
		next[0].Templates = slices.DeleteFunc(next[0].Templates, func(file *common.File) bool {
			base := file.Name[strings.LastIndex(file.Name, "/")+1:]
			return !strings.HasPrefix(base, "_") && !slices.Contains(files, prefix+file.Name)
		})
		next = append(next, next[0].Dependencies()...)
	}
}

const (
	// oldest and newest are the minor versions of Kubernetes between which a chart may distinguish.
	oldest, newest = 25, 40
	// mostAPIs is how many APIs are tried one by one.
	mostAPIs = 32
)

var (
	// api is the name of one, in a text.
	api = regexp.MustCompile(`\b[a-z][a-z0-9.-]*/v\d\w*(?:/[A-Z]\w*)?`)
	// version is one of Kubernetes in a text, and minorVersion a number that may be a part of one.
	version      = regexp.MustCompile(`\b1\.([234]\d)\b`)
	minorVersion = regexp.MustCompile(`\b([234]\d)\b`)
	// Words for what only a cluster decides. A template without them takes none of that, or it prints all that it is given.
	ofKubernetes   = regexp.MustCompile(`\b(?:KubeVersion|Capabilities)\b`)
	ofAPIs         = regexp.MustCompile(`\b(?:APIVersions|Capabilities)\b`)
	ofHelm         = regexp.MustCompile(`\b(?:HelmVersion|Capabilities)\b`)
	ofInstallation = regexp.MustCompile(`\b(?:Revision|IsInstall|IsUpgrade)\b`)
	ofLookups      = regexp.MustCompile(`\blookup\b`)
	ofClusters     = regexp.MustCompile(`\b(?:KubeVersion|Capabilities|APIVersions|HelmVersion|Revision|IsInstall|IsUpgrade|lookup)\b`)
)

func speaksOfCluster(text string) bool { return ofClusters.MatchString(text) }

// RenderOnce is Render, but the rendering is not kept.
func (c *Chart) RenderOnce(ctx context.Context, r Release) (*Rendering, error) {
	return Limited(ctx, func() (*Rendering, error) { return c.render(r) })
}

// Key stands for the chart with all its files, and a release.
func (c *Chart) Key(r Release) string {
	key := c.key(r)
	return hex.EncodeToString(key[:])
}

// Elsewhere are releases as other clusters have them, of the templates alone that take what only a cluster decides and may matter. The first is
// the one that all others are compared with. None of them if there is no such template. Installed: Helm itself installs the chart, so that
// templates can look up what is in the cluster, and see a first installation. Otherwise they are rendered before they are applied.
func (c *Chart) Elsewhere(ctx context.Context, r Release, installed bool, matters func(Dependent) bool) ([]Release, error) {
	p, err := c.parts()
	if err != nil {
		return nil, err
	}
	values, err := c.valuesAsText(r.Values)
	if err != nil {
		return nil, err
	}
	var files []string
	var text, asking string // all of the templates, and the parts that ask
	takers, changers := decidedByCluster(p, speaksOfCluster(values))
	for _, file := range takers {
		if d := p.dependent(file); matters(d) {
			files, text = append(files, file), text+d.Text
			for _, one := range p.within(file, true) {
				if one.asks {
					asking += one.text
				}
			}
		}
	}
	if len(files) == 0 {
		return nil, ctx.Err()
	}
	kept := slices.Concat(files, changers)
	kept = append(kept, p.needed(kept)...) // what has pieces
	r.Cluster.Files = slices.Concat(kept, p.needed(kept))
	named := text + values
	if speaksOfCluster(values) || strings.Contains(asking, ".Values") {
		asking += values
	}
	if speaksOfCluster(values) {
		text = named
	}
	all := []Release{r}
	if ofKubernetes.MatchString(text) {
		all = append(all, c.otherVersions(r, text, asking)...)
	}
	if ofAPIs.MatchString(text) {
		all = append(all, otherAPIs(r, named, asking)...)
	}
	if ofHelm.MatchString(text) {
		other := r
		other.Cluster.Helm = "v3.20.0"
		all = append(all, other)
	}
	if installed {
		all = append(all, otherStates(r, text)...)
	}
	return all, nil
}

func (c *Chart) valuesAsText(of map[string]any) (text string, err error) {
	for _, values := range c.AllValues(of) {
		content, err := yaml.Marshal(values)
		if err != nil {
			return "", err
		}
		text += string(content)
	}
	return text, nil
}

// needed are the files that others take something from: a piece that they define, or themselves.
func (p *parts) needed(files []string) (needed []string) {
	taken := map[string]bool{}
	for _, by := range files {
		for _, name := range p.names(by) {
			taken[name] = true
		}
	}
	for _, file := range p.files {
		if taken[file] || slices.ContainsFunc(p.named[file], func(one *part) bool { return one.defines }) {
			needed = append(needed, file)
		}
	}
	return needed
}

// names are a part and all that is included in it.
func (p *parts) names(name string) []string {
	all := []string{name}
	for i := 0; i < len(all); i++ {
		for _, one := range p.named[all[i]] {
			for _, next := range slices.Concat(one.included, one.digested) {
				if !slices.Contains(all, next) {
					all = append(all, next)
				}
			}
		}
	}
	return all
}

// decidedByCluster are the files that take what only a cluster decides, and those that may put it into the values of others. InValues: texts
// among the values may, where they are rendered.
func decidedByCluster(p *parts, inValues bool) (takers, changers []string) {
	takes := func(one *part) bool {
		return one.asks || one.rendersTexts && (inValues || one.hasFiles)
	}
	changes := func(one *part) bool { return one.changes || one.rendersTexts }
	isChanged := false
	for _, file := range slices.Concat(p.files, p.notes) {
		all := p.within(file, true)
		if slices.ContainsFunc(all, changes) {
			changers = append(changers, file)
			isChanged = isChanged || slices.ContainsFunc(all, takes) && slices.ContainsFunc(all, func(one *part) bool { return one.changes || one.rendersTexts && inValues })
		}
	}
	for _, file := range p.files {
		if isChanged || slices.ContainsFunc(p.within(file, true), takes) {
			takers = append(takers, file)
		}
	}
	return takers, changers
}

// otherVersions are those around each that templates name, and the oldest and the newest.
func (c *Chart) otherVersions(r Release, text, asking string) (others []Release) {
	around := map[int]bool{oldest: true, newest: true}
	for _, found := range append(version.FindAllStringSubmatch(text, -1), minorVersion.FindAllStringSubmatch(asking, -1)...) {
		named, _ := strconv.Atoi(found[1])
		around[named-1], around[named], around[named+1] = true, true, true
	}
	for minor := oldest; minor <= newest && r.KubeVersion == ""; minor++ {
		other := r
		other.KubeVersion = fmt.Sprintf("v1.%d.0", minor)
		if need := c.chart.Metadata.KubeVersion; around[minor] && (need == "" || chartutil.IsCompatibleRange(need, other.KubeVersion)) {
			others = append(others, other)
		}
	}
	return others
}

// namedIn are the APIs that a text names.
func namedIn(text string) (named []string) {
	for _, one := range api.FindAllString(text, -1) {
		if !slices.Contains(named, one) && len(named) < mostAPIs {
			named = append(named, one)
		}
	}
	return named
}

// otherAPIs are all APIs that templates and values name, none, and each alone that those parts name which ask for some.
func otherAPIs(r Release, text, asking string) (others []Release) {
	if len(r.APIVersions) > 0 {
		return nil
	}
	all, none := r, r
	all.APIVersions, none.Cluster.OnlyAPIs = append([]string{AnyAPI}, namedIn(text)...), true
	others = []Release{all, none}
	for _, one := range namedIn(asking) {
		other := r
		if slices.Contains(common.DefaultVersionSet, one) {
			other.Cluster.Without = []string{one}
		} else {
			other.APIVersions = []string{one}
		}
		others = append(others, other)
	}
	return others
}

// otherStates are what an installation may find.
func otherStates(r Release, text string) (others []Release) {
	first, found, both := r, r, r
	first.Upgrade, found.Cluster.Found = !r.Upgrade, true
	both.Upgrade, both.Cluster.Found, both.APIVersions = !r.Upgrade, true, []string{AnyAPI}
	if ofInstallation.MatchString(text) {
		others = append(others, first)
	}
	if ofLookups.MatchString(text) {
		others = append(others, found)
	}
	if len(others) > 0 {
		others = append(others, both)
	}
	return others
}
