package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/clusters/inspect"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// explain says what to do about a CRD that could not be migrated. Errors that may be gone the next time end with
// otherwise.
func explain(name string, err error, otherwise string) error {
	blocked := (*migration.Blocked)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &blocked):
		return blockedBy(blocked)
	case errors.Is(err, migration.ErrNotFound):
		return &inspect.NoSuchCRD{Names: []string{name}}
	case cli.IsImpersonationRefused(err):
		return fmt.Errorf("%s: %w", name, cli.ImpersonationError(err))
	case rewrite.IsDenied(err):
		return fmt.Errorf("%s: %w; %s", name, err, cmp.Or(cli.WhoMayWrite(err.Error()), "let the policy or webhook pass what Moult writes, or name a user that it lets pass with --as"))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: %w; migrating needs get on customresourcedefinitions, patch on customresourcedefinitions/status, get on apiservices, and get, list and patch on the objects", name, err)
	default:
		return fmt.Errorf("%s: %w%s", name, cli.ReadError(err), otherwise)
	}
}

// blockedBy is the news of a CRD that a person has to do something about, with the objects that failed below it.
func blockedBy(b *migration.Blocked) cli.NotDone {
	sentence := onceOnly(b.Sentence)
	if counts, ok := v1alpha1.ParseProgress(b.Sentence); ok && b.Reason == v1alpha1.ReasonObjectsFailed {
		details := b.Failures
		if more := counts.Failed - int64(len(details)); more > 0 {
			details = append(details[:len(details):len(details)], fmt.Sprintf("and %d more", more))
		}
		return cli.NotDone{
			Sentence: fmt.Sprintf("%s: %s: %d of %d objects cannot be rewritten; fix them, or what refuses them, then run the same command again",
				b.CRD, b.Reason, counts.Failed, counts.Total),
			Details: details,
		}
	}
	if !strings.HasPrefix(strings.ToLower(sentence), strings.ToLower(b.Reason)) {
		sentence = b.Reason + ": " + sentence
	}
	next := cmp.Or(cli.WhoMayWrite(sentence), "then run the same command again")
	return cli.NotDone{Sentence: fmt.Sprintf("%s: %s; %s", b.CRD, sentence, next)}
}

// onceOnly drops from a controller's sentence what only a controller does.
func onceOnly(sentence string) string {
	return strings.NewReplacer(" and tried again with growing pauses", "", "; trying again with growing pauses", "").Replace(sentence)
}

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
