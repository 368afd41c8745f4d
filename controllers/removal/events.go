package removal

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is the longest note the API server takes in an Event, in bytes.
const maxNote = 1024

// plainRecorder records Events in the cluster and nowhere else.
type plainRecorder struct{ events.EventRecorder }

// Event records an Event on an object.
func (r plainRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	if len(message) > maxNote {
		message = strings.ToValidUTF8(message[:maxNote], "")
	}
	r.Eventf(object, nil, eventtype, reason, reason, "%s", message)
}
