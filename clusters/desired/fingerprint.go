package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/unpacking"
)

// whenNotWhat are fields of spec that say when and how patiently something is brought, and nothing about what. What is not
// listed counts, so that a field that we do not know is a change.
var whenNotWhat = []string{
	"interval", "retryInterval", "timeout", "wait", "dependsOn", "healthChecks", "healthCheckExprs", "maxHistory", "revisionHistoryLimit",
}

// fingerprint stands for all in the repository that decides what a source brings. That is its own spec and the unit that applies
// it, the sources and the values that it refers to, and files that are used without being built.
func (f *follower) fingerprint(s delivery.Unseen, holder *delivery.Unit, h hidden) string {
	p := &fingerprint{follower: f, sum: sha256.New(), objects: map[*unstructured.Unstructured]bool{}, files: map[string]bool{}}
	p.write("why", s.Why)
	if holder != nil && holder.By != nil {
		p.write("in", holder.Name)
	}
	p.object(s.By)
	p.inputs(h.inputs)
	if f.templated[s.By] && holder != nil {
		p.variablesOf(holder.By)
	}
	for _, built := range h.built {
		p.write("built", built)
	}
	for _, file := range h.files {
		p.file(file)
	}
	if h.scope != named && f.tree != nil {
		p.write("repository", f.all(h.scope))
	}
	return hex.EncodeToString(p.sum.Sum(nil))
}

type fingerprint struct {
	*follower

	sum     hash.Hash
	objects map[*unstructured.Unstructured]bool
	files   map[string]bool
}

// sumOf stands for files and folders with all below.
func (f *follower) sumOf(paths ...string) string {
	p := &fingerprint{follower: f, sum: sha256.New(), files: map[string]bool{}}
	for _, path := range paths {
		p.file(path)
	}
	return hex.EncodeToString(p.sum.Sum(nil))
}

// write adds a text in such a way that no other two make the same.
func (p *fingerprint) write(what, content string) {
	fmt.Fprintf(p.sum, "%s %d %s\n", what, len(content), content)
}

func (p *fingerprint) inputs(all map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.write(name, all[name])
	}
}

// object adds what an object says, and the objects that it refers to.
func (p *fingerprint) object(o *delivery.Object) {
	if p.objects[o.Unstructured] {
		return
	}
	p.objects[o.Unstructured] = true
	content, err := json.Marshal(deciding(o))
	if err != nil {
		content = fmt.Append(nil, err)
	}
	p.write(o.GetKind()+" "+o.GetName(), string(content))
	if o.Is("source.toolkit.fluxcd.io", "HelmChart") {
		chart := p.chartOf(o)
		p.inputs(chart.inputs)
		for _, file := range chart.files {
			p.file(file)
		}
	}
	if len(kinds.Becoming(o)) == 0 {
		p.references(o.GetNamespace(), o.Object)
	}
	for _, included := range p.included(o) {
		p.object(included)
	}
}

// variablesOf adds what a Kustomization puts into its objects, as far as it is in this repository: a Secret may be, too.
func (p *fingerprint) variablesOf(kustomization *delivery.Object) {
	content, err := json.Marshal(kustomization.Field("spec", "postBuild"))
	p.write("postBuild", string(append(content, fmt.Sprint(err)...)))
	p.references(kustomization.GetNamespace(), kustomization.Field("spec", "postBuild"))
}

// deciding is an object without what says who it is, how it is doing, and when it is looked at.
func deciding(object *delivery.Object) map[string]any {
	content := runtime.DeepCopyJSON(object.Object)
	delete(content, "metadata")
	delete(content, "status")
	for _, field := range whenNotWhat {
		unstructured.RemoveNestedField(content, "spec", field)
	}
	unstructured.RemoveNestedField(content, "spec", "chart", "spec", "interval")
	if fields := kinds.Becoming(object); len(fields) > 0 {
		return map[string]any{"kind": object.GetKind(), "becomes": object.Field(delivery.Under([]string{"spec"}, fields...)...)}
	}
	if spec, ok := content["spec"].(map[string]any); ok && (kinds.IsHelmRelease(object) || object.Is("argoproj.io", "Application")) {
		decidingValues(spec)
	}
	return content
}

// ofContainers are values that charts hand on to their containers and pods: what runs in them, how many, and where. They decide
// about no CRD, as in a Deployment that is not of a chart.
var ofContainers = []string{
	"image", "images", "imagePullSecrets", "resources", "replicas", "replicaCount", "nodeSelector", "tolerations", "affinity",
	"topologySpreadConstraints", "podAnnotations", "podLabels", "podSecurityContext", "securityContext", "priorityClassName",
	"livenessProbe", "readinessProbe", "startupProbe", "terminationGracePeriodSeconds",
}

// decidingValues leaves values for containers out of the spec of a HelmRelease or an Application.
func decidingValues(spec map[string]any) {
	withoutContainers(spec["values"])
	sources, _ := spec["sources"].([]any)
	for _, one := range slices.Concat(sources, []any{spec["source"]}) {
		source, _ := one.(map[string]any)
		helm, _ := source["helm"].(map[string]any)
		withoutContainers(helm["valuesObject"])
		text, _ := helm["values"].(string)
		if values, err := charts.ParseValues([]byte(text)); text != "" && err == nil {
			withoutContainers(values)
			helm["values"] = values
		}
	}
}

// areResources reports whether a value is what containers ask for, and not a list of anything.
func areResources(value any) bool {
	asked, ok := value.(map[string]any)
	for key := range asked {
		ok = ok && slices.Contains([]string{"limits", "requests", "claims"}, key)
	}
	return ok
}

// bringsMore reports whether a value may be more than it is called: charts for raw manifests have these below resources.
func bringsMore(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, bringsMore)
	case map[string]any:
		for key, item := range v {
			if key == "kind" || key == "apiVersion" || strings.Contains(strings.ToLower(key), "crd") || bringsMore(item) {
				return true
			}
		}
	case string:
		return strings.Contains(v, "\n") || strings.Contains(v, "{{")
	}
	return false
}

func withoutContainers(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			withoutContainers(item)
		}
	case map[string]any:
		for key, item := range v {
			if slices.Contains(ofContainers, key) && !bringsMore(item) && (key != "resources" || areResources(item)) {
				delete(v, key)
				continue
			}
			withoutContainers(item)
		}
	}
}

// references adds the objects of decisive kinds that a value names, wherever it does.
func (p *fingerprint) references(namespace string, value any) {
	for _, v := range crdschema.Each(value) {
		v, _ := v.(map[string]any)
		if to := delivery.ReferenceOf(delivery.Wrap(v), namespace); to.Name != "" && slices.Contains(kinds.Decisive, to.Kind) {
			for _, found := range p.cluster.Named(to.Kind, to.Namespace, to.Name) {
				p.object(found)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.HasPrefix(key, "values") || key == "pathsFrom" {
				p.lent(namespace, key, v[key])
			}
		}
	}
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
			for _, found := range p.cluster.Named(kind, to.Namespace, to.Name) {
				p.object(found)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.lent(namespace, key, v[key])
		}
	}
}

// file adds a file or a folder with all below, and what a chart there takes from beside it. A link counts for what it leads
// to inside of the repository.
func (p *fingerprint) file(path string) {
	p.tree.Reads.File(path)
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		p.write("none", p.tree.Relative(path))
		return
	}
	if short, err := filepath.Rel(p.tree.Root, resolved); err != nil || !filepath.IsLocal(short) || p.files[resolved] {
		return
	}
	p.files[resolved] = true
	info, err := os.Stat(resolved)
	if err != nil || info.IsDir() {
		entries, _ := os.ReadDir(resolved) // sorted
		for _, entry := range entries {
			if entry.Name() != ".git" {
				p.file(filepath.Join(path, entry.Name()))
			}
		}
		return
	}
	content, err := render.ReadAsIs(resolved)
	if err != nil {
		content = fmt.Append(nil, err)
	}
	p.write(p.tree.Relative(path), string(content))
	if name := filepath.Base(path); name == "Chart.yaml" || name == "requirements.yaml" { // the latter with Helm 2's charts
		for _, dependency := range dependenciesIn(content) {
			p.file(filepath.Join(filepath.Dir(resolved), filepath.FromSlash(dependency)))
		}
	}
}

// dependenciesIn are the folders that a chart names as file://….
func dependenciesIn(chart []byte) []string {
	var read struct {
		Dependencies []struct {
			Repository string `json:"repository"`
		} `json:"dependencies"`
	}
	if unpacking.Unmarshal(chart, &read) != nil {
		return nil
	}
	var folders []string
	for _, dependency := range read.Dependencies {
		if folder, found := strings.CutPrefix(dependency.Repository, "file://"); found {
			folders = append(folders, folder)
		}
	}
	return folders
}
