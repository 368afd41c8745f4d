package inspect

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/policies/survivors"
)

// Owners reports from which versions of the named CRDs, or without names of those that a label selector selects, owner
// references are to be moved. They are those that are asked for, else those that LeavingVersions reports, and all that
// the CRD does not serve. The note is as there.
func (c *Cluster) Owners(ctx context.Context, names []string, selector string, asked []string) (targets []owners.Target, from []survivors.From, note string, err error) {
	removals, note := c.leaving(ctx, names, asked)
	for crd, err := range c.ReadCRDs(ctx, names, selector) {
		if err != nil {
			return nil, nil, "", err
		}
		leaving := survivors.TargetOf(crd, asked, removals)
		target, err := ownerOf(crd, leaving)
		if err != nil {
			return nil, nil, "", err
		}
		targets, from = append(targets, target), append(from, leaving.From)
	}
	return targets, from, note, ctx.Err()
}

// ownerOf refuses a CRD whose storage version references cannot name.
func ownerOf(crd *apiextensionsv1.CustomResourceDefinition, leaving survivors.Target) (owners.Target, error) {
	t := owners.Target{
		CRD: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, Storage: crds.StorageVersion(crd),
		Leaving: leaving.Leaving, Served: crds.Served(crd), Unserved: leaving.From != survivors.Asked,
	}
	if !slices.Contains(Readable(crd), t.Storage) {
		return t, fmt.Errorf("%s: its storage version %s is not served, so the garbage collector would find no owner at it; serve it first", crd.Name, t.Storage)
	}
	if leaves := slices.Contains(t.Leaving, t.Storage); leaves && leaving.From == survivors.Asked {
		return t, fmt.Errorf("%s: %s is the storage version, which references are moved to; make another version the storage version first", crd.Name, t.Storage)
	}
	t.Leaving = slices.DeleteFunc(slices.Clone(t.Leaving), func(version string) bool { return version == t.Storage })
	return t, nil
}

// Resources are all of which objects are stored and can be listed, at the versions that the API server prefers, and why those of
// some groups are not known.
func (c *Cluster) Resources() (all []schema.GroupVersionResource, unseen map[string]string, err error) {
	found, unseen, err := c.resources()
	for _, r := range slices.DeleteFunc(found, isComputed) {
		all = append(all, r.at)
	}
	return all, unseen, err
}

// Pages lists objects, or their metadata.
type Pages struct {
	*Cluster
	// Tell is called after each page of a list that is longer.
	Tell func(Progress)
}

// EachPage is an owners.Lister.
func (p Pages) EachPage(ctx context.Context, at schema.GroupVersionResource, take func([]metav1.PartialObjectMetadata)) (why string, err error) {
	list := p.objects.Resource(at).List
	return p.each(ctx, at, defaultPageSize, func(asked context.Context, opts metav1.ListOptions) (metav1.ListInterface, int, error) {
		page, err := list(asked, opts)
		if err != nil {
			return nil, 0, err
		}
		take(page.Items)
		return page, len(page.Items), nil
	})
}

// EachObject is an embeddedcopies.Lister.
func (p Pages) EachObject(ctx context.Context, at schema.GroupVersionResource, take func(*unstructured.Unstructured)) (why string, err error) {
	return p.each(ctx, at, wholePerPage, func(asked context.Context, opts metav1.ListOptions) (page metav1.ListInterface, n int, err error) {
		err = p.objects.Unpacking().TakePage(asked, at, opts, wholePageBytes, func(read *unstructured.UnstructuredList) {
			for i := range read.Items {
				take(&read.Items[i])
			}
			page, n = read, len(read.Items)
		})
		return page, n, err
	})
}

// each goes through the pages of a resource, so many objects at a time, and reports how far it is.
func (p Pages) each(ctx context.Context, at schema.GroupVersionResource, size int64, next func(context.Context, metav1.ListOptions) (metav1.ListInterface, int, error)) (why string, err error) {
	r := listed{Resource: survivors.Resource{GroupResource: at.GroupResource()}, at: at}
	n := int64(0)
	err = p.pages(ctx, metav1.ListOptions{Limit: size}, func() { n = 0 }, func(asked context.Context, opts metav1.ListOptions) (string, error) {
		page, taken, err := next(asked, opts)
		if err != nil {
			return "", err
		}
		n += int64(taken)
		if rest := page.GetRemainingItemCount(); p.Tell != nil && (rest != nil || n > size) {
			total := n
			if rest != nil {
				total += *rest
			}
			p.Tell(Progress{CRD: r.String(), Done: n, Total: total})
		}
		return page.GetContinue(), ctx.Err()
	})
	if err != nil {
		why = unread(err, r.String(), r.permission("list"))
	}
	return why, err
}
