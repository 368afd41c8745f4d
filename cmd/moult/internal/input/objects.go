package input

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/render"
)

// Objects are all manifests that a place holds, lists by their items: as CRDs, but of any kind.
func Objects(ctx context.Context, place string, stdin io.Reader) (objects []unstructured.Unstructured, err error) {
	err = rendered(ctx, place, stdin, func(rendering *render.Rendering, relative func(string) string) error {
		for _, object := range rendering.Objects {
			raw, err := object.MarshalJSON()
			if err != nil {
				return err
			}
			decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme, raw) // numbers are as the API server has them
			if err != nil {
				at := object.Place()
				at.File = relative(at.File)
				return fmt.Errorf("%s: %w", at, err)
			}
			switch decoded := decoded.(type) {
			case *unstructured.UnstructuredList:
				objects = append(objects, decoded.Items...)
			case *unstructured.Unstructured:
				objects = append(objects, *decoded)
			}
		}
		return nil
	})
	return objects, err
}
