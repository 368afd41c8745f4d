package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/words"
)

// InTree is what is known of Kubernetes' own migrator at work on a CRD. It ends without a word where it was stopped, or may not
// write the CRD's status: then the condition StorageMigrating stays True for ever.
type InTree struct {
	// Running: the condition StorageMigrating is True.
	Running bool
	// Migrations are the StorageVersionMigrations of the CRD; nil if they could not be read.
	Migrations []StorageVersionMigration
	// Since is when the condition, or what the migrator writes into one of these, last changed, and Begun is when it was first
	// seen at work. Both are by our own clock.
	Since, Begun time.Time
}

const (
	// inTreePatience is how long the in-tree migrator may make no progress that could be seen.
	inTreePatience = 10 * time.Minute
	// inTreeLimit is how long it may take where its progress cannot be seen.
	inTreeLimit = time.Hour
	// inTreeMost is how long it may take whatever it shows: others than the migrator can write what looks like progress.
	inTreeMost = 6 * time.Hour
	// inTreeLook is how often it is looked at.
	inTreeLook = 30 * time.Second
)

// StorageVersionMigration is a request to the in-tree migrator, or to kube-storage-version-migrator, whose API is the same.
type StorageVersionMigration struct {
	Name     string
	Resource schema.GroupResource
	// Progress is a digest of all that the migrator writes into it. Annotations and the like are anybody's.
	Progress string
	// Ended is Succeeded or Failed, empty while it has not ended, and Message is what was said about it last.
	Ended, Message string
	// Changed is when its last condition changed, by the clock of its controller.
	Changed time.Time
}

// Failed is the condition of a StorageVersionMigration that has failed.
const Failed = "Failed"

// MigrationOf reads a StorageVersionMigration of any API version.
func MigrationOf(object *unstructured.Unstructured) StorageVersionMigration {
	resource, _, _ := unstructured.NestedStringMap(object.Object, "spec", "resource")
	m := StorageVersionMigration{
		Name: object.GetName(), Progress: progress(object),
		Resource: schema.GroupResource{Group: resource["group"], Resource: resource["resource"]},
		Changed:  object.GetCreationTimestamp().UTC(),
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		kind, _ := c["type"].(string)
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"])); err == nil && at.After(m.Changed) {
			m.Changed = at.UTC()
		}
		if (kind == "Succeeded" || kind == Failed) && c["status"] == "True" {
			m.Ended = kind
			message, _ := c["message"].(string)
			m.Message = words.Clip(message, words.MostQuoted)
		}
	}
	return m
}

// progress is the status, and where kube-storage-version-migrator keeps the place that it has come to. Both may be as long as an
// object, so a digest of them is kept.
func progress(object *unstructured.Unstructured) string {
	token, _, _ := unstructured.NestedString(object.Object, "spec", "continueToken")
	digest := sha256.New()
	_, _ = fmt.Fprint(digest, token, object.Object["status"]) // a digest takes all
	return hex.EncodeToString(digest.Sum(nil))
}

// over says in half a sentence why the in-tree migrator is no longer waited for; empty if it is.
func (t InTree) over(now time.Time) string {
	idle := now.Sub(t.Since)
	underWay := slices.IndexFunc(t.Migrations, func(m StorageVersionMigration) bool { return m.Ended == "" })
	switch {
	case !t.Running:
		return ""
	case t.Migrations == nil && now.Sub(t.Begun) < inTreeLimit:
		return ""
	case t.Migrations == nil:
		return "has not ended in an hour, and Moult may not see how far it is"
	case len(t.Migrations) == 0:
		return "has no StorageVersionMigration for this CRD"
	case underWay < 0:
		last := slices.MaxFunc(t.Migrations, func(a, b StorageVersionMigration) int {
			return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.Name, b.Name))
		})
		return fmt.Sprintf("has ended (StorageVersionMigration %s: %s)", last.Name, cmp.Or(strings.TrimSpace(last.Ended+" "+last.Message), last.Ended))
	case now.Sub(t.Begun) >= inTreeMost:
		return fmt.Sprintf("has not ended in six hours (StorageVersionMigration %s)", t.Migrations[underWay].Name)
	case idle >= inTreePatience:
		return fmt.Sprintf("has made no progress for ten minutes (StorageVersionMigration %s)", t.Migrations[underWay].Name)
	default:
		return ""
	}
}

// besides adds why the in-tree migrator is not waited for.
func (t InTree) besides(d Decision, now time.Time) Decision {
	if why := t.over(now); why != "" && d.Reason != "" && d.Reason != v1alpha1.ReasonPaused {
		d.Sentence += fmt.Sprintf("; Kubernetes' own migrator %s although the condition %s is True, so Moult does not wait for it", why, v1alpha1.StorageMigrating)
	}
	return d
}
