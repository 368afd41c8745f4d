package roundtrip

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// Settings is the file that says what the objects cannot.
const Settings = "moult-test.yaml"

// File is one below the folder of the fixtures, by its name from there on, with slashes.
type File struct {
	Name    string
	Content []byte
}

// confirmation is a field that confirms something destructive, such as spec.confirmDeletion.
type confirmation struct {
	CRD  string `json:"crd"`
	Path string `json:"path"`
}

// Config is what the file of settings has.
type Config struct {
	Confirmations []confirmation `json:"confirmations,omitempty"`
	Values        []values       `json:"values,omitempty"`
}

// values are what generated objects have at a path, where the schema does not say it all.
type values struct {
	CRD  string `json:"crd"`
	Path string `json:"path"`
	Are  []any  `json:"values"`
}

// ValuesOf are those for a CRD.
func (c Config) ValuesOf(crd string) map[string][]any {
	all := map[string][]any{}
	for _, one := range c.Values {
		if one.CRD == crd {
			all[one.Path] = append(all[one.Path], one.Are...)
		}
	}
	return all
}

// CRDs are those that something is said of.
func (c Config) CRDs() (names []string) {
	for _, one := range c.Confirmations {
		names = append(names, one.CRD)
	}
	for _, one := range c.Values {
		names = append(names, one.CRD)
	}
	return names
}

// Of are the paths for a CRD.
func (c Config) Of(crd string) (paths []string) {
	for _, one := range c.Confirmations {
		if one.CRD == crd {
			paths = append(paths, one.Path)
		}
	}
	return paths
}

// Fixtures reads the files of a folder: RELEASE/GROUP.VERSION.KIND.yaml, and what that may be after a trip in
// RELEASE/GROUP.VERSION.KIND.after_roundtrip.yaml. What is neither YAML nor JSON is left out.
func Fixtures(files []File) (objects []Object, config Config, err error) {
	var wrong []string
	after := map[string]map[string]any{}
	for _, f := range files {
		ext := path.Ext(f.Name)
		switch {
		case f.Name == Settings:
			if err := config.read(f.Content); err != nil {
				wrong = append(wrong, f.Name+": "+err.Error())
			}
			continue
		case !slices.Contains([]string{".yaml", ".yml", ".json"}, ext):
			continue
		}
		content, err := fixture(f)
		if err != nil {
			wrong = append(wrong, f.Name+": "+err.Error())
			continue
		}
		if of, isAfter := strings.CutSuffix(strings.TrimSuffix(f.Name, ext), ".after_roundtrip"); isAfter {
			after[of+ext] = content
			continue
		}
		objects = append(objects, Object{Name: f.Name, Content: content})
	}
	for i := range objects {
		objects[i].After = after[objects[i].Name]
		delete(after, objects[i].Name)
		if objects[i].After != nil && !isSameObject(objects[i].Content, objects[i].After) {
			wrong = append(wrong, objects[i].Name+": the file .after_roundtrip beside it is of another object or version; only fields may differ")
		}
	}
	for name := range after {
		wrong = append(wrong, fmt.Sprintf("%s.after_roundtrip%s: there is no %s beside it", strings.TrimSuffix(name, path.Ext(name)), path.Ext(name), path.Base(name)))
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		err = errors.New(words.FewClauses(wrong, 5))
	}
	return objects, config, err
}

func (c *Config) read(content []byte) error {
	if err := unpacking.UnmarshalStrict(content, c); err != nil {
		return err
	}
	raw, err := unpacking.YAMLToJSON(content)
	if err == nil {
		err = json.Unmarshal(raw, c) // with whole numbers as the API server has them
	}
	if err != nil {
		return err
	}
	var paths []string
	for i, one := range c.Values {
		paths = append(paths, one.Path)
		if one.CRD == "" || one.Path == "" || len(one.Are) == 0 {
			return fmt.Errorf("entry %d of values lacks the crd, the path or the values", i+1)
		}
	}
	for i, one := range c.Confirmations {
		paths = append(paths, one.Path)
		if one.CRD == "" || one.Path == "" {
			return fmt.Errorf("entry %d of confirmations lacks the crd or the path", i+1)
		}
	}
	return crdschema.Check(paths)
}

// fixture is the object of a file, whose name says what it is.
func fixture(f File) (map[string]any, error) {
	if len(documents(f.Content)) > 1 {
		return nil, errors.New("it holds several objects; a fixture is one")
	}
	raw, err := unpacking.YAMLToJSONStrict(f.Content)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("it holds no object")
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Group == "" || gv.Version == "" || kind == "" {
		return nil, errors.New("it lacks apiVersion: group/version, or kind")
	}
	name := gv.Group + "." + gv.Version + "." + kind
	if base := path.Base(f.Name); !strings.HasPrefix(base, name+".") {
		return nil, fmt.Errorf("its name does not say what it holds; call it %s%s", name, path.Ext(f.Name))
	}
	if meta, is := object["metadata"].(map[string]any); !is || meta["name"] == nil {
		return nil, errors.New("it lacks metadata.name")
	}
	return object, nil
}

// documents are those of a stream of YAML that hold something.
func documents(content []byte) (all [][]byte) {
	for _, document := range bytes.Split(append([]byte("\n"), content...), []byte("\n---")) {
		if len(bytes.TrimSpace(document)) > 0 {
			all = append(all, document)
		}
	}
	return all
}

func isSameObject(a, b map[string]any) bool {
	name := func(object map[string]any) [4]any {
		meta, _ := object["metadata"].(map[string]any)
		return [4]any{object["apiVersion"], object["kind"], meta["namespace"], meta["name"]}
	}
	return name(a) == name(b)
}
