package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// copiesPerPage is how many objects are read at a time. Pages with large ones are shorter.
const copiesPerPage = 50

// UID is what identifies a cluster: that of its namespace kube-system. It is empty if that may not be read.
func (c *Cluster) UID(ctx context.Context) types.UID {
	namespace, err := c.core.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return namespace.UID
}

// errMoved is that of a page whose objects were written between two readings of it.
var errMoved = errors.New("the objects are written faster than they can be read at all versions; try again when less is written")

// Copies is how the objects of a CRD are read at several versions.
type Copies struct {
	CRD      *apiextensionsv1.CustomResourceDefinition
	Versions []string
	Tell     func(Progress)
	// Restart hears that all objects come once more; without it, a list that has to start anew is an error.
	Restart func()
	// Take gets all objects, a page at a time.
	Take func(page []Copied) error
}

// Copied is an object at each version at which it can be read. Unread says at which it cannot, and why; nil for none.
type Copied struct {
	Copies []*unstructured.Unstructured
	Unread *Unread
}

// EachCopy hands over each object of a CRD as it is read at each of some versions, at one resourceVersion, which it returns. It needs
// memory for a page. A list that takes longer than the API server keeps its past goes on with the objects as they are then: the
// resourceVersion is empty. An object that cannot be read, or not be converted, keeps no other from being read.
func (c *Cluster) EachCopy(ctx context.Context, of Copies) (resourceVersion string, err error) {
	r := &copies{Cluster: c, Copies: of, stuck: map[string]bool{}}
	err = c.pages(ctx, metav1.ListOptions{Limit: copiesPerPage}, r.restart, r.page)
	if err == nil {
		err = r.again(ctx)
	}
	switch {
	case r.err != nil:
		return "", r.err
	case err != nil && ctx.Err() == nil:
		return "", fmt.Errorf("%s, at %s", unread(err, "the objects of "+r.CRD.Name, "list on "+r.CRD.Spec.Names.Plural+" in "+r.CRD.Spec.Group), r.at)
	}
	if r.several {
		r.resourceVersion = ""
	}
	return r.resourceVersion, err
}

// copies reads the objects of a CRD.
type copies struct {
	*Cluster
	Copies

	at              string // the version that is read
	resourceVersion string
	several         bool
	done            int64
	stuck           map[string]bool // versions with a cache that is
	unread          []Unread        // that are asked for once more at the end
	inARow          int             // objects that could not be read
	err             error           // of the reader's own, or of take
}

func (r *copies) restart() {
	if r.done, r.unread = 0, nil; r.Restart == nil {
		r.err = errMoved
		return
	}
	r.Restart()
}

// reading is one page. What heads it is nil if nothing of the page can be read.
type reading struct {
	head    *unstructured.UnstructuredList
	next    string
	objects []Copied
}

// page reads one page at all versions, and hands it over.
func (r *copies) page(ctx context.Context, opts metav1.ListOptions) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	got, err := r.read(ctx, opts)
	for try := 0; errors.Is(err, errMoved) && try < tries; try++ {
		got, err = r.read(ctx, opts)
	}
	if err != nil {
		return "", err
	}
	got.objects = slices.DeleteFunc(got.objects, r.postpone)
	if r.inARow > mostUnread {
		r.err = fmt.Errorf("%d objects of %s in a row cannot be read, the last of them %s", r.inARow, r.CRD.Name, r.unread[len(r.unread)-1])
	} else {
		r.err = r.Take(got.objects)
	}
	if r.err != nil {
		return "", r.err
	}
	r.progress(got)
	return got.next, nil
}

func (r *copies) progress(page reading) {
	r.done += int64(len(page.objects))
	if page.head == nil {
		return
	}
	r.several = r.several || r.resourceVersion != "" && r.resourceVersion != page.head.GetResourceVersion()
	r.resourceVersion = page.head.GetResourceVersion()
	if r.done > copiesPerPage || page.next != "" {
		total := r.done
		if rest := page.head.GetRemainingItemCount(); rest != nil {
			total += *rest
		}
		r.Tell(Progress{CRD: r.CRD.Name, Done: r.done, Total: total})
	}
}

// read reads a page. One that is not answered at some version, because of an object in it, is read an object at a time.
func (r *copies) read(ctx context.Context, opts metav1.ListOptions) (reading, error) {
	all, err := r.readings(ctx, opts)
	if !r.isUnread(err) {
		return together(all), err
	}
	page, why, err := r.named(ctx, opts)
	switch {
	case err != nil:
		return reading{}, err
	case page != nil:
		return r.byName(ctx, page)
	case opts.Limit > 1:
		return reading{}, rewrite.ErrPageTooLarge // a smaller one may be answered
	}
	return r.passed(ctx, opts, why)
}

func together(all []*unstructured.UnstructuredList) (page reading) {
	if len(all) == 0 {
		return reading{}
	}
	page.head, page.next = all[0], all[0].GetContinue()
	for i := range all[0].Items {
		object := make([]*unstructured.Unstructured, len(all))
		for v := range all {
			object[v] = &all[v].Items[i]
		}
		page.objects = append(page.objects, Copied{Copies: object})
	}
	return page
}

// readings are those of one page. What continues a list leads to the same objects at each version, as it names a key in
// etcd and a revision. The first page is asked for at the revision that its first reading had.
func (r *copies) readings(ctx context.Context, opts metav1.ListOptions) (all []*unstructured.UnstructuredList, err error) {
	for _, version := range r.Versions {
		if r.stuck[version] {
			return nil, errStuck
		}
		page, err := r.list(ctx, version, &opts)
		if r.stuck[version] = isStuck(err); isStuck(err) {
			return nil, errStuck
		}
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && !sameObjects(all[0], page) {
			return nil, errMoved
		}
		all = append(all, page)
	}
	return all, nil
}

// list is a page at a version. Those after it, at other versions, are of the same revision.
func (r *copies) list(ctx context.Context, version string, opts *metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	r.at = version
	page, err := r.objects.WholePage(ctx, r.resource().WithVersion(version), *opts, wholePageBytes)
	switch {
	case opts.Continue == "" && apierrors.IsResourceExpired(err):
		return nil, errMoved
	case err == nil && opts.Continue == "":
		opts.ResourceVersion, opts.ResourceVersionMatch = page.GetResourceVersion(), metav1.ResourceVersionMatchExact
	}
	return page, err
}

// sameObjects reports whether two readings are of the same objects in the same state.
func sameObjects(a, b *unstructured.UnstructuredList) bool {
	if len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if a.Items[i].GetUID() != b.Items[i].GetUID() || a.Items[i].GetResourceVersion() != b.Items[i].GetResourceVersion() {
			return false
		}
	}
	return true
}
