package survivors

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// example is an object of the documented shape that has a place, and what is found in it.
type example struct {
	Resource   string              `json:"resource"`
	Categories []string            `json:"categories"`
	Target     string              `json:"target"`
	Object     map[string]any      `json:"object"`
	Pack       map[string][]string `json:"pack"`
	Finds      []wanted            `json:"finds"`
}

// wanted is a reference; the place, the CRD and the version follow from the example.
type wanted struct {
	Path   string `json:"path"`
	Names  string `json:"names"`
	Effect Effect `json:"effect"`
	State  State  `json:"state"`
	Why    string `json:"why"`
}

// targets are the CRDs of which v1alpha1 leaves in the examples.
var targets = map[string]Target{
	"": {CRD: "widgets.example.com", Group: "example.com", Plural: "widgets", Kinds: []string{"Widget", "WidgetList"},
		Leaving: []string{"v1alpha1"}, Staying: []string{"v1"}},
	"instancetypes": {CRD: "virtualmachineinstancetypes.instancetype.kubevirt.io", Group: "instancetype.kubevirt.io", Plural: "virtualmachineinstancetypes",
		Kinds: []string{"VirtualMachineInstancetype", "VirtualMachineInstancetypeList"}, Leaving: []string{"v1alpha1"}, Staying: []string{"v1alpha2", "v1beta1"}},
	"machines": {CRD: "dockermachinetemplates.infrastructure.cluster.x-k8s.io", Group: "infrastructure.cluster.x-k8s.io", Plural: "dockermachinetemplates",
		Kinds: []string{"DockerMachineTemplate", "DockerMachineTemplateList"}, Leaving: []string{"v1alpha1"}, Staying: []string{"v1beta1"}},
}

// exampleOf reads an example, packed.
func exampleOf(g *WithT, place string) example {
	content, err := os.ReadFile(filepath.Join("testdata", "examples", place+".yaml"))
	g.Expect(err).NotTo(HaveOccurred(), "a place has an example of its name")
	var e example
	g.Expect(yaml.UnmarshalStrict(content, &e)).To(Succeed(), place)
	for path, packing := range e.Pack {
		steps, err := parsePath(path)
		g.Expect(err).NotTo(HaveOccurred())
		change(e.Object, steps, func(value any) any { return pack(value, packing) })
	}
	return e
}

// change replaces the value at a path of names.
func change(object map[string]any, path steps, with func(any) any) {
	for _, name := range path[:len(path)-1] {
		object, _ = object[name[1:]].(map[string]any)
	}
	last := path[len(path)-1][1:]
	object[last] = with(object[last])
}

// pack is what Field.Packing takes off.
func pack(value any, packing []string) any {
	for _, word := range slices.Backward(packing) {
		switch word {
		case "json":
			content, err := json.Marshal(value)
			if err != nil {
				panic(err)
			}
			value = string(content)
		case "yaml":
			content, err := yaml.Marshal(value)
			if err != nil {
				panic(err)
			}
			value = string(content)
		case "gzip":
			packed := &bytes.Buffer{}
			zip := gzip.NewWriter(packed)
			_, _ = zip.Write([]byte(value.(string)))
			_ = zip.Close()
			value = packed.String()
		case "base64":
			value = base64.StdEncoding.EncodeToString([]byte(value.(string)))
		}
	}
	return value
}

func (e example) resource() Resource {
	return Resource{GroupResource: schema.ParseGroupResource(e.Resource), Categories: e.Categories}
}

// walk is what is found at one place of an example.
func (e example) walk(places []Place, place string) []Reference {
	w := NewWalker(places, []Target{targets[e.Target]})
	return slices.DeleteFunc(w.Walk(e.resource(), e.Object, Whole), func(f Reference) bool { return f.Place != place })
}

func names(places []Place) (all []string) {
	for _, p := range places {
		all = append(all, p.Name)
	}
	return all
}

// TestEachPlaceFindsItsExample fails by the name of a place whose YAML is removed, or no longer leads to the version.
func TestEachPlaceFindsItsExample(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var withExample []string
	for _, file := range files {
		place := strings.TrimSuffix(filepath.Base(file), ".yaml")
		withExample = append(withExample, place)
		t.Run(place, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(names(Embedded())).To(ContainElement(place), "the place is gone")
			e := exampleOf(g, place)
			g.Expect(e.Finds).NotTo(BeEmpty())
			var want []Reference
			meta := metadataOf(e.Object)
			for _, found := range e.Finds {
				f := Reference{Place: place, State: Found, Effect: found.Effect, Path: found.Path, Names: found.Names, Why: found.Why,
					Object: ObjectRef{Resource: e.Resource, Namespace: meta.namespace, Name: meta.name}, CRD: targets[e.Target].CRD, Version: "v1alpha1"}
				if found.State == Possible {
					f.State, f.CRD, f.Version = Possible, "", ""
				}
				want = append(want, f)
			}
			got := e.walk(Embedded(), place)
			for i := range got {
				if got[i].State == Possible {
					got[i].Why = ""
				}
			}
			g.Expect(got).To(ConsistOf(want))
		})
	}
	NewWithT(t).Expect(withExample).To(ConsistOf(names(Embedded())), "each place has an example")
}

// TestWithoutAPlaceItsExampleIsNotFound shows that no place stands in for another.
func TestWithoutAPlaceItsExampleIsNotFound(t *testing.T) {
	for _, place := range names(Embedded()) {
		t.Run(place, func(t *testing.T) {
			g := NewWithT(t)
			others := slices.DeleteFunc(Embedded(), func(p Place) bool { return p.Name == place })
			g.Expect(exampleOf(g, place).walk(others, place)).To(BeEmpty())
		})
	}
}

// TestMetadataAreEnoughWhereAPlaceDeclaresIt reads the examples of such places from their metadata.
func TestMetadataAreEnoughWhereAPlaceDeclaresIt(t *testing.T) {
	for _, p := range Embedded() {
		t.Run(p.Name, func(t *testing.T) {
			g := NewWithT(t)
			e := exampleOf(g, p.Name)
			w := NewWalker(Embedded(), []Target{targets[e.Target]})
			whole := e.walk(Embedded(), p.Name)
			found := slices.DeleteFunc(w.Walk(e.resource(), Content{"metadata": e.Object["metadata"]}, OnlyMetadata), func(f Reference) bool { return f.Place != p.Name })
			if p.Metadata {
				g.Expect(found).To(Equal(whole))
			} else {
				g.Expect(found).To(BeEmpty())
				g.Expect(w.NeedOf(e.resource(), Content{"metadata": e.Object["metadata"]})).To(Equal(Whole))
			}
		})
	}
}
