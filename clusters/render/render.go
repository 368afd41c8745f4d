package render

import (
	"cmp"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// Rendering is what one build, or one stream, amounts to.
type Rendering struct {
	// Name is the folder, or the stream, as the caller called it.
	Name string
	// Objects stand in the order of the build. Their places have paths that can be opened; what cannot be told is left empty.
	// The first place that is asked for of a Folder's object builds the folder once more, which takes as long as Folder did.
	Objects []*delivery.Object
	// Files are the absolute paths of all files that were read, sorted; kustomizations and patches among them.
	Files []string
	// Lacks says why a folder was built only in part, and without what; empty if all of it was. Only Options.Partly has that.
	Lacks string

	lacks []string
}

// building holds builds apart: Kustomize keeps the schemas it knows in a global variable. ownSchemas says that these are
// its own: reading them takes longer than most builds, and only a folder with openapi.path or openapi.version adds others.
var (
	building   sync.Mutex
	ownSchemas bool
)

// gaveUp is the error for a panic: Kustomize has some for broken manifests, in whatever is asked of it.
func gaveUp(caught any) error {
	return fmt.Errorf("kustomize gave up on a broken manifest: %v", caught)
}

// build runs Kustomize with Flux's options.
func build(files filesys.FileSystem, dir string, r *remotes) (built resmap.ResMap, err error) {
	building.Lock()
	defer building.Unlock()
	// One folder's openapi.path must not be known to the next folder.
	if !ownSchemas {
		openapi.ResetOpenAPI()
		openapi.Schema()
	}
	before := openapi.GetSchemaVersion()
	ownSchemas = false // if this panics
	err = r.during(func() error {
		built, err = krusty.MakeKustomizer(&krusty.Options{
			LoadRestrictions: types.LoadRestrictionsNone,
			PluginConfig:     types.DisabledPluginConfig(),
		}).Run(files, dir)
		return err
	})
	ownSchemas = openapi.GetSchemaVersion() == before
	return built, cmp.Or(r.refused, err)
}

func objectsOf(built resmap.ResMap, s *schemas, places func(i int, fields []string) finding.Place) (objects []*delivery.Object, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = gaveUp(caught)
		}
	}()
	objects = make([]*delivery.Object, 0, built.Size())
	for i, resource := range built.Resources() {
		raw, err := resource.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", resource.CurId(), err)
		}
		content := &unstructured.Unstructured{}
		if err := content.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", resource.CurId(), err)
		}
		if s != nil && !s.putBack(content.Object, raw) {
			return nil, errSchemas
		}
		objects = append(objects, &delivery.Object{Unstructured: content, At: func(fields ...string) finding.Place { return places(i, fields) }})
	}
	return objects, nil
}

// Stream reads manifests that are rendered already, YAML or JSON, and takes Lists apart. The name is what their places
// call the stream, and so does the error when it cannot be read. Documents that are no objects, such as a chart's
// values, are left out.
func Stream(name string, r io.Reader) (*Rendering, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	parsed, err := sourceOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s is neither YAML nor JSON: %w", name, err)
	}
	rendering := &Rendering{Name: name}
	for _, d := range parsed.documents {
		object, err := d.object()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, d.node.Line, err)
		}
		rendering.Objects = append(rendering.Objects, &delivery.Object{
			Unstructured: object,
			At:           func(fields ...string) finding.Place { return d.place(name, fields) },
		})
	}
	return rendering, nil
}
