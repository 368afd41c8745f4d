package rehearse

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/clusters/archive"
	"github.com/moult-dev/moult/cmd/moult/internal/engines"
	"github.com/moult-dev/moult/policies/conversion"
)

// inBackup are the objects of a backup, as they would be read in the cluster that it is of. They are at each version
// that they may be stored at and that is not to be the storage version.
func (r *command) inBackup(ctx context.Context, b *archive.Backup, s *engines.Subject, askers []engines.Asker, tally *conversion.Tally) (found bool, err error) {
	for i, named := range s.Engines {
		of := slices.IndexFunc(b.CRDs, func(of archive.CRDReport) bool { return of.Name == named.CRD })
		if of < 0 {
			continue
		}
		e, err := askers[i](b.Definitions[named.CRD])
		if err != nil {
			return false, err
		}
		found = true
		for _, version := range engines.StoredAt(b.Definitions[named.CRD], e, r.LabelKey) {
			if crds.IsHidden(b.Definitions[named.CRD], version) && !slices.Contains(b.CRDs[of].NotRead, version) {
				continue // no object's managedFields name it
			}
			if err := ofBackup(ctx, b, &b.CRDs[of], version, e, tally); err != nil {
				return false, err
			}
		}
	}
	return found, nil
}

func ofBackup(ctx context.Context, b *archive.Backup, of *archive.CRDReport, version string, e *conversion.Engine, tally *conversion.Tally) error {
	counts := tally.Begin(e, version, "")
	if !slices.Contains(of.Versions, version) {
		counts.NotRead("objects may be stored at " + version + ", which the backup was not read at")
		return nil
	}
	var page []map[string]any
	rehearse := func() {
		counts.Add(e.RehearseAll(ctx, page)...)
		page = page[:0]
	}
	for _, m := range of.MissingAt(version) {
		counts.Add(conversion.Outcome{Object: m.Object, From: version, Unknown: "the backup could not read it at " + version})
	}
	err := b.Each(func(o archive.Object) error {
		if o.CRD != of.Name || o.Copies[version] == nil {
			return nil
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(o.Copies[version]); err != nil {
			return err
		}
		if page = append(page, object.Object); len(page) == engines.PerPage {
			rehearse()
		}
		return ctx.Err()
	})
	if err == nil && len(page) > 0 {
		rehearse()
	}
	return err
}
