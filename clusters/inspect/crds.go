package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/controllers/rewrite"
)

// crdsPerPage bounds memory: a CRD can be megabytes, nearly all of it schemas.
const crdsPerPage = 20

// ReadCRDs reads the named CRDs, or without names those that a label selector selects.
func (c *Cluster) ReadCRDs(ctx context.Context, names []string, selector string) iter.Seq2[*apiextensionsv1.CustomResourceDefinition, error] {
	if len(names) > 0 {
		return c.GetCRDs(ctx, names)
	}
	return c.ListCRDs(ctx, selector)
}

// ListCRDs reads the CRDs that a label selector selects, a page at a time.
func (c *Cluster) ListCRDs(ctx context.Context, selector string) iter.Seq2[*apiextensionsv1.CustomResourceDefinition, error] {
	return func(yield func(*apiextensionsv1.CustomResourceDefinition, error) bool) {
		enough := errors.New("the reader has enough")
		seen := map[string]bool{} // a list may start anew
		query := metav1.ListOptions{Limit: crdsPerPage, LabelSelector: selector}
		err := each(ctx, c, query, func() {}, c.crds.List, func(crd *apiextensionsv1.CustomResourceDefinition) error {
			if seen[crd.Name] {
				return nil
			}
			if seen[crd.Name] = true; !yield(crd, nil) {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}

// NoSuchCRD is the error of CRDs that the cluster does not have.
type NoSuchCRD struct{ Names []string }

func (e *NoSuchCRD) Error() string {
	return fmt.Sprintf("no such CRD: %s; a CRD's name is <plural>.<group>, and `kubectl get crd` lists them", strings.Join(e.Names, ", "))
}

// GetCRDs reads the named CRDs, one at a time. Those that do not exist are reported by a NoSuchCRD, after the others.
func (c *Cluster) GetCRDs(ctx context.Context, names []string) iter.Seq2[*apiextensionsv1.CustomResourceDefinition, error] {
	return func(yield func(*apiextensionsv1.CustomResourceDefinition, error) bool) {
		var missing []string
		for _, name := range names {
			crd, err := c.GetCRD(ctx, name)
			if apierrors.IsNotFound(err) {
				missing = append(missing, name)
				continue
			}
			if !yield(crd, err) || err != nil {
				return
			}
		}
		if len(missing) > 0 {
			yield(nil, &NoSuchCRD{Names: missing})
		}
	}
}

// GetCRD reads one CRD. An error that it does not exist is the API server's own.
func (c *Cluster) GetCRD(ctx context.Context, name string) (crd *apiextensionsv1.CustomResourceDefinition, err error) {
	err = c.retry(ctx, func(ctx context.Context) (err error) {
		if crd, err = c.crds.Get(ctx, name, metav1.GetOptions{}); err == nil && crd.ResourceVersion == "" {
			err = rewrite.ErrNoAnswer
		}
		return err
	})
	if apierrors.IsNotFound(err) && !rewrite.IsAbsent(err) { // API servers serve CRDs
		err = fmt.Errorf("reading CRD %s: a proxy before the API server answered 404: %v", name, err) //nolint:errorlint // not one that says that the CRD is not there
	}
	return crd, err
}

// CRDNames are those of the CRDs that a label selector selects. It reads metadata only.
func (c *Cluster) CRDNames(ctx context.Context, selector string) (names []string, err error) {
	crds := c.objects.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	query := metav1.ListOptions{Limit: defaultPageSize, LabelSelector: selector}
	err = each(ctx, c, query, func() { names = nil }, crds.List, func(crd *metav1.PartialObjectMetadata) error {
		names = append(names, crd.Name)
		return nil
	})
	return names, err
}

// Readable are the versions to read objects at: the storage version first, since most need no conversion then.
func Readable(crd *apiextensionsv1.CustomResourceDefinition) (versions []string) {
	for _, v := range crd.Spec.Versions {
		switch {
		case !v.Served:
		case v.Storage:
			versions = append([]string{v.Name}, versions...)
		default:
			versions = append(versions, v.Name)
		}
	}
	return versions
}

// withoutSchemas drops nearly all of a CRD's bytes before it is kept.
func withoutSchemas(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil
	}
	return crd
}
