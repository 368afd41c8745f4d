package migrate

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
)

// eligible looks at all named CRDs before any of them is touched. If one of them cannot be migrated, errs says why, and
// the results of the others say that they were left alone.
func (m *command) eligible(ctx context.Context, names []string) (results []migrated, errs []error, err error) {
	cluster, err := m.Cluster()
	if err != nil {
		return nil, nil, err
	}
	results, errs = make([]migrated, len(names)), make([]error, len(names))
	for i, name := range names {
		crd, err := cluster.GetCRD(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			results[i], errs[i] = migrated{Name: name, Reason: "NotFound", Message: "there is no such CRD"}, &inspect.NoSuchCRD{Names: []string{name}}
		case err != nil:
			return nil, nil, fmt.Errorf("%w; nothing was written", cli.ReadError(err))
		case crd.Labels[m.LabelKey] != v1alpha1.MigrateLabelValue:
			message := fmt.Sprintf("the CRD does not carry the label %s: %q; add it to the CRD's manifest in Git", m.LabelKey, v1alpha1.MigrateLabelValue)
			results[i] = migrated{Name: name, Reason: "NotOptedIn", Message: message}
			errs[i] = cli.NotDone{Sentence: fmt.Sprintf("%s: NotOptedIn: %s; then run the same command again", name, message)}
		default:
			results[i] = migrated{Name: name, Reason: "NotStarted", Message: "left alone, because another CRD of this command cannot be migrated"}
		}
	}
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) && len(names) > 1 {
		fmt.Fprintln(m.ErrOut, "nothing was written, because not all of the named CRDs can be migrated")
	}
	return results, errs, nil
}
