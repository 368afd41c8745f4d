package rewrite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mostOfError is how long an answer may be that is an error, in bytes. A list names up to a hundred objects that cannot be read.
const mostOfError = 256 << 10

// boundedErrors bounds the answers that are errors. The API server says some hundred bytes, twice, of each field that is invalid. So
// of an object of 1 MiB it says a hundred, and each worker of a walk may be told so. Of one that is longer, the beginning and the code
// are kept.
type boundedErrors struct{ next http.RoundTripper }

// BoundErrors is the client for requests about objects of tenants: of an answer that is an error, it reads 256 KiB at most.
func BoundErrors(c *http.Client) *http.Client {
	bounded := *c
	bounded.Transport = boundedErrors{c.Transport}
	return &bounded
}

// RoundTrip implements http.RoundTripper.
func (b boundedErrors) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := cmp.Or(b.next, http.DefaultTransport).RoundTrip(request)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	body := answer.Body
	raw, err := io.ReadAll(io.LimitReader(body, mostOfError+1))
	if err == nil && len(raw) > mostOfError {
		raw, err = shortened(answer, raw)
	}
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(raw), body}
	return answer, nil
}

// message is where the text of an error begins.
var message = regexp.MustCompile(`"message":\s*"`)

// shortened is an error of the same code that begins with the same words.
func shortened(answer *http.Response, raw []byte) ([]byte, error) {
	status := apierrors.NewGenericServerResponse(answer.StatusCode, "", schema.GroupResource{}, "", "", 0, false).ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if at := message.FindIndex(raw); at != nil {
		said := bytes.TrimRight(raw[at[1]:min(at[1]+maxSaid, len(raw))], `\`)
		for err := io.EOF; err != nil && len(said) > 0; said = said[:len(said)-1] { // an escape, or a character, may be cut through
			err = json.Unmarshal(slices.Concat([]byte(`"`), said, []byte(`…"`)), &status.Message)
		}
	}
	answer.Header.Set("Content-Type", "application/json")
	answer.ContentLength = -1
	return json.Marshal(status)
}
