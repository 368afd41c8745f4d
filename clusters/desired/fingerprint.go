package desired

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/deciding"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/desired/madeof"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// fingerprint stands for all in the repository that decides what a source brings. That is its own spec and the unit that applies
// it, the sources and the values that it refers to, and files that are used without being built.
func (f *follower) fingerprint(s delivery.Unseen, holder *delivery.Unit, h hidden) string {
	p := f.newFingerprint()
	p.Write("why", s.Why)
	if holder != nil && holder.By != nil {
		p.Write("in", holder.Name)
	}
	p.object(s.By)
	if appset.HoldsKey(s.By.Field("spec", "generators"), "clusters") { // some of the clusters may be known here
		for _, object := range p.cluster.Objects() {
			if appset.IsCluster(object) || appset.MakesCluster(object) {
				p.Write("cluster", jsonOf(object.Object)) // its labels, too
			}
		}
		p.outside("", ofCluster)
	}
	p.inputs(h.inputs)
	if f.known.Templated[s.By] && holder != nil {
		p.variablesOf(holder.By)
	}
	for _, built := range h.built {
		p.Write("built", built)
	}
	for _, lent := range h.lent {
		p.object(lent)
	}
	for _, file := range h.files {
		p.File(file)
	}
	for _, path := range h.readable {
		p.readable(path, f.isInUnit)
	}
	for _, dir := range h.charts {
		p.chart(dir)
	}
	for _, file := range h.values {
		p.values(file)
	}
	if h.scope != files.Named && f.tree != nil {
		p.Write("repository", f.tree.Repository(h.scope))
	}
	return p.Sum()
}

type fingerprint struct {
	*follower
	*files.Digest

	objects map[*unstructured.Unstructured]bool
	// ofRelease: what is referred to holds values for the chart of a HelmRelease.
	ofRelease bool
}

func (f *follower) newFingerprint() *fingerprint {
	return &fingerprint{follower: f, Digest: f.tree.NewDigest(), objects: map[*unstructured.Unstructured]bool{}}
}

// chart adds a folder of a chart, and its own files of values without what decides about containers alone. What is written about it, as its README,
// decides nothing.
func (p *fingerprint) chart(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		p.File(dir)
	}
	mayBePlain := sync.OnceValue(func() bool { return !slices.ContainsFunc(files.In(dir), grants) }) // or the right may be for a program among them
	for _, entry := range entries {
		switch file := filepath.Join(dir, entry.Name()); {
		case entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), "values"):
			p.values(file)
		case entry.IsDir() && entry.Name() == "templates":
			p.readable(file, func(string) bool { return mayBePlain() })
		case !entry.Type().IsRegular() || filepath.Ext(file) != ".md":
			p.File(file)
		}
	}
}

func grants(file string) bool {
	content, err := render.ReadRegular(file)
	return err == nil && detect.GrantsCRDs(content)
}

// readable adds a file or a folder with all below, without manifests that decide nothing. Applied are manifests that something applies: others
// may be settings of a program, whatever kind they name.
func (p *fingerprint) readable(path string, applied func(file string) bool) {
	note := p.tree.Reads.File
	if path == p.tree.Root {
		note = p.tree.Reads.Stands
	}
	isGit := func(name string) bool { return name == ".git" }
	if err := p.tree.Each(path, isGit, func(file string) error {
		note(file)
		if content, err := render.ReadAsIs(file); err != nil || !applied(file) || !isPlain(file, content) {
			p.Write(p.tree.Relative(file), string(content))
		}
		return nil
	}); err != nil {
		p.Write("error", p.tree.Relative(path))
	}
}

// isInUnit reports whether an object that a unit applies is from a file.
func (f *follower) isInUnit(file string) bool { return f.placed()[f.tree.Relative(file)] }

func (f *follower) findPlaced() map[string]bool {
	placed := map[string]bool{}
	for _, object := range f.cluster.Objects() {
		placed[object.Place().File] = true
	}
	return placed
}

// isPlain reports whether a file is of manifests alone that decide about no CRD, as they are: not of templates, and of no kind that others refer to.
func isPlain(file string, content []byte) bool {
	if bytes.Contains(content, []byte("{{")) || !detect.IsManifest(filepath.Base(file)) {
		return false
	}
	read, err := render.Stream(file, bytes.NewReader(content))
	return err == nil && len(read.Objects) > 0 && !slices.ContainsFunc(read.Objects, func(object *delivery.Object) bool {
		return strings.ContainsAny(object.GetAPIVersion()+object.GetKind(), "${<") || slices.Contains(kinds.Decisive, object.GetKind()) || !decidesNothing(object)
	})
}

// values adds a file of values.
func (p *fingerprint) values(file string) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		p.File(file)
		return
	}
	p.tree.Reads.File(file)
	p.Write(p.tree.Relative(file), madeof.ValuesIn(p.tree, file))
}

func (p *fingerprint) inputs(all map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.Write(name, all[name])
	}
}

// object adds what an object says, and the objects that it refers to.
func (p *fingerprint) object(o *delivery.Object) {
	if p.objects[o.Unstructured] {
		return
	}
	p.objects[o.Unstructured] = true
	of := deciding.Of(o)
	if p.ofRelease && o.Is("", "ConfigMap") {
		of["data"] = valuesOf(o)
	}
	for _, from := range delivery.Wrap(of).Entries("spec", "valuesFrom") {
		if kinds.IsHelmRelease(o) && len(p.cluster.Named("ConfigMap", o.GetNamespace(), from.Text("name"))) > 0 {
			from.Object["name"] = delivery.WithoutHash(from.Text("name")) // what it holds counts
		}
	}
	content, err := json.Marshal(of)
	if err != nil {
		content = fmt.Append(nil, err)
	}
	p.Write(o.GetKind()+" "+delivery.WithoutHash(o.GetName()), string(content))
	p.published(o)
	if o.Is("source.toolkit.fluxcd.io", "HelmChart") {
		chart := p.chartOf(o)
		p.inputs(chart.inputs)
		for _, file := range chart.files {
			p.File(file)
		}
	}
	if len(kinds.Becoming(o)) == 0 {
		defer func(before bool) { p.ofRelease = before }(p.ofRelease)
		p.ofRelease = kinds.IsHelmRelease(o)
		p.references(o.GetNamespace(), o.Object)
	}
	for _, included := range p.known.Included(o) {
		p.object(included)
	}
}

// valuesOf is what a ConfigMap holds for a chart, without what decides about containers alone.
func valuesOf(o *delivery.Object) map[string]string {
	data := o.TextMap("data")
	for key, text := range data {
		data[key] = madeof.ValuesOf(text)
	}
	return data
}

// variablesOf adds what a Kustomization puts into its objects, as far as it is in this repository: a Secret may be, too.
func (p *fingerprint) variablesOf(kustomization *delivery.Object) {
	content, err := json.Marshal(kustomization.Field("spec", "postBuild"))
	p.Write("postBuild", string(append(content, fmt.Sprint(err)...)))
	p.references(kustomization.GetNamespace(), kustomization.Field("spec", "postBuild"))
}

// references adds the objects of decisive kinds that a value names, wherever it does.
func (p *fingerprint) references(namespace string, value any) {
	for _, v := range crdschema.Each(value) {
		v, _ := v.(map[string]any)
		if to := delivery.ReferenceOf(delivery.Wrap(v), namespace); to.Name != "" && slices.Contains(kinds.Decisive, to.Kind) {
			p.named(to.Kind, to.Namespace, to.Name)
		}
		if from, _ := v["fluxcd.controlplane.io/copyFrom"].(string); from != "" {
			namespace, name, _ := strings.Cut(from, "/")
			p.named("ConfigMap", namespace, name)
			p.named("Secret", namespace, name)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.HasPrefix(key, "values") || key == "pathsFrom" || key == "configMapRef" {
				p.lent(namespace, key, v[key])
			}
		}
	}
}

// named adds an object that another one takes something from, or else what makes it in the cluster: an ExternalSecret, a SealedSecret, a policy
// that copies it.
func (p *fingerprint) named(kind, namespace, name string) {
	if name == "" {
		return
	}
	found := p.cluster.Named(kind, namespace, name)
	if len(found) == 0 && (kind == "ConfigMap" || kind == "Secret") {
		found = p.cluster.Named(kind, "", name)
		for _, object := range p.cluster.Objects() {
			if mayMake(object, name) {
				found = append(found, object)
			}
		}
	}
	if len(found) == 0 {
		p.madeOutside(kind, name)
	}
	for _, object := range found {
		p.object(object)
	}
}

// mayMake reports whether the controller of an object may make another one of a name: it is called so, or names it.
func mayMake(object *delivery.Object, name string) bool {
	group := object.GroupVersionKind().Group
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || object.IsCRD() || kinds.Delivers(object) || kinds.IsHelmRelease(object) || kinds.IsSource(object) {
		return false
	}
	if object.GetName() == name {
		return true
	}
	for at, value := range crdschema.Each(object.Object) {
		if value == name && len(at) > 0 && at[0] != "metadata" {
			return true
		}
	}
	return false
}

// lent adds what values are taken from, where not a kind but the field says what it is: values: [{secretRef: {name: x}}].
func (p *fingerprint) lent(namespace, field string, value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			p.lent(namespace, field, item)
		}
	case map[string]any:
		kind := ""
		switch lower := strings.ToLower(field); {
		case v["name"] == nil || !strings.Contains(lower, "ref") && !strings.Contains(lower, "secret"):
		case strings.Contains(lower, "secret"):
			kind = "Secret"
		default:
			kind = "ConfigMap"
		}
		if to := delivery.ReferenceOf(delivery.Wrap(v), namespace); kind != "" {
			p.named(kind, to.Namespace, to.Name)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.lent(namespace, key, v[key])
		}
	}
}
