package migration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// A webhook that denies a write may choose any code, and one that does not answer has another.
func TestARefusedTrimIsReportedWhateverItsCode(t *testing.T) {
	t.Parallel()
	denied := `admission webhook "guard.example.com" denied the request: not today`
	for name, c := range map[string]struct {
		status metav1.Status
		reason string
	}{
		"400": {metav1.Status{Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: denied}, v1alpha1.ReasonForbidden},
		"409": {metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: denied}, v1alpha1.ReasonForbidden},
		"413": {metav1.Status{Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge,
			Message: "ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not today"}, v1alpha1.ReasonForbidden},
		"500": {apierrors.NewInternalError(io.EOF).ErrStatus, v1alpha1.ReasonUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.status.Code == http.StatusInternalServerError {
				c.status.Message = `Internal error occurred: failed calling webhook "guard.example.com": not today`
			}
			w := flippedWorld(t, widgets(t), 2)
			w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				if !w.isTrim(req) {
					return next.RoundTrip(req)
				}
				return answer(req, c.status)
			}), w.quick())
			w.Eventually(w.Reason, soon).Should(Equal(c.reason), func() string { return w.Condition().Message })
			w.Expect(w.Condition().Message).To(ContainSubstring("not today"))
			w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
		})
	}
}

func answer(req *http.Request, status metav1.Status) (*http.Response, error) {
	status.TypeMeta, status.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
	body, err := json.Marshal(status)
	return &http.Response{StatusCode: int(status.Code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, err
}

// A mutating policy may put the old version back in the very write that takes it out.
func TestATrimThatIsAcceptedAndNotKeptIsReported(t *testing.T) {
	t.Parallel()
	w := flippedWorld(t, widgets(t), 2)
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if w.isTrim(req) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			body = bytes.Replace(body, []byte(`["v1"]`), []byte(`["v1alpha1","v1"]`), 1)
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		return next.RoundTrip(req)
	}), w.quick())
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonForbidden), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(ContainSubstring("storedVersions was written as [v1] and kept as [v1alpha1 v1]"))
}
