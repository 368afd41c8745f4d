package install

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// A walk judges objects by all schemas of their CRD, from its beginning to its end. Those of large operators are flipped together.
func TestTheShippedMemoryIsEnoughForManyFields(t *testing.T) {
	moult := Install(t, cp, "clusters/base")
	moult.around = append(moult.around, func(next http.RoundTripper) http.RoundTripper { return widening{next} })
	var sets []*running.Witness
	var granted []*apiextensionsv1.CustomResourceDefinition
	for range 3 {
		crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
			Schema("v1alpha1", `{type: object, properties: {old: {type: string}, many: {type: string}}}`). // v1 lacks one, so each object is looked at
			Schema("v1", `{type: object, properties: {many: {type: string}}}`).Build()
		w := running.InstallFlipped(t, cp, crd, 5)
		sets, granted = append(sets, w), append(granted, lives(w)...)
	}
	moult.Grant("memory-test-objects", granted...)
	for _, w := range sets {
		moult.inForce(t, "/apis/"+w.GR.Group+"/v1/widgets", "moult-objects")
		w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.MigrateLabel, "true")
		})
	}
	NewWithT(t).Expect(migratesWithin(t, moult, sets)).To(BeNumerically("<", 232<<20), "nothing here comes near the limit")
}

// widening has the controller read CRDs with 25,000 fields in place of one. With three such CRDs at two versions, which is about as much
// as etcd takes, a real API server takes 15 GB and minutes for each write.
type widening struct{ next http.RoundTripper }

var narrow, wide = []byte(`"many":{"type":"string"}`), func() []byte {
	var fields []string
	for i := range 25_000 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
	}
	return []byte(strings.Join(fields, ","))
}()

// RoundTrip implements http.RoundTripper.
func (w widening) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.Contains(request.URL.Path, "/customresourcedefinitions") {
		return w.next.RoundTrip(request)
	}
	request.Header.Del("Accept-Encoding")
	answer, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Header.Del("Content-Length")
	lines, body := bufio.NewReader(answer.Body), answer.Body
	out, in := io.Pipe()
	go func() {
		for {
			line, err := lines.ReadBytes('\n') // each event of a watch is one
			if _, closed := in.Write(bytes.ReplaceAll(line, narrow, wide)); closed != nil || err != nil {
				_ = in.CloseWithError(err)
				_ = body.Close()
				return
			}
		}
	}()
	answer.Body, answer.ContentLength = out, -1
	return answer, nil
}
