package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/controllers/rewrite/streams"
)

// Decoded, the schemas of one CRD can take fifty megabytes. So they are left out while answers about CRDs are read, and a digest stands
// in the place of each.

const (
	// leastOfObject is how many bytes of a schema each JSON object in it counts as at least: a field with a type has about as many.
	// Decoded, an empty one takes as much memory.
	leastOfObject = 30
	// ofLevel is how many each level below an object counts as. What may be lost of a field is found out by values of it, and each field
	// has some more of them than what is in it (crdschema, witnesses). A map has one level for each of these, a field two.
	ofLevel = 20
	// ofList is how many each list counts as, even an empty one in a default or an enum.
	ofList = 5
	// ofEmbedded is how many an embedded resource counts as besides: its values have all fields of metadata.
	ofEmbedded = 170
)

var embedded = []byte(`"x-kubernetes-embedded-resource"`)

// lengthOf is that of a schema, or what an ordinary schema would have that takes as much memory.
func lengthOf(schema []byte) int {
	objects, levels, lists := 0, 0, 0
	var below []int // of each object that is not at its end, how many levels are below it
	inText, escaped := false, false
	for _, c := range schema {
		switch {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case inText:
		case c == '[':
			lists++
		case c == '{':
			objects, below = objects+1, append(below, 0)
		case c == '}' && len(below) > 0:
			height := below[len(below)-1] + 1
			levels += height
			if below = below[:len(below)-1]; len(below) > 0 {
				below[len(below)-1] = max(below[len(below)-1], height)
			}
		}
	}
	return max(len(schema), leastOfObject*objects+ofList*lists, ofLevel*levels) + ofEmbedded*bytes.Count(schema, embedded)
}

// withoutSchemas is a configuration and an HTTP client that read CRDs without their schemas.
func withoutSchemas(cfg *rest.Config, httpClient *http.Client) (*rest.Config, *http.Client) {
	cfg, without := rest.CopyConfig(cfg), *httpClient
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, "" // only JSON can be read so
	ofCRDs := func(path string) bool { return strings.Contains(path, "/"+apiextensionsv1.GroupName+"/") }
	without.Transport = streams.Transport(httpClient.Transport, ofCRDs, digests)
	return cfg, &without
}

// digests has a digest in place of each schema.
func digests(name string, kind jsontext.Kind) func(jsontext.Value) (jsontext.Value, error) {
	if name != "openAPIV3Schema" || kind != '{' { // an annotation may be called so, too
		return nil
	}
	return func(schema jsontext.Value) (jsontext.Value, error) {
		digest := sha256.Sum256(schema)
		return json.Marshal(SchemaDigest(digest[:], lengthOf(schema)))
	}
}

// SchemaDigest stands in the place of schemas that are so long together, in bytes of ordinary ones.
func SchemaDigest(digest []byte, length int) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Description: fmt.Sprintf("%x of %d bytes", digest, length)}
}

// Names are what is looked at of the names of a CRD: of short names and categories, there may be a hundred thousand.
func Names(crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionNames {
	names := crd.Spec.Names
	return apiextensionsv1.CustomResourceDefinitionNames{Plural: names.Plural, Kind: names.Kind, ListKind: names.ListKind}
}

// SchemaBytes is how long the schemas were that were left out of a CRD, in bytes of ordinary ones.
func SchemaBytes(crd *apiextensionsv1.CustomResourceDefinition) (length int) {
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		of, n := "", 0
		_, _ = fmt.Sscanf(v.Schema.OpenAPIV3Schema.Description, "%s of %d bytes", &of, &n) // one that was not left out counts nothing
		length += n
	}
	return length
}

// SchemaBytesIn is SchemaBytes of a CRD as the API server answers with it, schemas and all. What cannot be read so counts as a schema.
func SchemaBytesIn(raw []byte) int {
	crd, err := WithoutSchemas(raw)
	if err != nil {
		return lengthOf(raw)
	}
	return SchemaBytes(crd)
}

// WithoutSchemas is a CRD as the API server answers with it, with a digest in the place of each schema.
func WithoutSchemas(raw []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	var without bytes.Buffer
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := streams.Copy(&without, bytes.NewReader(raw), digests); err != nil {
		return nil, err
	}
	return crd, json.Unmarshal(without.Bytes(), crd)
}
