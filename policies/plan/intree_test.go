package plan

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
)

func TestHowLongTheInTreeMigratorIsWaitedFor(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	running := StorageVersionMigration{Name: "widgets", Changed: ago(time.Hour)}
	failed := StorageVersionMigration{Name: "widgets", Ended: Failed, Message: "2/4 not yet migrated", Changed: ago(time.Minute)}
	succeeded := StorageVersionMigration{Name: "again", Ended: "Succeeded", Changed: ago(2 * time.Minute)}
	const on = "; Kubernetes' own migrator "
	for name, c := range map[string]struct {
		InTree

		goesOn string
	}{
		"one that is at work":                     {InTree{true, []StorageVersionMigration{running}, ago(time.Minute), ago(time.Hour - 1)}, ""},
		"for almost ten minutes without progress": {InTree{true, []StorageVersionMigration{running}, ago(10*time.Minute - 1), ago(time.Hour - 1)}, ""},
		"for ten minutes without progress":        {InTree{true, []StorageVersionMigration{running}, ago(10 * time.Minute), ago(time.Hour - 1)}, on + "has made no progress for ten minutes (StorageVersionMigration widgets) although"},
		"one that has failed":                     {InTree{true, []StorageVersionMigration{failed}, now, ago(time.Hour - 1)}, on + "has ended (StorageVersionMigration widgets: Failed 2/4 not yet migrated) although"},
		"the last one has failed":                 {InTree{true, []StorageVersionMigration{succeeded, failed}, now, ago(time.Hour - 1)}, "StorageVersionMigration widgets: Failed"},
		"one that has failed beside another":      {InTree{true, []StorageVersionMigration{failed, running}, now, ago(time.Hour - 1)}, ""},
		"one that has succeeded":                  {InTree{true, []StorageVersionMigration{succeeded}, now, ago(time.Hour - 1)}, "(StorageVersionMigration again: Succeeded)"},
		"one that is gone":                        {InTree{true, []StorageVersionMigration{}, now, ago(time.Hour - 1)}, on + "has no StorageVersionMigration for this CRD although"},
		"one that cannot be read":                 {InTree{true, nil, ago(time.Hour - 1), ago(time.Hour - 1)}, ""},
		"one that cannot be read, for an hour":    {InTree{true, nil, now, ago(time.Hour)}, on + "has not ended in an hour, and Moult may not see how far it is although"},
		"for almost six hours, with progress":     {InTree{true, []StorageVersionMigration{running}, now, ago(6*time.Hour - 1)}, ""},
		"for six hours, whatever it shows":        {InTree{true, []StorageVersionMigration{running}, now, ago(6 * time.Hour)}, on + "has not ended in six hours (StorageVersionMigration widgets) although"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := Decide(with(func(o *Observation) { o.InTree = c.InTree }))
			if c.goesOn == "" {
				g.Expect(d.Reason).To(Equal(v1alpha1.ReasonStandingBack))
				g.Expect(d.Sentence).NotTo(ContainSubstring("does not wait"))
				return
			}
			g.Expect(d.Step).To(Equal(Rewrite))
			g.Expect(d.Sentence).To(And(ContainSubstring(c.goesOn), HaveSuffix("although the condition StorageMigrating is True, so Moult does not wait for it")))
		})
	}
}

func TestWhatIsNotWaitedForIsNamedOnlyWhereItMatters(t *testing.T) {
	g := NewWithT(t)
	gone := InTree{Running: true, Migrations: []StorageVersionMigration{}}
	g.Expect(Decide(with(func(o *Observation) { o.InTree, o.Paused = gone, true })).Sentence).NotTo(ContainSubstring("migrator"), "a paused CRD")
	g.Expect(Decide(with(func(o *Observation) { o.InTree, o.OptedIn = gone, false })).Sentence).To(BeEmpty())
	gone.Running = false
	g.Expect(Decide(with(func(o *Observation) { o.InTree = gone })).Sentence).NotTo(ContainSubstring("migrator"))
}

func TestWhatAStorageVersionMigrationSays(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   StorageVersionMigration
	}{
		"one that was just made": {`{metadata: {name: a, resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {resource: {group: example.com, resource: widgets}}}`,
			StorageVersionMigration{Name: "a", Resource: schema.GroupResource{Group: "example.com", Resource: "widgets"}, Changed: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"one that is running": {`{metadata: {name: a}, status: {conditions: [{type: Running, status: "True", lastTransitionTime: "2026-01-02T00:00:00Z"}, {type: Failed, status: "False"}]}}`,
			StorageVersionMigration{Name: "a", Changed: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		"one that has failed": {`{metadata: {name: a}, status: {conditions: [{type: Running, status: "False"}, {type: Failed, status: "True", message: m, lastTransitionTime: "2026-01-02T00:00:00Z"}]}}`,
			StorageVersionMigration{Name: "a", Ended: Failed, Message: "m", Changed: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		"what nobody can read": {`{metadata: {name: a}, status: {conditions: [x]}}`, StorageVersionMigration{Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &unstructured.Unstructured{}
			g.Expect(yaml.Unmarshal([]byte(c.object), &object.Object)).To(Succeed())
			got := MigrationOf(object)
			got.Progress = ""
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestOnlyWhatTheMigratorWritesIsProgress(t *testing.T) {
	g := NewWithT(t)
	object := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(text), &o.Object)).To(Succeed())
		return o
	}
	was := MigrationOf(object(`{metadata: {name: a, resourceVersion: "7"}, status: {resourceVersion: "5"}}`))
	g.Expect(MigrationOf(object(`{metadata: {name: a, resourceVersion: "8", annotations: {by: anybody}}, spec: {a: b}, status: {resourceVersion: "5"}}`))).To(Equal(was))
	g.Expect(MigrationOf(object(`{metadata: {name: a, resourceVersion: "7"}, status: {resourceVersion: "6"}}`))).NotTo(Equal(was))
	g.Expect(MigrationOf(object(`{metadata: {name: a, resourceVersion: "7"}, spec: {continueToken: x}, status: {resourceVersion: "5"}}`))).NotTo(Equal(was))
}

func TestALongStatusOfAStorageVersionMigrationIsNotKept(t *testing.T) {
	m := MigrationOf(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Failed", "status": "True", "message": strings.Repeat("x", 1<<20)},
	}}}})
	NewWithT(t).Expect(len(m.Progress) + len(m.Message)).To(BeNumerically("<", 1024))
}
