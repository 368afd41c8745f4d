package input

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/clusters/repository"
)

// Objects are all manifests that a place holds, lists by their items: as CRDs, but of any kind.
func Objects(ctx context.Context, place string, stdin io.Reader) ([]unstructured.Unstructured, error) {
	rendering, err := rendered(ctx, place, stdin)
	if err != nil {
		return nil, err
	}
	var objects []unstructured.Unstructured
	for _, object := range rendering.Objects {
		raw, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme, raw) // numbers are as the API server has them
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object.Place(), err)
		}
		list, isList := decoded.(*unstructured.UnstructuredList)
		if isList {
			objects = append(objects, list.Items...)
			continue
		}
		if one, isOne := decoded.(*unstructured.Unstructured); isOne {
			objects = append(objects, *one)
		}
	}
	return objects, nil
}

func rendered(ctx context.Context, place string, stdin io.Reader) (*render.Rendering, error) {
	if place == "-" {
		return render.Stream(Called(place), stdin)
	}
	opened, err := repository.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // what is left then is a temporary folder
	return renderingAt(opened)
}
