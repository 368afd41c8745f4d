package engines

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/words"
)

// Live is a cluster whose objects are rehearsed.
type Live struct {
	*inspect.Cluster
	// LabelKey is the opt-in label, and Called the cluster's name in the report.
	LabelKey, Called string
	// Tell hears how far it is.
	Tell func(inspect.Progress)
}

// Rehearse reads all objects of a CRD at each version that they may be stored at and that is not to be the storage version. Only
// there all that is stored can be seen. If there is none, they are read at the storage version.
func (l Live) Rehearse(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, tally *conversion.Tally) {
	l.RehearseAt(ctx, crd, StoredAt(crd, e, l.LabelKey), e, tally)
}

// RehearseAt reads them at the versions that are named.
func (l Live) RehearseAt(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string, e *conversion.Engine, tally *conversion.Tally) {
	for _, version := range versions {
		if crds.IsHidden(crd, version) {
			l.hidden(ctx, crd, version, e, tally)
			continue
		}
		of := tally.Begin(e, version, l.Called)
		if v := crds.Version(crd, version); v == nil || !v.Served {
			of.NotRead(fmt.Sprintf("objects may be stored at %s, which the cluster does not serve, so what they have there cannot be read", version))
			continue
		}
		if err := l.at(ctx, crd, version, e, of); err != nil {
			of.NotRead(err.Error())
		}
	}
}

// at rehearses the objects as they are read at a version. One that cannot be read is not known, and the others go on.
func (l Live) at(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, e *conversion.Engine, of *conversion.Counts) error {
	_, err := l.EachCopy(ctx, inspect.Copies{CRD: crd, Versions: []string{version}, Tell: l.Tell, Restart: of.Restart, Take: func(page []inspect.Copied) error {
		var objects []map[string]any
		for _, o := range page {
			if o.Unread == nil {
				objects = append(objects, o.Copies[0].Object)
				continue
			}
			of.Add(conversion.Outcome{Object: o.Unread.Object, From: version, Unknown: "it cannot be read at " + version + ": " + o.Unread.Why})
		}
		for batch := range slices.Chunk(objects, PerPage) {
			of.Add(e.RehearseAll(ctx, batch)...)
		}
		return ctx.Err()
	}})
	return err
}

// hidden looks at the managedFields of objects for those that may be stored at a version at which they cannot be read.
func (l Live) hidden(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, e *conversion.Engine, tally *conversion.Tally) {
	readable, may := inspect.Readable(crd), 0
	if len(readable) == 0 {
		tally.Begin(e, version, l.Called).NotRead(fmt.Sprintf("objects may be stored at %s, and the cluster serves no version", version))
		return
	}
	err := l.EachPage(ctx, crd, readable[0], func() { may = 0 }, l.Tell, func(page []map[string]any) {
		for _, object := range page {
			if crds.WrittenAt(crd, (&unstructured.Unstructured{Object: object}).GetManagedFields(), version) {
				may++
			}
		}
	})
	switch {
	case err != nil:
		tally.Begin(e, version, l.Called).NotRead(err.Error())
	case may > 0:
		tally.Begin(e, version, l.Called).NotRead(notServed(version, may))
	}
}

func notServed(version string, objects int) string {
	return fmt.Sprintf("%s may be stored at %s, as their managedFields show, and it is not served, so what they have there cannot be read", words.Count(objects, "object"), version)
}

// StoredAt are the versions to read objects at: see Rehearse.
func StoredAt(crd *apiextensionsv1.CustomResourceDefinition, e *conversion.Engine, labelKey string) []string {
	stored := slices.DeleteFunc(crds.MayBeStoredAt(crd, labelKey), func(v string) bool { return v == e.Storage })
	if len(stored) == 0 {
		return []string{e.Storage}
	}
	return stored
}
