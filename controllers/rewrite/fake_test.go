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
	"time"

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

	// takes is how long a patch takes. Others get on meanwhile.
	takes func(name string) time.Duration
	// fail is asked before every patch; an error is the answer.
	fail func(name string, try int) error
	// unreadable is asked before every read of one object.
	unreadable func(name string) error
	// stamps has every write change the object's content, if it is true.
	stamps func(name string) bool
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
	rv, generation int64
	stale          bool
	managed        []metav1.ManagedFieldsEntry
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
	if s.unreadable != nil {
		if err := s.unreadable(key.Name); err != nil {
			return nil, err
		}
	}
	if s.objects[key.Name] == nil {
		return nil, notFound(key.Name)
	}
	return s.metadata(key.Name), nil
}

func (s *shelf) Patch(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	if s.takes != nil {
		time.Sleep(s.takes(key.Name))
	}
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
	stamped := s.stamps != nil && s.stamps(key.Name)
	if !stamped && !o.stale && reflect.DeepEqual(o.managed, entries) {
		return s.metadata(key.Name), nil
	}
	if s.wipes != nil && s.wipes(try, entries) {
		entries = nil
	}
	s.touch(key.Name)
	s.objects[key.Name].managed = entries
	if stamped {
		s.objects[key.Name].generation++
	}
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
		if place, ok := strings.CutPrefix(op.Path, "/metadata/managedFields/"); ok {
			if err := operate(&entries, op.Op, place, op.Value); err != nil {
				return nil, err
			}
			continue
		}
		switch op.Op + " " + op.Path {
		case "test /metadata/resourceVersion":
			if string(op.Value) != fmt.Sprintf("%q", strconv.FormatInt(o.rv, 10)) {
				return nil, testFailed
			}
		case "add /metadata/managedFields":
			entries = nil
			_ = json.Unmarshal(op.Value, &entries)
		default:
			return nil, apierrors.NewBadRequest("no such operation here: " + op.Op + " " + op.Path)
		}
	}
	return oneEach(entries), nil
}

var testFailed = status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")

// operate tests, replaces or removes one entry or a field of it.
func operate(entries *[]metav1.ManagedFieldsEntry, op, place string, value json.RawMessage) error {
	index, field, _ := strings.Cut(place, "/")
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(*entries) {
		return testFailed
	}
	if op == "remove" {
		*entries = slices.Delete(*entries, i, i+1)
		return nil
	}
	if field == "" {
		(*entries)[i] = metav1.ManagedFieldsEntry{}
		return json.Unmarshal(value, &(*entries)[i])
	}
	fields, raw := map[string]json.RawMessage{}, asJSON([]metav1.ManagedFieldsEntry{(*entries)[i]})
	_ = json.Unmarshal(raw[1:len(raw)-1], &fields)
	if op == "test" {
		if string(fields[field]) != string(value) {
			return testFailed
		}
		return nil
	}
	fields[field] = value
	raw, _ = json.Marshal(fields)
	return json.Unmarshal(raw, &(*entries)[i])
}

// oneEach keeps the last of several entries of one manager, as the API server does.
func oneEach(entries []metav1.ManagedFieldsEntry) (kept []metav1.ManagedFieldsEntry) {
	for i, e := range entries {
		if !slices.ContainsFunc(entries[i+1:], func(later metav1.ManagedFieldsEntry) bool { return SameManager(e, later) }) {
			kept = append(kept, e)
		}
	}
	return kept
}

// touch writes an object at the storage version.
func (s *shelf) touch(name string) {
	s.rv++
	s.objects[name] = &stored{rv: s.rv, generation: s.objects[name].generation, managed: s.objects[name].managed}
}

func (s *shelf) metadata(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", ResourceVersion: strconv.FormatInt(s.objects[name].rv, 10),
		Generation: s.objects[name].generation, ManagedFields: slices.Clone(s.objects[name].managed),
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
