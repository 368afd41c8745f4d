package rewrite

import (
	"context"
	"fmt"
	"net/http"
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
	tries     map[string]int
	bodies    []string
}

type stored struct {
	rv    int64
	stale bool
}

var widgetResource = schema.GroupResource{Group: "example.com", Resource: "widgets"}

func newShelf(n int) *shelf {
	s := &shelf{objects: map[string]*stored{}, tries: map[string]int{}}
	for i := range n {
		s.rv++
		s.objects[fmt.Sprintf("o%05d", i)] = &stored{s.rv, true}
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

func (s *shelf) Get(_ context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[key.Name] == nil {
		return nil, notFound(key.Name)
	}
	return s.metadata(key.Name), nil
}

func (s *shelf) Patch(_ context.Context, key types.NamespacedName, _ types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	if guard := fmt.Sprintf(`"resourceVersion":"%d"`, o.rv); strings.Contains(string(body), "resourceVersion") && !strings.Contains(string(body), guard) {
		return nil, apierrors.NewConflict(widgetResource, key.Name, fmt.Errorf("the object has been modified"))
	}
	if o.stale {
		s.touch(key.Name)
	}
	return s.metadata(key.Name), nil
}

// touch writes an object at the storage version.
func (s *shelf) touch(name string) {
	s.rv++
	s.objects[name] = &stored{s.rv, false}
}

func (s *shelf) metadata(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", ResourceVersion: strconv.FormatInt(s.objects[name].rv, 10),
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
