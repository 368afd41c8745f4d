package setup

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Decoded, the schemas of one CRD can take fifty megabytes. So they are left out while answers about CRDs are read, and a digest stands
// in the place of each.

// leastOfObject is how many bytes of a schema each JSON object in it counts as at least. Decoded it takes as much, even if it is {}.
const leastOfObject = 30

// lengthOf is that of a schema, or what an ordinary schema would have that takes as much memory.
func lengthOf(schema []byte) int {
	return max(len(schema), leastOfObject*bytes.Count(schema, []byte("{")))
}

// withoutSchemas is a configuration and an HTTP client that read CRDs without their schemas.
func withoutSchemas(cfg *rest.Config, httpClient *http.Client) (*rest.Config, *http.Client) {
	cfg, without := rest.CopyConfig(cfg), *httpClient
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, "" // only JSON can be read so
	without.Transport = digesting{httpClient.Transport}
	return cfg, &without
}

type digesting struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d digesting) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := cmp.Or(d.next, http.DefaultTransport).RoundTrip(req)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(req.URL.Path, "/"+apiextensionsv1.GroupName+"/") ||
		!strings.HasPrefix(answer.Header.Get("Content-Type"), runtime.ContentTypeJSON) {
		return answer, err
	}
	body := answer.Body
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(digest(in, body)) }()
	answer.Body, answer.ContentLength = piped{out, body}, -1
	return answer, nil
}

// piped is a body that is read through a pipe.
type piped struct {
	*io.PipeReader
	body io.Closer
}

func (p piped) Close() error { return errors.Join(p.PipeReader.Close(), p.body.Close()) }

// digest copies JSON, a watch's events each as soon as it has come, and writes a digest in place of each schema.
func digest(to io.Writer, from io.Reader) error {
	as := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)} // the decoder behind it takes both
	in, out := jsontext.NewDecoder(from, as...), jsontext.NewEncoder(to, as...)
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		isSchema := token.Kind() == '"' && token.String() == "openAPIV3Schema"
		if err := out.WriteToken(token); err != nil {
			return err
		}
		if !isSchema || in.PeekKind() != '{' { // an annotation may be called so, too
			continue
		}
		schema, err := in.ReadValue()
		if err != nil {
			return err
		}
		if err := out.WriteValue(fmt.Appendf(nil, `{"description":"%x of %d bytes"}`, sha256.Sum256(schema), lengthOf(schema))); err != nil {
			return err
		}
	}
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

// SchemaBytesIn is SchemaBytes of a CRD as the API server answers with it, schemas and all. It is 0 for what is no CRD.
func SchemaBytesIn(raw []byte) int {
	var without bytes.Buffer
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if digest(&without, bytes.NewReader(raw)) != nil || json.Unmarshal(without.Bytes(), crd) != nil {
		return 0
	}
	return SchemaBytes(crd)
}
