package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/doctor"
)

// lookAtObjects reads the metadata of all objects of a CRD. It finds what is being deleted, how many lie in each
// Namespace, and because of which ones the API server answers no list.
func (c *Cluster) lookAtObjects(ctx context.Context, crd *doctor.ExaminedCRD) {
	versions := Readable(crd.CustomResourceDefinition)
	if len(versions) == 0 {
		objectsNotRead(crd, fmt.Sprintf("the objects of %s could not be read: no version of it is served", crd.Name))
		return
	}
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: versions[0], Resource: crd.Spec.Names.Plural}
	var last string
	var asked metav1.ListOptions
	list := func(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
		asked = opts
		return c.objects.Resource(resource).List(ctx, opts)
	}
	restart := func() { last, crd.Terminating.Value, crd.In.Value = "", nil, map[string]int{} }
	restart()
	err := each(ctx, c, metav1.ListOptions{Limit: defaultPageSize}, restart, list, func(o *metav1.PartialObjectMetadata) error {
		last = nameOf(o)
		crd.In.Value[o.Namespace]++
		if o.DeletionTimestamp != nil {
			crd.Terminating.Value = append(crd.Terminating.Value, doctor.Terminating{Name: last, Since: o.DeletionTimestamp.Time, Finalizers: o.Finalizers})
		}
		return nil
	})
	if err == nil {
		return
	}
	objectsNotRead(crd, unread(err, "the objects of "+crd.Name, fmt.Sprintf("list on %s in %s", resource.Resource, resource.Group)))
	crd.Unreadable.Value = c.unreadable(ctx, resource, asked, last, err)
	if len(crd.Unreadable.Value) > 0 {
		crd.Unreadable.Not = ""
	}
}

func objectsNotRead(crd *doctor.ExaminedCRD, why string) {
	crd.Terminating.Not, crd.In.Not, crd.Unreadable.Not = why, why, why
}

// unreadable are the objects because of which a page is not answered.
func (c *Cluster) unreadable(ctx context.Context, resource schema.GroupVersionResource, asked metav1.ListOptions, last string, err error) (all []doctor.Unreadable) {
	for _, o := range rewrite.Unreadable(err, resource.GroupResource()) {
		all = append(all, doctor.Unreadable{Name: strings.TrimPrefix(o.NamespacedName.String(), "/"), Why: o.Message})
	}
	if len(all) > 0 || !isBroken(err) {
		return all
	}
	return c.unnamed(ctx, resource, asked, last, err)
}

// unnamed is the first object because of which a page is not answered, on Kubernetes before 1.37, which does not name
// it. It is the one behind those of the longest page that is answered.
func (c *Cluster) unnamed(ctx context.Context, resource schema.GroupVersionResource, asked metav1.ListOptions, last string, err error) []doctor.Unreadable {
	shorter := asked
	for answered, refused := int64(0), asked.Limit; answered+1 < refused; {
		shorter.Limit = min((answered+refused)/2, max(1, 2*answered))
		page, failure := c.objects.Resource(resource).List(ctx, shorter)
		switch {
		case failure == nil && page.Continue != "":
			answered, last = shorter.Limit, nameOf(&page.Items[len(page.Items)-1])
		case isBroken(failure):
			refused = shorter.Limit
		default:
			return nil // it is something else, or it has passed
		}
	}
	return []doctor.Unreadable{{Behind: last, Why: plain(err)}}
}

// isBroken is whether an answer is that of an API server that cannot read an object, or has some other trouble that it has no
// reason for.
func isBroken(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		(status.Status().Reason == "" || status.Status().Reason == metav1.StatusReasonInternalError)
}
