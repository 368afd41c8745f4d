package inspect

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// Readable are the versions that a CRD serves: the storage version first.
func Readable(crd *apiextensionsv1.CustomResourceDefinition) []string { return readable(crd) }

// errMoved is that of a page whose objects were written between two readings of it.
var errMoved = errors.New("the objects are written faster than they can be read at all versions; try again when less is written")

// EachCopy hands over each object of a CRD as it is read at each of some versions, at one resourceVersion, which it returns. It needs
// memory for a page. A list that takes longer than the API server keeps its past goes on with the objects as they are then: the
// resourceVersion is empty.
func (c *Cluster) EachCopy(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string, tell func(Progress), take func([]*unstructured.Unstructured) error) (resourceVersion string, err error) {
	r := &copies{Cluster: c, crd: crd, versions: versions, tell: tell, take: take}
	err = c.pages(ctx, metav1.ListOptions{Limit: copiesPerPage}, func() { r.err = errMoved }, r.page)
	switch {
	case r.err != nil:
		return "", r.err
	case err != nil && ctx.Err() == nil:
		return "", fmt.Errorf("%s, at %s", unread(err, "the objects of "+crd.Name, "list on "+crd.Spec.Names.Plural+" in "+crd.Spec.Group), r.at)
	}
	if r.several {
		r.resourceVersion = ""
	}
	return r.resourceVersion, err
}

// copies reads the objects of a CRD.
type copies struct {
	*Cluster
	crd             *apiextensionsv1.CustomResourceDefinition
	versions        []string
	tell            func(Progress)
	take            func([]*unstructured.Unstructured) error
	at              string // the version that is read
	resourceVersion string
	several         bool
	done            int64
	err             error // of the reader's own, or of take
}

// page reads one page at all versions, and hands it over.
func (r *copies) page(ctx context.Context, opts metav1.ListOptions) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	all, err := r.readings(ctx, opts)
	for try := 0; errors.Is(err, errMoved) && try < tries; try++ {
		all, err = r.readings(ctx, opts)
	}
	if err != nil {
		return "", err
	}
	first := all[0]
	for i := range first.Items {
		object := make([]*unstructured.Unstructured, len(all))
		for v := range all {
			object[v] = &all[v].Items[i]
		}
		if r.err = r.take(object); r.err != nil {
			return "", r.err
		}
	}
	r.several = r.several || r.resourceVersion != "" && r.resourceVersion != first.GetResourceVersion()
	r.resourceVersion = first.GetResourceVersion()
	r.progress(first)
	return first.GetContinue(), nil
}

func (r *copies) progress(page *unstructured.UnstructuredList) {
	if r.done += int64(len(page.Items)); r.done > copiesPerPage || page.GetContinue() != "" {
		total := r.done
		if rest := page.GetRemainingItemCount(); rest != nil {
			total += *rest
		}
		r.tell(Progress{CRD: r.crd.Name, Done: r.done, Total: total})
	}
}

// readings are those of one page. What continues a list leads to the same objects at each version, as it names a key in
// etcd and a revision. The first page is asked for at the revision that its first reading had.
func (r *copies) readings(ctx context.Context, opts metav1.ListOptions) (all []*unstructured.UnstructuredList, err error) {
	for i, version := range r.versions {
		r.at = version
		if i == 1 && opts.Continue == "" {
			opts.ResourceVersion, opts.ResourceVersionMatch = all[0].GetResourceVersion(), metav1.ResourceVersionMatchExact
		}
		resource := schema.GroupVersionResource{Group: r.crd.Spec.Group, Version: version, Resource: r.crd.Spec.Names.Plural}
		page, err := r.objects.WholePage(ctx, resource, opts, wholePageBytes)
		if opts.Continue == "" && apierrors.IsResourceExpired(err) {
			return nil, errMoved
		}
		if err != nil {
			return nil, err
		}
		if i > 0 && !sameObjects(all[0], page) {
			return nil, errMoved
		}
		all = append(all, page)
	}
	return all, nil
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
