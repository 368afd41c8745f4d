package removal

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/moult-dev/moult/controllers/setup"
)

// plainRecorder records Events in the cluster and nowhere else.
type plainRecorder struct{ events.EventRecorder }

// Event records an Event on an object.
func (r plainRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.Eventf(object, nil, eventtype, reason, reason, "%s", setup.Note(message))
}
