package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wire is a process' way to the API servers. A request goes where the hash of what it says leads it, so that the same
// schedule always sends it the same way, whatever else happens at that instant.
type wire struct {
	*world
	process int
	belief  Belief
	dead    chan struct{} // closed when the process is killed
	sight   time.Duration
	ready   time.Time // when the process has started

	mu      sync.Mutex
	said    map[string]int   // how often a request was sent
	visited map[string]int64 // the flip after which an object was first written
	absent  map[string]bool  // objects that are believed to be gone; etcd's lock guards it
}

var errDead = errors.New("the process is dead")

// asked is one request, read.
type asked struct {
	*http.Request
	body  []byte
	route Route
	nudge time.Duration // a little time that no other request takes
}

// RoundTrip has an API server carry out the request. It does so although the process may be killed meanwhile.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if closed(w.dead) {
		return nil, errDead
	}
	a, err := w.read(r)
	if err != nil {
		return nil, err
	}
	type result struct {
		answer any
		err    error
	}
	done := make(chan result, 1)
	w.running.Go(func() {
		answer, err := w.carryOut(a)
		done <- result{answer, err}
	})
	select {
	case <-w.dead:
		return nil, errDead
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case d := <-done:
		if body, ok := d.answer.(io.ReadCloser); ok {
			return respond(r, http.StatusOK, body), nil
		}
		return w.render(a, d.answer, d.err)
	}
}

func (w *wire) read(r *http.Request) (*asked, error) {
	a := &asked{Request: r}
	if r.Body != nil {
		var err error
		if a.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	says := fmt.Sprintf("%d %s %s %s", w.process, r.Method, r.URL, a.body)
	w.mu.Lock()
	w.said[says]++
	n := w.said[says]
	w.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s", w.plan.Seed, n, says)
	sum := h.Sum64()
	a.route = w.plan.Routes[sum>>32%uint64(len(w.plan.Routes))]
	a.nudge = time.Millisecond + time.Duration(sum%uint64(4*time.Millisecond))
	return a, nil
}

// carryOut is what happens on the API server's side.
func (w *wire) carryOut(a *asked) (any, error) {
	time.Sleep(a.nudge)
	if a.URL.Path == crdPath { // what keeps the cache: a broken watch would be fixed after a random time
		return w.serve(a)
	}
	if w.faulty(Down, a.route.Server) {
		w.see(Refused)
		return nil, apierrors.NewServiceUnavailable("the API server is down")
	}
	answer, err := w.serve(a)
	w.orphaned(a)
	time.Sleep(a.nudge)
	if w.faulty(Lose, a.route.Server) {
		w.see(LostAnswer)
		return nil, io.ErrUnexpectedEOF
	}
	return answer, err
}

// orphaned notes a write whose process did not live to see it carried out.
func (w *wire) orphaned(a *asked) {
	if closed(w.dead) && !closed(w.over) && a.Method == http.MethodPatch {
		w.see(LateRequest)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// faulty reports whether a fault is under way on a server.
func (w *wire) faulty(kind Kind, server int) bool {
	now := time.Since(w.began)
	for _, e := range w.plan.Events {
		if e.Kind == kind && e.Server == server && e.At <= now && now < e.At+e.For {
			return true
		}
	}
	return false
}

var objectPath = regexp.MustCompile(`^/apis/` + regexp.QuoteMeta(group) + `/[^/]+/(?:namespaces/[^/]+/)?` + plural + `(?:/([^/]+))?(?:/status)?$`)

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const (
	apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices/"
	webhooksPath   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	policiesPath   = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
)

var apiServiceResource = schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}

// serve finds out what is asked.
func (w *wire) serve(a *asked) (any, error) {
	path := a.URL.Path
	if m := objectPath.FindStringSubmatch(path); m != nil {
		return w.serveObjects(a, m[1])
	}
	switch {
	case strings.HasPrefix(path, apiServicePath): // no aggregator
		return nil, apierrors.NewNotFound(apiServiceResource, strings.TrimPrefix(path, apiServicePath))
	case path == webhooksPath, path == policiesPath:
		return &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfigurationList"}}, nil
	case path == crdPath && a.URL.Query().Get("watch") != "":
		return w.watch(a.Context(), a.URL.Query()), nil
	case path == crdPath:
		return w.listCRDs(), nil
	case path == crdPath+"/"+crdName && a.Method == http.MethodGet:
		return w.getCRD()
	case path == crdPath+"/"+crdName+"/status" && a.Method == http.MethodPatch:
		return w.patchCRD(a)
	}
	panic("the model knows no " + a.Method + " " + a.URL.String())
}

func (w *wire) serveObjects(a *asked, name string) (any, error) {
	switch {
	case name == "":
		limit, _ := strconv.Atoi(a.URL.Query().Get("limit"))
		p, err := w.list(a.route, limit, a.URL.Query().Get("continue"))
		if err != nil {
			return nil, err
		}
		return w.withoutGone(p.metadata()), nil
	case a.Method == http.MethodGet:
		w.etcd.mu.Lock()
		defer w.etcd.mu.Unlock()
		if r := w.etcd.get(name); r != nil && !w.believesGone(name) {
			return r.metadata(name), nil
		}
		return nil, apierrors.NewNotFound(resource, name)
	}
	return w.patchObject(a, name)
}

// patchObject is a patch that changes nothing: those are all that Moult sends to objects without managedFields.
func (w *wire) patchObject(a *asked, name string) (any, error) {
	patch := struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}{}
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&patch); err != nil {
		panic(fmt.Sprintf("the model knows no patch %s: %v", a.body, err))
	}
	guard := patch.Metadata.ResourceVersion
	if a.URL.Query().Get("dryRun") != "" {
		return w.dryRun(name, guard)
	}
	flip, again := w.isVisited(name)
	who := fmt.Sprintf("process %d's rewrite", w.process)
	if again {
		who = fmt.Sprintf("process %d's check", w.process)
	}
	if w.believes(guard, again) {
		w.tell("process %d believes that %s is current and does not ask", w.process, name)
		return asListed(name, guard), nil
	}
	r, err := w.patch(a.route, who, name, guard)
	moved := err == nil && strconv.FormatInt(r.rv, 10) != guard
	switch {
	case guard != "" && w.belief == ConflictsAreFresh && apierrors.IsConflict(err):
		w.tell("process %d believes that who wrote %s meanwhile has left it current", w.process, name)
		return asListed(name, guard), nil
	case again && w.belief == FoundIsFine && moved:
		w.tell("process %d believes that %s was the last stale object", w.process, name)
		return asListed(name, guard), nil
	case err != nil:
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !again {
		w.visited[name] = flip
	}
	return r.metadata(name), nil
}

func (r record) metadata(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(name), Name: name, ResourceVersion: strconv.FormatInt(r.rv, 10)},
	}
}

func (p page) metadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(p.revision, 10), Continue: p.next},
	}
	if p.left > 0 {
		list.RemainingItemCount = &p.left
	}
	for _, name := range p.names {
		list.Items = append(list.Items, *p.objects[name].metadata(name))
	}
	return list
}

// render makes an answer what the client expects.
func (w *wire) render(a *asked, answer any, err error) (*http.Response, error) {
	code := http.StatusOK
	status := apierrors.APIStatus(nil)
	switch {
	case errors.Is(err, errNotServed):
		resp := respond(a.Request, http.StatusNotFound, io.NopCloser(strings.NewReader(err.Error())))
		resp.Header.Set("Content-Type", "text/plain")
		return resp, nil
	case errors.As(err, &status):
		body := status.Status()
		body.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer, code = &body, int(body.Code)
	case err != nil:
		return nil, err
	}
	if crd, ok := answer.(*apiextensionsv1.CustomResourceDefinition); ok && strings.Contains(a.Header.Get("Accept"), "as=PartialObjectMetadata") {
		answer = crdMetadata(crd)
	}
	body, err := json.Marshal(answer)
	return respond(a.Request, code, io.NopCloser(bytes.NewReader(body))), err
}

func respond(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		Request: r, StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Body: body,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// gone is closed when nobody waits for an answer any more.
func (w *wire) gone(ctx context.Context) <-chan struct{} {
	gone := make(chan struct{})
	w.running.Go(func() {
		defer close(gone)
		select {
		case <-ctx.Done():
		case <-w.dead:
		}
	})
	return gone
}
