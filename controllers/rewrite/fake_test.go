package rewrite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// shelf is an API server small enough to inject any fault: objects with a
// resourceVersion that are stored stale or current. What a real server does is
// tested in controllers/migration.
type shelf struct {
	mu      sync.Mutex
	rv      int64
	objects map[string]*stored // by name, all in the namespace "ns"

	// fail is asked before every patch; an error is the answer.
	fail func(name string, try int) error
	// meanwhile is called before every patch is carried out.
	meanwhile func(s *shelf, name string, try int)
	// wipes is asked at every write that is stored; true clears managedFields, as
	// the API server does when it cannot convert what they name.
	wipes func(try int, entries []metav1.ManagedFieldsEntry) bool
	// keeps has every write keep the managedFields that are there.
	keeps  bool
	tries  map[string]int
	bodies []string
}

type stored struct {
	rv      int64
	stale   bool
	managed []metav1.ManagedFieldsEntry
}

var widgetResource = schema.GroupResource{Group: "example.com", Resource: "widgets"}

func newShelf(n int) *shelf {
	s := &shelf{objects: map[string]*stored{}, tries: map[string]int{}}
	for i := range n {
		s.rv++
		s.objects[fmt.Sprintf("o%05d", i)] = &stored{rv: s.rv, stale: true}
	}
	return s
}

func (s *shelf) List(_ context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.objects {
		if name > opts.Continue {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	list := &metav1.PartialObjectMetadataList{}
	list.ResourceVersion = strconv.FormatInt(s.rv, 10)
	if rest := int64(len(names)) - opts.Limit; rest > 0 {
		names = names[:opts.Limit]
		list.Continue, list.RemainingItemCount = names[len(names)-1], &rest
	}
	for _, name := range names {
		list.Items = append(list.Items, *s.metadata(name))
	}
	return list, nil
}

func (s *shelf) Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.objects[key.Name] == nil {
		return nil, notFound(key.Name)
	}
	return s.metadata(key.Name), nil
}

func (s *shelf) Patch(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	try := s.tries[key.Name]
	s.tries[key.Name]++
	s.bodies = append(s.bodies, string(body))
	if s.fail != nil {
		if err := s.fail(key.Name, try); err != nil {
			return nil, err
		}
	}
	if s.meanwhile != nil {
		s.meanwhile(s, key.Name, try)
	}
	o := s.objects[key.Name]
	if o == nil {
		return nil, notFound(key.Name)
	}
	entries, err := o.managed, error(nil)
	if kind == types.JSONPatchType {
		entries, err = o.applyOperations(body)
	} else if guard := fmt.Sprintf(`"resourceVersion":"%d"`, o.rv); strings.Contains(string(body), "resourceVersion") && !strings.Contains(string(body), guard) {
		err = apierrors.NewConflict(widgetResource, key.Name, fmt.Errorf("the object has been modified"))
	}
	if err != nil {
		return nil, err
	}
	if s.keeps {
		entries = o.managed
	}
	if !o.stale && reflect.DeepEqual(o.managed, entries) {
		return s.metadata(key.Name), nil
	}
	if s.wipes != nil && s.wipes(try, entries) {
		entries = nil
	}
	s.touch(key.Name)
	s.objects[key.Name].managed = entries
	return s.metadata(key.Name), nil
}

// applyOperations is as much of a JSON Patch as is needed here.
func (o *stored) applyOperations(body []byte) ([]metav1.ManagedFieldsEntry, error) {
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(body, &operations); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	entries := slices.Clone(o.managed)
	for _, op := range operations {
		at := 0
		if n, err := fmt.Sscanf(op.Path, "/metadata/managedFields/%d/apiVersion", &at); n == 1 && err == nil {
			_ = json.Unmarshal(op.Value, &entries[at].APIVersion)
			continue
		}
		switch op.Op + " " + op.Path {
		case "test /metadata/resourceVersion":
			if string(op.Value) != fmt.Sprintf("%q", strconv.FormatInt(o.rv, 10)) {
				return nil, status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")
			}
		case "add /metadata/managedFields":
			entries = nil
			_ = json.Unmarshal(op.Value, &entries)
		default:
			return nil, apierrors.NewBadRequest("no such operation here: " + op.Op + " " + op.Path)
		}
	}
	return entries, nil
}

// touch writes an object at the storage version.
func (s *shelf) touch(name string) {
	s.rv++
	s.objects[name] = &stored{rv: s.rv, managed: s.objects[name].managed}
}

func (s *shelf) metadata(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", ResourceVersion: strconv.FormatInt(s.objects[name].rv, 10),
		ManagedFields: slices.Clone(s.objects[name].managed),
	}}
}

func (s *shelf) stale() (n int) {
	for _, o := range s.objects {
		if o.stale {
			n++
		}
	}
	return n
}

func notFound(name string) error { return apierrors.NewNotFound(widgetResource, name) }

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func internal(message string) error {
	return status(http.StatusInternalServerError, metav1.StatusReasonInternalError, message)
}
