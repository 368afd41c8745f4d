package inspect

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/policies/snapshot"
	"github.com/moult-dev/moult/policies/survivors"
)

// takeCRDs reads the CRDs, and the objects of those that matter. The metrics are read in between, so that they do not count
// the lists of this very snapshot.
func (t *taker) takeCRDs(ctx context.Context) error {
	read := t.listed
	if len(t.Named) > 0 {
		read = t.named
	}
	found, err := read(ctx)
	if err != nil {
		return err
	}
	for _, crd := range found {
		t.CRDs = append(t.CRDs, crd.CRD)
		t.targets = append(t.targets, crd.target)
	}
	t.takeMetrics(ctx)
	for i := range found {
		if found[i].worthALook(t.Named) {
			t.CRDs[i].Objects = t.takeObjects(ctx, found[i])
			t.CRDs[i].Fields = t.takeFields(ctx, found[i])
		}
	}
	return ctx.Err()
}

// seen is a CRD as the snapshot has it, and how its objects are asked for.
type seen struct {
	snapshot.CRD
	group, plural string
	readable      []string // versions
	target        survivors.Target
	whole         *apiextensionsv1.CustomResourceDefinition // with its schemas, if they are needed
}

// worthALook reports whether the objects have to be looked through. The single version of a CRD that is not asked about
// is not going to leave.
func (s seen) worthALook(named []string) bool {
	return len(s.Versions) > 1 || len(s.StoredVersions) > 1 || s.OptedIn || slices.Contains(named, s.Name)
}

func (t *taker) see(crd *apiextensionsv1.CustomResourceDefinition) seen {
	found := seen{CRD: t.DescribeCRD(crd), group: crd.Spec.Group, plural: crd.Spec.Names.Plural, readable: Readable(crd),
		target: survivors.TargetOf(crd, nil, nil)}
	if t.opts.Fields {
		found.whole = crd.DeepCopy()
	}
	return found
}

// listed reads all CRDs. What has been read before an error is kept, and the error noted.
func (t *taker) listed(ctx context.Context) (found []seen, err error) {
	for crd, err := range t.ListCRDs(ctx, "") {
		if err != nil {
			return found, t.missCRDs(snapshot.CRDs, "", "the list of CRDs", "list", err)
		}
		found = append(found, t.see(crd))
	}
	return found, nil
}

// named reads the named CRDs. One that does not exist is in Named and not in CRDs.
func (t *taker) named(ctx context.Context) (found []seen, err error) {
	for _, name := range t.Named {
		crd, err := t.GetCRD(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			if err := t.missCRDs(snapshot.OneCRD, name, "the CRD "+name, "get", err); err != nil {
				return nil, err
			}
		default:
			found = append(found, t.see(crd))
		}
	}
	return found, nil
}

// missCRDs notes that CRDs could not be read, if there was an answer at all.
func (t *taker) missCRDs(what snapshot.What, crd, words, verb string, err error) error {
	if !answered(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	t.miss(what, crd, words, allow(apiextensionsv1.GroupName, "customresourcedefinitions", verb), err)
	return nil
}
