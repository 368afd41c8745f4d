package repositories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// delivered are the CRDs that a folder delivers, as the real tools make them: Kustomize and Helm of each kustomization and each
// chart that may be applied, and each other file as it is. Nothing of Moult is asked. Where something in the repository names
// folders to apply, it is these alone. The keys say what was built and the name of the CRD, the values are the CRDs.
func delivered(dir string) map[string]string {
	found := map[string]string{}
	for _, root := range rootsOf(dir) {
		content, err := rendered(filepath.Join(dir, root))
		if err != nil {
			continue // its tool fails, too, and delivers none
		}
		for name, crd := range crdsIn(content) {
			found[root+": "+name] = crd
		}
	}
	return found
}

// applies finds the folders that Flux and Argo CD are told of.
var applies = regexp.MustCompile(`(?m)\bpath: *["']?(?:\./)?([^"'\s,}{]+)`)

// rootsOf are the folders and files that may be applied.
func rootsOf(dir string) []string {
	var named, all []string
	parts := map[string]bool{} // of charts
	_ = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		short, _ := filepath.Rel(dir, file)
		name := filepath.Base(file)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains([]string{".git", "testdata", "vendor", "docs", "examples", "samples", "test"}, name) || short != "." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir():
			parts[short] = parts[filepath.Dir(short)] || isChart(filepath.Join(dir, filepath.Dir(short))) && short != "."
			if isChart(file) && !parts[short] || isKustomization(file) && !parts[short] {
				all = append(all, short)
			}
			return nil
		case parts[filepath.Dir(short)] || isChart(filepath.Dir(file)) || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			return nil
		}
		content, err := os.ReadFile(file)
		if bytes.Contains(content, []byte("kustomize.toolkit.fluxcd.io/")) || bytes.Contains(content, []byte("argoproj.io/")) {
			for _, match := range applies.FindAllSubmatch(content, -1) {
				named = append(named, string(match[1]))
			}
		}
		if !slices.Contains(konfig.RecognizedKustomizationFileNames(), name) {
			all = append(all, short)
		}
		return err
	})
	if len(named) > 0 {
		all = slices.DeleteFunc(named, func(folder string) bool {
			info, err := os.Stat(filepath.Join(dir, folder))
			return err != nil || !info.IsDir()
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func isChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// isKustomization tells whether a folder has one that is built by itself.
func isKustomization(dir string) bool {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return !bytes.Contains(content, []byte("kind: Component"))
		}
	}
	return false
}

// rendered is what becomes of a root.
func rendered(at string) ([]byte, error) {
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return os.ReadFile(at)
	case isKustomization(at):
		built, err := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()}).Run(filesys.MakeFsOnDisk(), at)
		if err != nil {
			return nil, err
		}
		return built.AsYaml()
	case isChart(at):
		return template(at)
	}
	var all bytes.Buffer
	err = filepath.WalkDir(at, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(file)
		all.WriteString("\n---\n")
		all.Write(content)
		return err
	})
	return all.Bytes(), err
}

// template is helm template --include-crds with the chart's own values.
func template(dir string) ([]byte, error) {
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	values, err := util.ToRenderValues(chart, map[string]any{}, common.ReleaseOptions{Name: "it", Namespace: "default", IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	made, err := engine.Engine{}.Render(chart, values)
	var all bytes.Buffer
	for name, content := range made {
		if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
			all.WriteString("\n---\n" + content)
		}
	}
	for _, crd := range chart.CRDObjects() {
		all.WriteString("\n---\n")
		all.Write(crd.File.Data)
	}
	return all.Bytes(), err
}

// crdsIn are the CRDs of a stream, by name. What is no YAML has none.
func crdsIn(stream []byte) map[string]string {
	found := map[string]string{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096)
	for {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     map[string]any
			Items    []map[string]any
		}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) || err != nil {
			return found
		}
		if object.Kind == "CustomResourceDefinition" && object.Spec["names"] != nil {
			spec, err := json.Marshal(object.Spec)
			found[object.Metadata.Name] += string(spec) + fmt.Sprint(err)
		}
	}
}
