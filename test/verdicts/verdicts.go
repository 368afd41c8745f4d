// Package verdicts reads the fixtures that lie beside the scripts, in lua/<group>/<Kind>/health_test.yaml and testdata:
// objects, and how they fare. They are the common ground of everything that judges: the package health, the scripts,
// Flux' expressions and kstatus. A fixture's name is a sentence; add one for every case that ought to stay as it is.
package verdicts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Fixture is an object, and how it fares.
type Fixture struct {
	// Name says what is the case, for example "objects are being rewritten".
	Name string
	// Kind is VersionRemoval or CustomResourceDefinition.
	Kind string
	// YAML is the object as it was written.
	YAML []byte
	// Status and Message are the verdict, in Argo CD's words.
	Status, Message string
	// KStatus is what kstatus says where it cannot mean the same: Current, or
	// Error. Empty nearly always.
	KStatus string
}

// Object decodes the object the way clients do, with whole numbers as int64.
func (f Fixture) Object() (map[string]any, error) {
	content, err := yaml.YAMLToJSON(f.YAML)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	return object, json.Unmarshal(content, &object)
}

// ObjectOfFloats decodes the object the way Argo CD's test harness does, with
// all numbers as float64.
func (f Fixture) ObjectOfFloats() (map[string]any, error) {
	object := map[string]any{}
	return object, yaml.Unmarshal(f.YAML, &object)
}

// Read reads all fixtures below the folder lua of the repository.
func Read(lua string) ([]Fixture, error) {
	lists, err := filepath.Glob(filepath.Join(lua, "*", "*", "health_test.yaml"))
	if err == nil && len(lists) == 0 {
		err = fmt.Errorf("no health_test.yaml two folders below %s", lua)
	}
	var all []Fixture
	for _, list := range lists {
		found, failed := readList(list)
		if failed != nil {
			return nil, fmt.Errorf("reading the fixtures of %s: %w", list, failed)
		}
		all = append(all, found...)
	}
	return all, err
}

func readList(list string) ([]Fixture, error) {
	content, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var written struct {
		Tests []struct {
			HealthStatus struct{ Status, Message string } `json:"healthStatus"`
			InputPath    string                           `json:"inputPath"`
			KStatus      string                           `json:"kstatus"`
		} `json:"tests"`
	}
	if err := yaml.UnmarshalStrict(content, &written); err != nil {
		return nil, err
	}
	folder := filepath.Dir(list)
	var found []Fixture
	for _, test := range written.Tests {
		object, err := os.ReadFile(filepath.Join(folder, test.InputPath))
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(test.InputPath), ".yaml")
		found = append(found, Fixture{
			Name: strings.ReplaceAll(name, "-", " "), Kind: filepath.Base(folder), YAML: object,
			Status: test.HealthStatus.Status, Message: test.HealthStatus.Message, KStatus: test.KStatus,
		})
	}
	return found, nil
}
