package repair

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moult-dev/moult/controllers/setup"
)

// report reports what a repair has found for one CRD, in Events on it, in the log and in metrics.
func (r *Reconciler) report(ctx context.Context, s subject, f finding) {
	r.metrics.looked(s.name(), f)
	for _, said := range r.events.sayings(s, f) {
		ctrl.LoggerFrom(ctx).Info(said.text, "crd", s.name(), "reason", said.reason)
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: s.name(), UID: s.uid}}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		tell(r.opts.Recorder, crd, said)
	}
}

func tell(recorder events.EventRecorder, about runtime.Object, said saying) {
	kind := corev1.EventTypeWarning
	if said.normal {
		kind = corev1.EventTypeNormal
	}
	recorder.Eventf(about, nil, kind, said.reason, action(said), "%s", setup.Note(said.text))
}

// action differs with what is said: of Events that are alike in all but the note, recorders keep the first and count the others
// (k8s.io/client-go tools/events, getKey).
func action(said saying) string {
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(said.text)) // it never fails
	return fmt.Sprintf("%s-%08x", said.reason, digest.Sum32())
}
