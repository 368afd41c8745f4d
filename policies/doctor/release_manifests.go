package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/unpacking"
)

// head is the beginning of a manifest.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	// Items are those of a list, whatever its kind.
	Items json.RawMessage `json:"items"`
}

// heads are those of all manifests in a stream. What is no manifest is left out, as Helm does when it deletes. The
// budget is how many there may be, and most is how long each may be, in bytes.
func heads(ctx context.Context, stream string, budget *int, most int) (found []head, err error) {
	const separator = "\n---"
	stream = "\n" + stream
	for n, more := 0, true; more; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var document string
		document, stream, more = strings.Cut(stream, separator)
		if strings.TrimSpace(document) == "" {
			continue
		}
		if len(document) > most {
			return nil, fmt.Errorf("%w: a document in it is longer than %d bytes", ErrTooMuch, most)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if *budget--; *budget < 0 {
			return nil, errTooMany
		}
		h := head{}
		err := unpacking.Unmarshal([]byte(document), &h)
		if errors.Is(err, unpacking.ErrTooLarge) {
			return nil, fmt.Errorf("%w: %w", ErrTooMuch, err)
		}
		if err != nil || h.Kind == "" {
			continue
		}
		objects := h.objects()
		if *budget -= len(objects) - 1; *budget < 0 {
			return nil, errTooMany
		}
		found = append(found, objects...)
	}
	return found, nil
}

var errTooMany = fmt.Errorf("%w: there are too many documents in it", ErrTooMuch)

// objects are the items of a list, or the manifest itself. To kubectl and Helm everything with items is a list
// (k8s.io/apimachinery/pkg/apis/meta/v1/unstructured). But what an uninstall keeps, Helm decides by the annotations of
// the document (filterManifestsToKeep in pkg/action/resource_policy.go). So an item has those of its list.
func (h head) objects() []head {
	var items []json.RawMessage
	if len(h.Items) == 0 || json.Unmarshal(h.Items, &items) != nil || items == nil {
		h.Items = nil
		return []head{h}
	}
	objects := make([]head, 0, len(items))
	for _, item := range items {
		object := struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}{}
		if json.Unmarshal(item, &object) != nil {
			continue
		}
		if object.APIVersion == "" && object.Kind == "" { // as the API server leaves them out in a WidgetList
			object.APIVersion, object.Kind = h.APIVersion, strings.TrimSuffix(h.Kind, "List")
		}
		if object.Kind == "" {
			continue
		}
		o := head{APIVersion: object.APIVersion, Kind: object.Kind}
		o.Metadata.Name, o.Metadata.Annotations = object.Metadata.Name, h.Metadata.Annotations
		objects = append(objects, o)
	}
	return objects
}

func (h head) isCRD() bool { return crds.Is(h.APIVersion, h.Kind) }

// keep is the annotation that makes an uninstall spare an object.
const keep = "helm.sh/resource-policy"

func (h head) kept() bool { return keeps(h.Metadata.Annotations) }

// keeps reads the annotation as Helm does.
func keeps(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[keep])) == "keep"
}
