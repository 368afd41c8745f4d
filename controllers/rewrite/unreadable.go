package rewrite

import (
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/words"
)

// corrupt is how the API server words that it cannot read what etcd has under a key. It names the key from Kubernetes 1.37 on
// (k8s.io/apiserver pkg/storage/etcd3/corrupt_obj_deleter.go); older ones say only what is wrong.
var corrupt = regexp.MustCompile(`corrupt object, Code: \d+, Key: ([^ ,]+), .*?AdditionalErrorMsg: (?s:(.*))`)

// leftBehind is how the API server words that an object is stored at a version which the CRD does not have any more
// (k8s.io/apiextensions-apiserver pkg/apiserver/conversion/converter.go). Before Kubernetes 1.37 that is all a list says.
const leftBehind = "request to convert CR from an invalid group/version: "

// Unreadable are the custom resources that an answer of the API server names because it cannot read them. A list names up to a
// hundred. Before Kubernetes 1.37 it names none: of those whose version has left the CRD, the first stands here without a name.
func Unreadable(err error, of schema.GroupResource) (objects []FailedObject) {
	if err == nil {
		return nil
	}
	texts := []string{err.Error()}
	if apierrors.ReasonForError(err) == metav1.StatusReasonStoreReadError {
		texts = words.Of(details(err).Causes, func(cause metav1.StatusCause) string { return cause.Message })
	}
	for _, text := range texts {
		if found := corrupt.FindStringSubmatch(text); found != nil {
			objects = append(objects, FailedObject{NamespacedName: named(found[1], of), Reason: reasonUnreadable, Message: found[2]})
		}
	}
	if c, _ := classify(err); c == unreadable && len(objects) == 0 {
		_, version, _ := strings.Cut(err.Error(), leftBehind)
		objects = append(objects, FailedObject{Reason: reasonUnreadable, Message: leftBehind + version})
	}
	return objects
}

// cause is why the API server cannot read an object, without the words before it, which differ between reads, dry runs and writes.
func cause(err error) string {
	if found := corrupt.FindStringSubmatch(err.Error()); found != nil {
		return found[2]
	}
	return err.Error()
}

// named is the object of a key in etcd, <prefix>/<group>/<resource>/<namespace>/<name>.
func named(key string, of schema.GroupResource) (object types.NamespacedName) {
	_, object.Name, _ = strings.Cut("/"+key, "/"+of.Group+"/"+of.Resource+"/")
	if namespace, name, namespaced := strings.Cut(object.Name, "/"); namespaced {
		object.Namespace, object.Name = namespace, name
	}
	return object
}
