package webhooks

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Conversion is a conversion webhook whose versions differ in nothing but the apiVersion, unless Rename or Change says
// otherwise. Give URL and CABundle to builders.CRDBuilder.ConversionWebhook. Faults add up; Heal ends them all.
type Conversion struct {
	*server

	mu       sync.Mutex
	calls    int
	delay    time.Duration
	garbage  bool
	rejected map[string]string // object name → message
	changes  []Change
	answers  []Answer
	refuses  func(*http.Request) bool
}

// Change is what a conversion does to an object, beside its apiVersion; from and to are versions without their group.
type Change func(object *unstructured.Unstructured, from, to string)

// Answer is what happens to the response to one review before it is sent.
type Answer func(*apiextensionsv1.ConversionResponse)

// NewConversion starts a healthy conversion webhook.
func NewConversion() (*Conversion, error) {
	c := NewHandler()
	var err error
	c.server, err = startServer(c)
	return c, err
}

// NewHandler is one without a server, for a server of somebody else's.
func NewHandler() *Conversion { return &Conversion{rejected: map[string]string{}} }

// Serve answers at /convert as an operator's program does that is started with --webhook-command, until it is ended.
func (c *Conversion) Serve() error {
	folder := os.Getenv("WEBHOOK_CERT_DIR")
	mux := http.NewServeMux()
	mux.Handle("/convert", c)
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("WEBHOOK_PORT"), Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServeTLS(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
}

// Change has every conversion do this, too.
func (c *Conversion) Change(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, change)
}

// Answer has every response be changed so, until Heal.
func (c *Conversion) Answer(answer Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, answer)
}

// Rename has the version call spec.<before> of all other versions spec.<after>.
func (c *Conversion) Rename(version, before, after string) {
	move := func(object *unstructured.Unstructured, from, to string) {
		if value, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", from); found {
			unstructured.RemoveNestedField(object.Object, "spec", from)
			_ = unstructured.SetNestedField(object.Object, value, "spec", to)
		}
	}
	c.Change(func(object *unstructured.Unstructured, from, to string) {
		switch version {
		case to:
			move(object, before, after)
		case from:
			move(object, after, before)
		}
	})
}

// Refuse has the webhook answer some requests as a firewall would, while others still get through.
func (c *Conversion) Refuse(some func(*http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses = some
}

// Slow delays every answer from now on.
func (c *Conversion) Slow(delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = delay
}

// Garbage has every answer be something else than a ConversionReview.
func (c *Conversion) Garbage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.garbage = true
}

// RejectObject fails every review that contains an object of this name. A list may succeed all the same, when the API
// server serves it from its watch cache, which holds objects already converted, and fails when it does not.
func (c *Conversion) RejectObject(name string) {
	c.RejectObjectSaying(name, name+" cannot be converted, as this test wants it")
}

// RejectObjectSaying does the same with a message of the test's own.
func (c *Conversion) RejectObjectSaying(name, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rejected[name] = message
}

// Heal ends all faults and brings the webhook up again. Its error is that of Up.
func (c *Conversion) Heal() error {
	c.mu.Lock()
	c.delay, c.garbage, c.rejected, c.refuses, c.answers = 0, false, map[string]string{}, nil, nil
	c.mu.Unlock()
	return c.Up()
}

// Calls counts the reviews received since the start.
func (c *Conversion) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// ServeHTTP answers one ConversionReview.
func (c *Conversion) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not a ConversionReview", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.calls++
	delay, garbage, refuses, answers := c.delay, c.garbage, c.refuses, slices.Clone(c.answers)
	c.mu.Unlock()
	if refuses != nil && refuses(r) {
		http.Error(w, "not for you, as this test wants it", http.StatusForbidden)
		return
	}

	select {
	case <-time.After(delay): // at once when healthy
	case <-r.Context().Done():
		return
	}
	if garbage {
		_, _ = w.Write([]byte("<html>503 from some proxy</html>"))
		return
	}
	review.Response = c.convert(review.Request)
	for _, answer := range answers {
		answer(review.Response)
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

func (c *Conversion) convert(request *apiextensionsv1.ConversionRequest) *apiextensionsv1.ConversionResponse {
	response := &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range request.Objects {
		object := &unstructured.Unstructured{}
		err := object.UnmarshalJSON(raw.Raw)
		if err == nil {
			err = c.refusal(object.GetName())
		}
		if err != nil {
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			response.ConvertedObjects = nil
			return response
		}
		from, to := object.GroupVersionKind().Version, path.Base(request.DesiredAPIVersion)
		object.SetAPIVersion(request.DesiredAPIVersion)
		for _, change := range c.changed() {
			change(object, from, to)
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	return response
}

func (c *Conversion) changed() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.changes)
}

func (c *Conversion) refusal(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if message, rejected := c.rejected[name]; rejected {
		return errors.New(message)
	}
	return nil
}
