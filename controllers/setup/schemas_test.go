package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/controllers/rewrite/streams"
)

const schemaOfV1 = `{"type":"object","properties":{"openAPIV3Schema":{"type":"object"},"b":{"enum":["}","\"{"]}}}`

// answer is a CRD as the API server has it. An annotation and a manager of fields name a schema, too.
const answer = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"widgets.example.com","uid":"u","generation":9007199254740993,
	"annotations":{"openAPIV3Schema":"\u003cmine>","a":"é"},"managedFields":[{"fieldsV1":{"f:openAPIV3Schema":{}}}]},"spec":{"versions":[
	{"name":"v1","schema":{"openAPIV3Schema":%s},"served":true},{"name":"v2","schema":{"openAPIV3Schema":{}}},{"name":"v3"}]}}`

func TestOfASchemaOnlyItsDigestIsRead(t *testing.T) {
	g := NewWithT(t)
	read := func(schema string) *apiextensionsv1.CustomResourceDefinition {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, answer, schema)
		}))
		defer server.Close()
		scheme, err := Scheme()
		g.Expect(err).NotTo(HaveOccurred())
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
		c, err := NewClient(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}},
			client.Options{Scheme: scheme, HTTPClient: server.Client(), Mapper: mapper})
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(c.Get(t.Context(), types.NamespacedName{Name: "widgets.example.com"}, crd)).To(Succeed())
		return crd
	}
	crd := read(schemaOfV1)
	want := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(json.Unmarshal(fmt.Appendf(nil, answer, schemaOfV1), want)).To(Succeed())
	for i, digest := range []string{"of 140 bytes", "of 30 bytes"} {
		g.Expect(crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Description).To(HaveSuffix(digest))
		want.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Description: crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Description}
	}
	want.TypeMeta = crd.TypeMeta // the client leaves it out
	g.Expect(crd).To(Equal(want), "all else is as it is")
	g.Expect(SchemaBytes(crd)).To(Equal(170), "a small object takes as much memory as one of 30 bytes")
	g.Expect(SchemaBytes(want)).To(Equal(170))
	g.Expect(SchemaBytesIn(fmt.Appendf(nil, answer, schemaOfV1))).To(Equal(170))
	g.Expect(SchemaBytesIn([]byte("{{{{{{"))).To(Equal(180), "what cannot be read might be one")
	g.Expect(read(schemaOfV1)).To(Equal(crd))
	g.Expect(read(strings.Replace(schemaOfV1, "enum", "ENUM", 1))).NotTo(Equal(crd), "another schema has another digest")
}

// A watch may be silent for an hour after an event.
func TestAnEventIsReadBeforeTheNextOneComes(t *testing.T) {
	g := NewWithT(t)
	out, in := io.Pipe()
	from, server := io.Pipe()
	go func() { _ = in.CloseWithError(streams.Copy(in, from, digests)) }()
	events := json.NewDecoder(out)
	for i := range 3 {
		go func() {
			_, _ = fmt.Fprintf(server, `{"type":"ADDED","object":{"n":%d,"openAPIV3Schema":%s}}`+"\n", i, schemaOfV1)
		}()
		event := struct{ Object struct{ N int } }{}
		g.Expect(events.Decode(&event)).To(Succeed())
		g.Expect(event.Object.N).To(Equal(i))
	}
	g.Expect(server.Close()).To(Succeed())
	g.Expect(events.Decode(&struct{}{})).To(MatchError(io.EOF))
}

func TestAnAnswerThatIsCutOffIsAnError(t *testing.T) {
	g := NewWithT(t)
	for _, length := range []int{1, 100, len(answer) - 1} {
		g.Expect(streams.Copy(io.Discard, strings.NewReader(fmt.Sprintf(answer, schemaOfV1)[:length]), digests)).To(MatchError(io.ErrUnexpectedEOF))
	}
	g.Expect(streams.Copy(io.Discard, strings.NewReader("<html>"), digests)).NotTo(Succeed())
}

// What may be lost of a field is found out by values of it, of which there are more the deeper its fields go.
func TestADeepSchemaCountsAsALongOne(t *testing.T) {
	g := NewWithT(t)
	deep := func(levels int) []byte {
		return []byte(strings.Repeat(`{"type":"object","properties":{"a":`, levels) + `{"type":"string"}` + strings.Repeat(`}}`, levels))
	}
	g.Expect(lengthOf(deep(10))).To(Equal(21 * 22 / 2 * ofLevel))
	g.Expect(lengthOf(deep(700))).To(BeNumerically(">", 3<<19), "more than etcd takes of ordinary ones")
	maps := strings.Repeat(`{"type":"object","additionalProperties":`, 400) + `{"type":"string"}` + strings.Repeat(`}`, 400)
	g.Expect(lengthOf([]byte(maps))).To(BeNumerically(">", 3<<19), "of which the values take 92 MiB")
	g.Expect(lengthOf([]byte(`{"description":"}}}{{{\"}{\\"}`))).To(Equal(30), "braces in a text are none")
	wide := `{"properties":{` + strings.Repeat(`"field":{"type":"string"},`, 1000) + `"last":{"type":"string"}}}`
	g.Expect(lengthOf([]byte(wide))).To(BeNumerically("~", 30*1003, 1), "as before")
}

// A list of three bytes takes hundreds, and the values by which an embedded resource is looked at have all fields of metadata.
func TestListsAndEmbeddedResourcesCountAsWhatTheyTake(t *testing.T) {
	g := NewWithT(t)
	lists := `{"type":"array","default":[` + strings.Repeat(`[],`, 350_000) + `[]]}`
	g.Expect(lengthOf([]byte(lists))).To(BeNumerically(">", 3<<19), "more than etcd takes of ordinary ones: they take 144 MiB with 1.4 MB")
	resource := `{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`
	many := `{"properties":{` + strings.Repeat(`"field":`+resource+`,`, 10_000) + `"last":` + resource + `}}`
	g.Expect(lengthOf([]byte(many))).To(BeNumerically(">", 3<<19), "with 13,000, the values take 150 MiB")
	g.Expect(lengthOf([]byte(`{"description":"\"x-kubernetes-embedded-resource\"","type":"string"}`))).To(BeNumerically("<", 100), "it is a text")
	ordinary := `{"properties":{` + strings.Repeat(`"field":{"type":"string","enum":["a","b","c"]},`, 1000) + `"last":` + resource + `}}`
	g.Expect(lengthOf([]byte(ordinary))).To(BeNumerically("~", len(ordinary), ofEmbedded), "as before")
}
