package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/unpacking"
)

// Objects are the custom resources of one kind at one version, seen through
// their metadata only.
type Objects interface {
	// List returns one page, or ErrPageTooLarge if fewer objects are to be asked for.
	List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error)
	// Get returns one object's metadata.
	Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error)
	// Patch writes one object and returns its metadata after the write.
	Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error)
}

const (
	// requestTimeout bounds one request; the API server gives up after 60 s
	// itself (--request-timeout).
	requestTimeout = 65 * time.Second
	// grace is how much longer a write may take once the walk is stopped. Most are
	// answered in it, which is better than not to know what became of them.
	grace = time.Second

	acceptObject = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptList = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Client reads and writes custom resources by their metadata. It differs from client-go's metadata client in one point:
// it never retries or throttles by itself. A walk must see each 429 and Retry-After to pace all its workers by them.
type Client struct {
	rest   rest.Interface
	dryRun bool
	whole  *wholes
}

// NewClient makes a Client from the configuration of any other client.
func NewClient(cfg *rest.Config, httpClient *http.Client) (*Client, error) {
	c := metadata.ConfigFor(cfg)
	c.QPS, c.Burst, c.RateLimiter = -1, -1, nil
	c.GroupVersion = &schema.GroupVersion{}
	c.APIPath = "/unused: every request has an absolute path"
	r, err := rest.RESTClientForConfigAndClient(c, BoundErrors(httpClient))
	if err != nil {
		return nil, err
	}
	return &Client{rest: r, whole: ofProcess}, nil
}

// DryRun is the same client, writing nothing: the API server runs admission and
// validation and stops before etcd.
func (c *Client) DryRun() *Client { return &Client{rest: c.rest, dryRun: true, whole: c.whole} }

// Status is the objects of one resource, read as by Resource and written to at
// their status subresource.
func (c *Client) Status(gvr schema.GroupVersionResource) Objects {
	return &resource{client: c, gvr: gvr, subresource: []string{"status"}}
}

// Resource is the objects of one resource, read and written at gvr.Version.
func (c *Client) Resource(gvr schema.GroupVersionResource) Objects {
	return &resource{client: c, gvr: gvr}
}

// Whole reads one object with all it holds, as JSON. Everything else here reads metadata only. What the server fills in, or a webhook makes
// of an object, may be of any length: above 8 MiB it is an error.
func (c *Client) Whole(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) ([]byte, error) {
	if err := Impossible(gvr.GroupResource(), key.Name); err != nil {
		return nil, err
	}
	return readWhole(ctx, (&resource{client: c, gvr: gvr}).one(c.rest.Get(), key))
}

func readWhole(ctx context.Context, request *rest.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := request.SetHeader("Accept", "application/json").MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return readBounded(body, mostOfOne, errNoEnd)
}

// WholePage is one page of objects with all that they hold. It is ErrPageTooLarge above so many bytes, unless it has a
// limit of 1. Objects can be of any size, and decoded they take several times as much, or a hundred times if that is
// what somebody is after.
func (c *Client) WholePage(ctx context.Context, gvr schema.GroupVersionResource, opts metav1.ListOptions, most int64) (*unstructured.UnstructuredList, error) {
	raw, err := c.wholeJSON(ctx, gvr, opts, most)
	if err != nil {
		return nil, err
	}
	list, failed, err := decodePage(raw)
	if err != nil {
		return nil, err
	}
	return list, failed.orNil()
}

func (c *Client) wholeJSON(ctx context.Context, gvr schema.GroupVersionResource, opts metav1.ListOptions, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := (&resource{client: c, gvr: gvr}).stream(ctx, "application/json", opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	raw, err := readList(body, opts.Limit, most)
	if cost, _ := unpacking.CostOfJSON(raw); opts.Limit != 1 && cost > mostDecoded {
		return nil, ErrPageTooLarge
	}
	return raw, err
}

type resource struct {
	client      *Client
	gvr         schema.GroupVersionResource
	subresource []string // of writes
}

var parameters = func() runtime.ParameterCodec {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return runtime.NewParameterCodec(s)
}()

func (r *resource) List(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := r.stream(ctx, acceptList, opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return readPage(body, opts.Limit)
}

// stream asks for a page.
func (r *resource) stream(ctx context.Context, accept string, opts metav1.ListOptions) (io.ReadCloser, error) {
	return r.all(r.client.rest.Get(), "").
		SetHeader("Accept", accept).
		SpecificallyVersionedParams(&opts, parameters, schema.GroupVersion{Version: "v1"}).
		MaxRetries(0).Stream(ctx)
}

// readPage reads a page of metadata unless it is too large.
func readPage(body io.Reader, limit int64) (*metav1.PartialObjectMetadataList, error) {
	raw, err := readList(body, limit, maxPageBytes)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	return list, decode(raw, list)
}

// ErrNoAnswer says that whatever has answered was no API server: each list and each object of one has a resourceVersion.
var ErrNoAnswer = errors.New("the answer has no resourceVersion, so it is not from the API server; look for a proxy before it")

// decode reads what the API server has answered.
func decode(raw []byte, into interface {
	runtime.Object
	GetResourceVersion() string
}) error {
	err := runtime.DecodeInto(metainternalversionscheme.Codecs.UniversalDeserializer(), raw, into)
	if err == nil && into.GetResourceVersion() == "" {
		err = ErrNoAnswer
	}
	return err
}

// mostOfOne is how long one object, or a page of one, may be, in bytes. The API server takes requests of 3 MiB, and adds managedFields.
const mostOfOne = 8 << 20

// errNoLimit is of servers such as aggregated ones that send all objects, however few they are asked for.
var errNoLimit = fmt.Errorf("a list of one object is longer than %d MiB: the server that answers takes no notice of a limit", mostOfOne>>20)

// errNoEnd is of what is no object of an API server.
var errNoEnd = fmt.Errorf("the answer is longer than the %d MiB that one object may take", mostOfOne>>20)

// readList reads a page that is no longer than so many bytes. One object is taken as it is.
func readList(body io.Reader, limit, most int64) ([]byte, error) {
	if limit == 1 {
		return readBounded(body, mostOfOne, errNoLimit)
	}
	return readBounded(body, most, ErrPageTooLarge)
}

// readBounded reads what is no longer than so many bytes; 0 is no bound.
func readBounded(body io.Reader, most int64, tooLarge error) ([]byte, error) {
	if most == 0 {
		return io.ReadAll(body)
	}
	raw, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(raw)) > most {
		return nil, tooLarge
	}
	return raw, err
}

func (r *resource) Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	if err := Impossible(r.gvr.GroupResource(), key.Name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return readObject(ctx, r.one(r.client.rest.Get(), key))
}

// readObject is the answer to a request about one object, unless a visit has no room for it.
func readObject(ctx context.Context, request *rest.Request) (*metav1.PartialObjectMetadata, error) {
	body, err := request.SetHeader("Accept", acceptObject).MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	raw, err := readBounded(body, mostOf(ctx), ErrAnswerTooLarge)
	if err != nil {
		return nil, err
	}
	object := &metav1.PartialObjectMetadata{}
	return object, decode(raw, object)
}

func (r *resource) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ctx, cancel := withGracePeriod(ctx, requestTimeout)
	defer cancel()
	return readObject(ctx, r.patch(key, pt, body))
}

func (r *resource) patch(key types.NamespacedName, pt types.PatchType, body []byte) *rest.Request {
	opts := metav1.PatchOptions{}
	if r.client.dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return r.one(r.client.rest.Patch(pt), key).SubResource(r.subresource...).
		SpecificallyVersionedParams(&opts, parameters, schema.GroupVersion{Version: "v1"}).Body(body)
}

// withGracePeriod is a context that ends when its parent has been over for the grace
// time, or after timeout.
func withGracePeriod(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), timeout)
	stop := context.AfterFunc(parent, func() { time.AfterFunc(grace, cancel) }) //nolint:forbidigo // the time of a request on the wire, as its timeout
	return ctx, func() { stop(); cancel() }
}

// Impossible is the API server's error for a name that no object can have. A client may have written it into another object, and `../secrets`
// would be a path to something else.
func Impossible(of schema.GroupResource, name string) error {
	if len(content.IsPathSegmentName(name)) == 0 {
		return nil
	}
	return apierrors.NewNotFound(of, name)
}

// one is a request about one object.
func (r *resource) one(request *rest.Request, key types.NamespacedName) *rest.Request {
	return r.all(request, key.Namespace).Name(key.Name)
}

// all is a request about all objects, of a namespace if there is one.
func (r *resource) all(request *rest.Request, namespace string) *rest.Request {
	root := []string{"apis", r.gvr.Group, r.gvr.Version}
	if r.gvr.Group == "" {
		root = []string{"api", r.gvr.Version}
	}
	return request.AbsPath(root...).NamespaceIfScoped(namespace, namespace != "").Resource(r.gvr.Resource)
}
