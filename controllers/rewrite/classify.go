package rewrite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cause is why a walk stopped before its end.
type Cause string

const (
	// Forbidden: the credentials lack a permission.
	Forbidden Cause = "Forbidden"
	// ConversionUnavailable: the conversion webhook converts no object.
	ConversionUnavailable Cause = "ConversionUnavailable"
	// Unavailable: the API server does not answer, or only with errors.
	Unavailable Cause = "Unavailable"
	// Corrupt: the API server cannot read some objects from etcd, so it answers no list.
	Corrupt Cause = "Corrupt"
)

// Stopped is the error of a walk that could not go on, because every further
// object would have met the same end.
type Stopped struct {
	Cause Cause
	Err   error
}

// StoppedBy is the error of a walk that ends because a request beside the objects' own was not answered.
func StoppedBy(err error) *Stopped {
	if IsForbidden(err) {
		return &Stopped{Cause: Forbidden, Err: err}
	}
	return &Stopped{Cause: Unavailable, Err: err}
}

func (s *Stopped) Error() string { return fmt.Sprintf("%s: %v", s.Cause, s.Err) }
func (s *Stopped) Unwrap() error { return s.Err }

// class is what an error means for the object it was met on.
type class int

const (
	absent      class = iota // something that has a name is not there, perhaps the object
	conflict                 // somebody else wrote at the same moment
	busy                     // the API server is: everyone should wait
	flaky                    // an error that may pass, perhaps on this object only
	rejected                 // the API server understood and refused
	unconverted              // the conversion webhook refused the object, or all objects
	forbidden                // RBAC
	unreadable               // the API server cannot read the object from etcd
	noRoute                  // the resource itself is not there
)

// Reasons of failed objects.
const (
	reasonDenied      = "AdmissionDenied"
	reasonInvalid     = "Invalid"
	reasonConversion  = "ConversionFailed"
	reasonConflict    = "Conflict"
	reasonOwnership   = "OwnershipLost"
	reasonInternal    = "InternalError"
	reasonNamespace   = "NamespaceGone"
	reasonMisplaced   = "Misplaced"
	reasonUnavailable = "Unavailable"
	reasonFieldsLost  = "FieldsWouldBeLost"
	reasonUnreadable  = "Unreadable"
	reasonOther       = "Rejected"
)

// classify maps an error of the API server, or of the way to it, to its class
// and, for classes that can fail an object, a reason.
func classify(err error) (class, string) {
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
		return busy, "" // no answer: refused, reset, timed out
	}
	text := err.Error()
	if denied(text) { // first: what an admission webhook says may sound like anything
		return rejected, reasonDenied
	}
	if strings.Contains(text, converting) { // whether it is there cannot be told from its words
		return unconverted, reasonConversion
	}
	if corrupt.MatchString(text) || strings.Contains(text, leftBehind) {
		return unreadable, reasonUnreadable
	}
	switch {
	case apierrors.IsNotFound(err):
		if details(err).Name != "" {
			return absent, reasonOther
		}
		return noRoute, ""
	case apierrors.IsConflict(err):
		return conflict, reasonConflict
	case IsForbidden(err), apierrors.IsUnauthorized(err):
		return forbidden, ""
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return busy, ""
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return rejected, reasonInvalid
	case code(err) >= http.StatusInternalServerError:
		return flaky, reasonInternal
	default:
		return rejected, reasonOther
	}
}

// perhapsDone reports whether an error leaves open if the request was carried out.
func perhapsDone(err error) bool {
	c, _ := classify(err)
	return (c == busy || c == flaky) && !apierrors.IsTooManyRequests(err)
}

// converting is how the API server begins the error of a conversion webhook (k8s.io/apiextensions-apiserver pkg/apiserver/conversion).
// What the webhook says of an object comes behind.
const converting = "conversion webhook for"

// denied reports whether an error is the refusal of an admission webhook or policy, whatever code it chose
// (k8s.io/apiserver pkg/admission/plugin/webhook/errors and .../policy). A conversion webhook may use the same words.
func denied(text string) bool {
	own, _, _ := strings.Cut(text, converting)
	return strings.Contains(own, "denied the request") || strings.Contains(own, "denied request")
}

// rbac is how the API server words a missing permission
// (k8s.io/apiserver pkg/endpoints/handlers/responsewriters, forbiddenMessage).
var rbac = regexp.MustCompile(`User ".*" cannot \S+ resource`)

// IsForbidden reports whether err is a missing permission, and not the refusal of
// an admission webhook or policy, which may use the same code.
func IsForbidden(err error) bool {
	return apierrors.IsForbidden(err) && !denied(err.Error()) && rbac.MatchString(err.Error())
}

// IsDenied reports whether err is the refusal of an admission webhook or policy,
// whatever code it chose.
func IsDenied(err error) bool {
	return errors.As(err, new(apierrors.APIStatus)) && denied(err.Error())
}

// IsWebhookDown reports whether err is that of an admission webhook that could not be asked
// (k8s.io/apiserver pkg/admission/plugin/webhook/validating/dispatcher.go).
func IsWebhookDown(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// MayPass reports whether err is that of a server that is busy, away or in trouble, so that the same request may be
// answered later.
func MayPass(err error) bool {
	c, _ := classify(err)
	return c == busy || c == flaky
}

// details are what the API server's answer is about. One to a resource or a version
// that is not served has none.
func details(err error) metav1.StatusDetails {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// IsGone reports whether err says that the object with this name, of this API
// group, is not there. The namespace that a write needs may be missing as well, and
// then the object is still there.
func IsGone(err error, group, name string) bool {
	d := details(err)
	return IsAbsent(err) && !denied(err.Error()) && d.Group == group && d.Name == name
}

// IsAbsent reports whether the API server has looked for something by its name and not found it. If a proxy before it answers 404,
// client-go fills in what was asked for (k8s.io/client-go rest/request.go, transformResponse), and nothing has been looked for.
func IsAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// namespaceIsGone reports whether err says that the namespace does not exist
// (k8s.io/apiserver pkg/admission/plugin/namespace/lifecycle).
func namespaceIsGone(err error, namespace string) bool {
	d := details(err)
	return apierrors.IsNotFound(err) && d.Group == "" && d.Kind == "namespaces" && d.Name == namespace
}

func code(err error) int32 {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// stopFor turns an error of a list request, or of an object that is like all others,
// into the end of the walk.
func stopFor(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	switch c, _ := classify(err); c {
	case forbidden:
		return &Stopped{Forbidden, err}
	case unconverted:
		return &Stopped{ConversionUnavailable, err}
	case unreadable:
		return &Stopped{Corrupt, err}
	case absent, conflict, busy, flaky, rejected, noRoute:
	}
	return &Stopped{Unavailable, err}
}

// continueToken is the token an expired list hands out to go on with, from
// where it stood, at a newer resourceVersion (k8s.io/apiserver
// pkg/storage/continue.go). Objects created since then are skipped or seen
// twice, and both are harmless: they were written after the flip.
func continueToken(err error) (string, bool) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonExpired {
		return "", false
	}
	return status.Status().Continue, true
}
