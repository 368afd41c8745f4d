package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/plan"
	"github.com/moult-dev/moult/controllers/rewrite"
)

// mayLose are the versions of which a CRD allows ownership to be lost.
func mayLose(annotations map[string]string) []string {
	versions := strings.FieldsFunc(annotations[v1alpha1.AllowOwnershipLossAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(versions)
	return versions
}

// waitingOf are the versions that entries of managedFields were left at.
func waitingOf(t rewrite.Result) (versions []string) {
	for _, l := range t.Losses {
		if l.Waits && !slices.Contains(versions, l.Version) {
			versions = append(versions, l.Version)
		}
	}
	return versions
}

func lossesOf(t rewrite.Result) []plan.Loss {
	losses := make([]plan.Loss, len(t.Losses))
	for i, l := range t.Losses {
		losses[i] = plan.Loss{
			Manager: managerOf(l.Manager, l.Operation, l.Subresource), Version: l.Version, Waits: l.Waits,
			Objects: l.Objects, Fields: l.Fields, Field: l.Field, Object: l.Object.String(), Why: l.Why,
		}
	}
	return losses
}

// managerOf is a field manager in words.
func managerOf(manager, operation, subresource string) string {
	if subresource != "" {
		return fmt.Sprintf("%s (%s of %s)", manager, operation, subresource)
	}
	return fmt.Sprintf("%s (%s)", manager, operation)
}

// lossesAfter are the losses once another walk has ended: what it has cost is kept
// for good, since no later walk sees it, and what it has left alone until the next
// walk has looked.
func lossesAfter(before, now []plan.Loss) []plan.Loss {
	after := slices.DeleteFunc(slices.Clone(before), func(l plan.Loss) bool { return l.Waits })
	for _, loss := range now {
		same := slices.IndexFunc(after, func(o plan.Loss) bool {
			return !o.Waits && !loss.Waits && o.Manager == loss.Manager && o.Version == loss.Version
		})
		if same < 0 {
			after = append(after, loss)
			continue
		}
		after[same].Objects += loss.Objects
		after[same].Fields += loss.Fields
	}
	return after
}
