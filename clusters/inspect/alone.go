package inspect

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// Unread is an object that could not be read at some versions. It is stored at another one and cannot be converted, or what etcd has
// of it is no object.
type Unread struct {
	// Object is namespace/name, or the name.
	Object string
	At     []string
	Why    string
}

func (u Unread) String() string {
	return fmt.Sprintf("%s at %s (%s)", u.Object, strings.Join(u.At, ", "), u.Why)
}

const (
	// mostUnread is how many objects in a row are passed over. More are not about one object: a webhook is down.
	mostUnread = 100
	// A webhook that starts anew is waited for: so long after so many in a row.
	pauseAfter, restartPause = 20, 4 * time.Second
)

// postpone keeps an object that cannot be read for the end, when its webhook may be there again.
func (r *copies) postpone(o Copied) bool {
	if o.Unread == nil {
		r.inARow = 0
		return false
	}
	r.unread = append(r.unread, *o.Unread)
	if r.inARow++; r.inARow%pauseAfter == 0 {
		r.clock.Sleep(restartPause)
	}
	return true
}

// again asks once more for what could not be read.
func (r *copies) again(ctx context.Context) error {
	for _, u := range r.unread {
		namespace, name, is := strings.Cut(u.Object, "/")
		if !is {
			namespace, name = "", u.Object
		}
		var o Copied
		err := r.retry(ctx, func(ctx context.Context) (err error) {
			o, err = r.one(ctx, types.NamespacedName{Namespace: namespace, Name: name})
			return err
		})
		if err != nil {
			return err
		}
		if len(o.Copies) > 0 || o.Unread != nil {
			if r.err = r.Take([]Copied{o}); r.err != nil {
				return r.err
			}
		}
	}
	return nil
}

// errStuck is that of a version at which no list is answered. The API server's cache for it has met an object that it cannot convert,
// and waits for it; a single object is not read from the cache.
var errStuck = errors.New("the API server's cache waits for an object that it cannot read")

func isStuck(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// isUnread reports whether a list is not answered because of an object in it.
func (r *copies) isUnread(err error) bool {
	return isBroken(err) || errors.Is(err, errStuck) || len(rewrite.Unreadable(err, r.resource())) > 0
}

func (r *copies) resource() schema.GroupResource {
	return schema.GroupResource{Group: r.CRD.Spec.Group, Resource: r.CRD.Spec.Names.Plural}
}

// named is a page at the first version at which it is answered; without one, why it is at none.
func (r *copies) named(ctx context.Context, opts metav1.ListOptions) (page *unstructured.UnstructuredList, why, err error) {
	from, err := positionOf(opts.Continue)
	if err != nil {
		return nil, nil, err
	}
	for _, version := range slices.Concat(r.Versions, Readable(r.CRD)) {
		asked := opts
		page, err = r.list(ctx, version, &asked)
		if isStuck(err) {
			asked = metav1.ListOptions{Limit: opts.Limit, Continue: position{from.Version, latest, cmp.Or(from.Start, "\x00")}.token()}
			page, err = r.list(ctx, version, &asked)
		}
		if !r.isUnread(err) {
			return page, nil, err
		}
		why = cmp.Or(why, err)
	}
	return nil, why, nil
}

// byName reads the objects of a page one at a time.
func (r *copies) byName(ctx context.Context, page *unstructured.UnstructuredList) (reading, error) {
	r.several = true
	got := reading{head: page, next: page.GetContinue()}
	for i := range page.Items {
		o, err := r.one(ctx, types.NamespacedName{Namespace: page.Items[i].GetNamespace(), Name: page.Items[i].GetName()})
		if err != nil {
			return reading{}, err
		}
		if len(o.Copies) > 0 || o.Unread != nil {
			got.objects = append(got.objects, o)
		}
	}
	return got, nil
}

// one reads an object at all versions, in the same state. It is empty if the object was deleted.
func (r *copies) one(ctx context.Context, key types.NamespacedName) (o Copied, err error) {
	for range tries {
		if o, err = r.once(ctx, key); !errors.Is(err, errMoved) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return Copied{}, nil
	}
	return o, err
}

func (r *copies) once(ctx context.Context, key types.NamespacedName) (o Copied, err error) {
	missed := &Unread{Object: strings.TrimPrefix(key.String(), "/")}
	for _, version := range r.Versions {
		r.at = version
		raw, err := r.objects.Whole(ctx, r.resource().WithVersion(version), key)
		if r.isUnread(err) {
			missed.At, missed.Why = append(missed.At, version), cmp.Or(missed.Why, plain(err))
			o.Unread = missed
			continue
		}
		found := &unstructured.Unstructured{}
		if err := cmp.Or(err, found.UnmarshalJSON(raw)); err != nil {
			return Copied{}, err
		}
		if len(o.Copies) > 0 && o.Copies[0].GetResourceVersion() != found.GetResourceVersion() {
			return Copied{}, errMoved
		}
		o.Copies = append(o.Copies, found)
	}
	return o, nil
}

// passed goes on behind objects that cannot be read at any version. Kubernetes names them from 1.37 on. Before, the last of those
// that stand together is looked for.
func (r *copies) passed(ctx context.Context, opts metav1.ListOptions, why error) (page reading, err error) {
	r.several = true
	from, err := positionOf(opts.Continue)
	if err != nil {
		return reading{}, why
	}
	last := ""
	for _, o := range rewrite.Unreadable(why, r.resource()) {
		if name := strings.TrimPrefix(o.NamespacedName.String(), "/"); name != "" {
			last = max(last, name)
			page.objects = append(page.objects, Copied{Unread: &Unread{Object: name, At: r.Versions, Why: o.Message}})
		}
	}
	if last == "" {
		if last, err = r.find(ctx, opts, from); err != nil || last == "" { // no list is answered, so it is not about one object
			return reading{}, cmp.Or(err, why)
		}
		page.objects = []Copied{{Unread: &Unread{Object: last, At: r.Versions, Why: plain(why) + passedOver(from.Start)}}}
	}
	from.Start = last + "\x00"
	page.next = from.token()
	return page, nil
}

// passedOver is what is not known of the objects before one that was found.
func passedOver(start string) string {
	if start == "" {
		return "; objects before it may be missing, too: Kubernetes before 1.37 names none that it cannot read"
	}
	return fmt.Sprintf("; objects between %s and it may be missing, too: Kubernetes before 1.37 names none that it cannot read", strings.TrimRight(start, "\x00"))
}

// nameCharacters are those of keys in etcd, in their order.
const nameCharacters = "-./0123456789abcdefghijklmnopqrstuvwxyz"

// find is the key of an object that keeps the page from being read: the last of those that stand together. A list from
// behind it is answered, which says nothing of a key that is further behind. So starts of lists are tried in the order of
// keys, those beside the last key that was read first. Where the name begins to differ is known then, and the rest of it is
// found a character at a time. It takes hundreds of requests, with long names some thousand.
func (r *copies) find(ctx context.Context, opts metav1.ListOptions, from position) (key string, err error) {
	behind := func(start string) bool { // reports whether the object is there, or behind it
		if start <= from.Start || err != nil {
			return err == nil
		}
		probe := opts
		probe.Continue = position{from.Version, from.Revision, start}.token()
		for _, version := range Readable(r.CRD) {
			_, failure := r.list(ctx, version, &probe)
			if !r.isUnread(failure) {
				err = failure
				return false
			}
		}
		return true
	}
	// below is a prefix and the first character, after some, behind whose keys a list is answered.
	below := func(prefix string, after int) (key string, found bool) {
		if prefix == "" || strings.HasSuffix(prefix, "/") {
			after = max(after, strings.Index(nameCharacters, "0")-1) // where a name begins, the others stand for a folder
		}
		for _, c := range nameCharacters[after+1:] {
			if key = prefix + string(c); !behind(key + "\x7f") {
				return key, true
			}
		}
		return "", false
	}
	last, found := strings.TrimRight(from.Start, "\x00"), false
	for at := len(last); at >= 0 && !found; at-- {
		after := -1
		if at < len(last) {
			after = strings.IndexByte(nameCharacters, last[at])
		}
		key, found = below(last[:at], after)
	}
	for found && behind(key+"\x00") {
		key, found = below(key, -1)
	}
	return key, err
}

// position is where a list goes on, as the API server has it in its tokens. "This is a public API struct and cannot change", it says
// (k8s.io/apiserver/pkg/storage/continue.go).
type position struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

// latest is the revision of a list that has none yet.
const latest = -1

func positionOf(token string) (p position, err error) {
	if token == "" {
		return position{Version: "meta.k8s.io/v1", Revision: latest}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	return p, err
}

func (p position) token() string {
	raw, _ := json.Marshal(p) // of strings and a number
	return base64.RawURLEncoding.EncodeToString(raw)
}
