package repositories

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func (d *deliverer) has(folder string) bool {
	return folder != "." && slices.ContainsFunc(d.state.paths(), func(file string) bool { return strings.HasPrefix(file, folder+"/") })
}

// asFlux builds a folder without what .sourceignore leaves out, and with all manifests below it if it has no kustomization.
func (d *deliverer) asFlux(folder string, spec object) ([]object, error) {
	var patterns []gitignore.Pattern
	for line := range strings.Lines(d.state[".sourceignore"]) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, gitignore.ParsePattern(line, nil))
		}
	}
	left := maps.Clone(d.state)
	maps.DeleteFunc(left, func(file, _ string) bool {
		return gitignore.NewMatcher(patterns).Match(strings.Split(file, "/"), false)
	})
	if !d.has(folder) && folder != "." {
		return nil, errors.New("there is no such folder")
	}
	at := path.Join(folder, "kustomization.yaml")
	k := object{}
	if err := yaml.Unmarshal([]byte(left[at]), &k); err != nil {
		return nil, err
	}
	if left[at] != "" && len(k) == 0 {
		return nil, errors.New("its kustomization is empty")
	}
	if left[at] == "" {
		k["resources"] = manifestsBelow(left, folder)
	}
	for _, field := range []string{"patches", "components"} {
		own, _ := k[field].([]any)
		more, _ := spec[field].([]any)
		k[field] = append(own, more...)
	}
	k["buildMetadata"] = []string{"originAnnotations"} // so that it says something
	content, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	left[at] = string(content)
	return built(left, folder)
}

// built builds a folder of a state.
func built(s state, folder string) ([]object, error) {
	dir, err := os.MkdirTemp("", "delivered")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := s.write(dir); err != nil {
		return nil, err
	}
	all, err := kustomize(filepath.Join(dir, folder))
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), dir, ""))
	}
	for _, one := range all {
		metadata, _ := one["metadata"].(object)
		annotations, _ := metadata["annotations"].(object)
		delete(annotations, "config.kubernetes.io/origin")
	}
	return all, err
}

// manifestsBelow are the files of a folder that Flux takes, and the folders with kustomizations.
func manifestsBelow(s state, folder string) (found []string) {
	for _, file := range s.paths() {
		short, below := strings.CutPrefix(file, folder+"/")
		if folder == "." {
			short, below = file, true
		}
		if !below {
			continue
		}
		if around := kustomizedAround(s, folder, short); around != "" {
			found = append(found, around)
		} else if path.Ext(file) == ".yaml" || path.Ext(file) == ".yml" {
			found = append(found, short)
		}
	}
	return slices.Compact(found)
}

// kustomizedAround is the outermost folder around a file that has a kustomization.
func kustomizedAround(s state, folder, short string) string {
	parts := strings.Split(path.Dir(short), "/")
	for i := range parts {
		if at := path.Join(parts[:i+1]...); at != "." && s[path.Join(folder, at, "kustomization.yaml")] != "" {
			return at
		}
	}
	return ""
}

// asArgoCD builds a folder of an Application: a kustomization, a chart, or the manifests in it.
func (d *deliverer) asArgoCD(folder string, source object) ([]object, error) {
	if d.state[path.Join(folder, "kustomization.yaml")] != "" {
		return d.kustomized(folder)
	}
	if d.state[path.Join(folder, "Chart.yaml")] != "" {
		helm, _ := source["helm"].(object)
		return d.charted(folder, helm)
	}
	directory, _ := source["directory"].(object)
	var all []object
	for _, file := range d.state.paths() {
		short, below := strings.CutPrefix(file, folder+"/")
		if below && (path.Ext(file) == ".yaml" || path.Ext(file) == ".yml") && (!strings.Contains(short, "/") || directory["recurse"] == true) {
			all = append(all, objectsIn([]byte(d.state[file]))...)
		}
	}
	return all, nil
}

func (d *deliverer) kustomized(folder string) ([]object, error) {
	return kustomize(filepath.Join(d.dir, folder))
}

func kustomize(dir string) (all []object, err error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	content, err := built.AsYaml()
	return objectsIn(content), err
}

// charted is what `helm template --include-crds` prints.
func (d *deliverer) charted(folder string, helm object) ([]object, error) {
	chart, err := loader.Load(filepath.Join(d.dir, folder))
	if err != nil {
		return nil, err
	}
	values := object{}
	files, _ := helm["valueFiles"].([]any)
	for _, name := range files {
		var more object
		if err := yaml.Unmarshal([]byte(d.state[path.Join(folder, fmt.Sprint(name))]), &more); err != nil {
			return nil, err
		}
		values = util.MergeTables(more, values)
	}
	if more, is := helm["valuesObject"].(object); is {
		values = util.MergeTables(more, values)
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return nil, err
	}
	for _, wanted := range chart.Metadata.Dependencies {
		if !slices.ContainsFunc(chart.Dependencies(), func(held *chartv2.Chart) bool { return held.Name() == wanted.Name }) {
			return nil, errors.New("a dependency is not here")
		}
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "it", Namespace: "default", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{}.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var found []object
	for _, crd := range chart.CRDObjects() {
		found = append(found, objectsIn(crd.File.Data)...)
	}
	for name, text := range rendered {
		if path.Ext(name) != ".txt" {
			found = append(found, objectsIn([]byte(text))...)
		}
	}
	return found, nil
}

// objectsIn are those of a stream; what cannot be read has none.
func objectsIn(content []byte) (all []object) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if err != nil {
			return all
		}
		var one object
		if yaml.Unmarshal(document, &one) != nil || one["kind"] == nil {
			continue
		}
		items, isList := one["items"].([]any)
		if !isList {
			all = append(all, one)
		}
		for _, item := range items {
			if one, is := item.(object); is {
				all = append(all, one)
			}
		}
	}
}

// differences are the CRDs that clusters get otherwise, and more whether anything differs at all that was asked for.
func differences(base, head delivery) (crds []string, more bool) {
	for root := range merged(base.crds, head.crds) {
		for name := range merged(base.crds[root], head.crds[root]) {
			b, _ := base.crds[root][name].(object)
			h, _ := head.crds[root][name].(object)
			if base.failed[root] == "" && !same(defaulted(b["spec"]), defaulted(h["spec"])) {
				crds = append(crds, root+" "+name)
			}
		}
	}
	slices.Sort(crds)
	return crds, len(base.failed)+len(head.failed) > 0 || !same(base.crds, head.crds) || !same(base.parts, head.parts) || !same(base.others, head.others)
}

// defaulted is the spec of a CRD as the API server would store it; what it does not read stays as it is.
func defaulted(spec any) any {
	raw, err := json.Marshal(object{"spec": spec})
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err != nil || spec == nil || json.Unmarshal(raw, crd) != nil {
		return spec
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	return crd.Spec
}

func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}

func same(a, b any) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}
