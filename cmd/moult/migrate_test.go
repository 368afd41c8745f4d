package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

func TestMigrateRewritesProvesAndTrims(t *testing.T) {
	w := newWorld(t, 200)
	got := w.moult("migrate", w.crd.Name, "--settle", "1s")
	w.Expect(got.code).To(Equal(exitDone), got.errOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 200}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
	w.Expect(got.errOut).To(HaveSuffix("Migrated, 200 of 200 objects\n"))
	w.Expect(got.out).To(BeEmpty())
	w.Expect(w.moult("status").code).To(Equal(exitDone))
}

func TestMigrateInterruptedGoesOnWithTheRest(t *testing.T) {
	w := newWorld(t, 1500)
	ctx, interrupt := context.WithCancel(w.ctx)
	defer interrupt()
	go func() {
		defer interrupt()
		for ctx.Err() == nil && w.Writes() <= 100 {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	got := w.moultUntil(ctx, "migrate", w.crd.Name, "--settle", "1s", "--max-in-flight", "1")
	w.Expect(got.code).To(Equal(exitInterrupted))
	w.Expect(got.errOut).To(ContainSubstring("interrupted; nothing is lost"))
	w.Expect(w.Stored()["v1alpha1"]).To(BeNumerically(">", 0), "it was interrupted on the way")
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}), "nothing is trimmed without a proof")

	got = w.moult("migrate", w.crd.Name, "--settle", "1s")
	w.Expect(got.code).To(Equal(exitDone), got.errOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 1500}))
	w.Expect(w.Writes()).To(BeEquivalentTo(1500), "no object is written twice")
}

func TestMigrateTellsMachinesHowEachCRDEnded(t *testing.T) {
	w := newWorld(t, 3)
	got := w.moult("migrate", w.crd.Name, "--settle", "1s", "-o", "json")
	w.Expect(got.code).To(Equal(exitDone), got.errOut)
	w.Expect(got.out).To(MatchJSON(strings.ReplaceAll(`{
		"migrated": true,
		"crds": [{"name": "NAME", "migrated": true, "reason": "Migrated",
			"message": "every object is proved to be stored at v1: 3 of 3 objects, 0 failed", "progress": {"done": 3, "total": 3, "failed": 0}}
		]}`, "NAME", w.crd.Name)))
}

func TestMigrateTouchesNothingIfOneOfTheCRDsIsUnknown(t *testing.T) {
	w := newWorld(t, 3)
	got := w.moult("migrate", w.crd.Name, "widgets", "--settle", "1s")
	w.Expect(got.code).To(Equal(exitError))
	w.Expect(got.errOut).To(And(ContainSubstring("nothing was written"), ContainSubstring("no such CRD: widgets")))
	w.Expect(w.Writes()).To(BeZero())
}

func TestMigrateTouchesNothingIfOneOfTheCRDsIsNotOptedIn(t *testing.T) {
	w, other := newWorld(t, 3), newWorld(t, 0)
	got := w.moult("migrate", w.crd.Name, other.crd.Name, "--settle", "1s", "-o", "json")
	w.Expect(w.Writes()).To(BeZero())
	w.Expect(got.code).To(Equal(exitNotDone))
	w.Expect(got.errOut).To(ContainSubstring("NotOptedIn"))
	w.Expect(got.out).To(MatchJSON(strings.NewReplacer("FIRST", w.crd.Name, "SECOND", other.crd.Name, "LABEL", w.label).Replace(`{
		"migrated": false,
		"crds": [
			{"name": "FIRST", "migrated": false, "reason": "NotStarted",
			 "message": "left alone, because another CRD of this command cannot be migrated"},
			{"name": "SECOND", "migrated": false, "reason": "NotOptedIn",
			 "message": "the CRD does not carry the label LABEL: \"true\"; add it to the CRD's manifest in Git"}
		]}`)))
}

func TestMigrateSaysWhatToDoNext(t *testing.T) {
	const settle = "--settle=1s"
	for name, c := range map[string]struct {
		crd  func(*builders.CRDBuilder) *builders.CRDBuilder
		args []string
		want string
		code int
	}{
		"no CRD is named":      {args: []string{"migrate"}, want: "`moult status` lists those that are opted in", code: exitError},
		"there is no such CRD": {args: []string{"migrate", "widgets", settle}, want: "no such CRD: widgets; a CRD's name is", code: exitError},
		"no settle time":       {args: []string{"migrate", "widgets", "--settle", "0s"}, want: "must be longer than 0", code: exitError},
		"no write in flight":   {args: []string{"migrate", "widgets", "--max-in-flight", "0"}, want: "at least 1", code: exitError},
		"a person has paused it": {
			crd: func(b *builders.CRDBuilder) *builders.CRDBuilder {
				return b.Annotation("moult.dev/paused", "true")
			},
			args: []string{"migrate", "CRD", settle}, want: ": paused; remove the annotation moult.dev/paused to go on; then run the same command again", code: exitNotDone,
		},
		"the storage version is not served": {
			crd: func(b *builders.CRDBuilder) *builders.CRDBuilder {
				return b.Versions("v1alpha1", "v1").Unserved("v1")
			},
			args: []string{"migrate", "CRD", settle}, want: "set served: true on version v1", code: exitNotDone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{WithT: NewWithT(t), t: t, ctx: t.Context(), label: "example.com/migrate"}
			if c.crd != nil {
				group := builders.UniqueGroup(t)
				w = newWorldOf(t, c.crd(builders.CRD(group, "widgets")).Label(group+"/migrate", "true"))
			}
			args := make([]string, len(c.args))
			for i, arg := range c.args {
				args[i] = arg
				if arg == "CRD" {
					args[i] = w.crd.Name
				}
			}
			got := w.moult(args...)
			lines := strings.Split(strings.TrimSpace(got.errOut), "\n")
			w.Expect(lines[len(lines)-1]).To(And(HavePrefix("moult: "), ContainSubstring(c.want)))
			w.Expect(got.code).To(Equal(c.code))
			w.Expect(got.out).To(BeEmpty())
		})
	}
}

func TestADryRunWritesNothingAndNamesWhatWouldBeRefused(t *testing.T) {
	w := newWorld(t, 40)
	webhook := webhooks.Refusing(t, cp.Config, w.gr.WithVersion("v1"), "the chief is on holiday", "object-00007")
	before := w.live().Status

	got := w.moult("migrate", w.crd.Name, "--dry-run")
	w.Expect(got.code).To(Equal(exitNotDone), got.errOut)
	w.Expect(got.out).To(HavePrefix(w.crd.Name + ": 40 objects would be sent a write, 1 would be refused\n  default/object-00007: AdmissionDenied: "))
	w.Expect(got.out).To(ContainSubstring("the chief is on holiday"))
	for i := range 40 {
		w.Expect(webhook.CallsFor(fmt.Sprintf("object-%05d", i))).To(BeNumerically(">=", 1), "admission is asked about every object")
	}

	got = w.moult("migrate", w.crd.Name, "--dry-run", "-o", "yaml")
	w.Expect(got.out).To(And(ContainSubstring("objects: 40"), ContainSubstring("refused: 1"), ContainSubstring("name: object-00007")))

	w.Expect(w.Writes()).To(BeZero())
	w.Expect(w.live().Status).To(Equal(before))

	webhook.Allow("object-00007")
	got = w.moult("migrate", w.crd.Name, "--dry-run")
	w.Expect(got.code).To(Equal(exitDone))
	w.Expect(got.out).To(Equal(w.crd.Name + ": 40 objects would be sent a write, 0 would be refused\n"))
}

func TestADryRunNeedsNoLabel(t *testing.T) {
	w := newWorld(t, 3)
	w.label = "another.example.com/label"
	got := w.moult("migrate", w.crd.Name, "--dry-run")
	w.Expect(got.code).To(Equal(exitDone), got.errOut)
	w.Expect(got.out).To(Equal(w.crd.Name + ": 3 objects would be sent a write, 0 would be refused\n"))
	w.Expect(w.Writes()).To(BeZero())
}

func TestMigrateNamesTheObjectsThatFailAndTrimsNothing(t *testing.T) {
	w := newWorld(t, 40)
	webhooks.Refusing(t, cp.Config, w.gr.WithVersion("v1"), "the chief is on holiday", "object-00007")
	got := w.moult("migrate", w.crd.Name, "--settle", "1s")
	w.Expect(got.code).To(Equal(exitNotDone))
	w.Expect(got.errOut).To(ContainSubstring("ObjectsFailed: 1 of 40 objects"))
	w.Expect(got.errOut).To(MatchRegexp(`run the same command again\n  default/object-00007: AdmissionDenied: .*the chief is on holiday.*\n$`))
	w.Expect(got.errOut).NotTo(ContainSubstring("growing pauses"), "nothing tries again by itself")
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1, "v1": 39}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
}
