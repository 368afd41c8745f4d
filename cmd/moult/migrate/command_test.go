package migrate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

func TestMigrateRewritesProvesAndTrims(t *testing.T) {
	w := suite.World(t, 200)
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 200}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1"}))
	w.Expect(got.ErrOut).To(HaveSuffix("Migrated, 200 of 200 objects\n"))
	w.Expect(got.Out).To(BeEmpty())
	w.Expect(w.Run("status").Code).To(Equal(cli.ExitDone))
}

func TestMigrateEndsWhenItsTimeIsOver(t *testing.T) {
	w := suite.World(t, 3)
	got := w.Run("migrate", w.CRD.Name, "--settle", "10m", "--timeout", "5s")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.ErrOut).To(MatchRegexp(`moult: not migrated after 5s; nothing is lost: .*\n  ` + w.CRD.Name + `: (Settling|Migrating|nothing is reported yet)`))
	got = w.Run("migrate", w.CRD.Name, "--settle", "1s", "--timeout", "10m")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
}

func TestMigrateInterruptedGoesOnWithTheRest(t *testing.T) {
	w := suite.World(t, 1500)
	ctx, interrupt := context.WithCancel(w.T.Context())
	defer interrupt()
	go func() {
		defer interrupt()
		for ctx.Err() == nil && w.Writes() <= 100 {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	got := w.RunContext(ctx, "migrate", w.CRD.Name, "--settle", "1s", "--max-in-flight", "1")
	w.Expect(got.Code).To(Equal(cli.ExitInterrupted))
	w.Expect(got.ErrOut).To(ContainSubstring("interrupted; nothing is lost"))
	w.Expect(w.Stored()["v1alpha1"]).To(BeNumerically(">", 0), "it was interrupted on the way")
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}), "nothing is trimmed without a proof")

	got = w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 1500}))
	w.Expect(w.Writes()).To(BeEquivalentTo(1500), "no object is written twice")
}

func TestMigrateReportsToMachinesHowEachCRDEnded(t *testing.T) {
	w := suite.World(t, 3)
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s", "-o", "json")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.Out).To(MatchJSON(strings.ReplaceAll(`{
		"migrated": true,
		"crds": [{"name": "NAME", "migrated": true, "reason": "Migrated",
			"message": "every object is proved to be stored at v1, after a settle time of 1s: 3 of 3 objects, 0 failed", "progress": {"done": 3, "total": 3, "failed": 0}}
		]}`, "NAME", w.CRD.Name)))
}

func TestMigrateTouchesNothingIfOneOfTheCRDsIsUnknown(t *testing.T) {
	w := suite.World(t, 3)
	got := w.Run("migrate", w.CRD.Name, "widgets", "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitError))
	w.Expect(got.ErrOut).To(And(ContainSubstring("nothing was written"), ContainSubstring("no such CRD: widgets")))
	w.Expect(w.Writes()).To(BeZero())
}

func TestMigrateTouchesNothingIfOneOfTheCRDsIsNotOptedIn(t *testing.T) {
	w, other := suite.World(t, 3), suite.World(t, 0)
	got := w.Run("migrate", w.CRD.Name, other.CRD.Name, "--settle", "1s", "-o", "json")
	w.Expect(w.Writes()).To(BeZero())
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	w.Expect(got.ErrOut).To(ContainSubstring("NotOptedIn"))
	w.Expect(got.Out).To(MatchJSON(strings.NewReplacer("FIRST", w.CRD.Name, "SECOND", other.CRD.Name, "LABEL", w.Label).Replace(`{
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
		"no CRD is named":      {args: []string{"migrate"}, want: "`moult status` lists those that are opted in", code: cli.ExitError},
		"there is no such CRD": {args: []string{"migrate", "widgets", settle}, want: "no such CRD: widgets; a CRD's name is", code: cli.ExitError},
		"no settle time":       {args: []string{"migrate", "widgets", "--settle", "0s"}, want: "must be longer than 0", code: cli.ExitError},
		"no write in flight":   {args: []string{"migrate", "widgets", "--max-in-flight", "0"}, want: "at least 1", code: cli.ExitError},
		"a person has paused it": {
			crd: func(b *builders.CRDBuilder) *builders.CRDBuilder {
				return b.Annotation("moult.dev/paused", "true")
			},
			args: []string{"migrate", "CRD", settle}, want: ": paused; remove the annotation moult.dev/paused to go on; then run the same command again", code: cli.ExitNotDone,
		},
		"the storage version is not served": {
			crd: func(b *builders.CRDBuilder) *builders.CRDBuilder {
				return b.Versions("v1alpha1", "v1").Unserved("v1")
			},
			args: []string{"migrate", "CRD", settle}, want: "set served: true on version v1", code: cli.ExitNotDone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := suite.Empty(t)
			if c.crd != nil {
				group := builders.UniqueGroup(t)
				w = suite.WorldOf(t, c.crd(builders.CRD(group, "widgets")).Label(group+"/migrate", "true"))
			}
			args := make([]string, len(c.args))
			for i, arg := range c.args {
				args[i] = arg
				if arg == "CRD" {
					args[i] = w.CRD.Name
				}
			}
			got := w.Run(args...)
			lines := strings.Split(strings.TrimSpace(got.ErrOut), "\n")
			w.Expect(lines[len(lines)-1]).To(And(HavePrefix("moult: "), ContainSubstring(c.want)))
			w.Expect(got.Code).To(Equal(c.code))
			w.Expect(got.Out).To(BeEmpty())
		})
	}
}

func TestADryRunWritesNothingAndNamesWhatWouldBeRefused(t *testing.T) {
	w := suite.World(t, 40)
	webhook := webhooks.Refusing(t, cp.Config, w.GR.WithVersion("v1"), "the chief is on holiday", "object-00007")
	before := w.Live().Status

	got := w.Run("migrate", w.CRD.Name, "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.ErrOut)
	w.Expect(got.Out).To(HavePrefix(w.CRD.Name + ": 40 objects would be sent a write, 1 would be refused\n  default/object-00007: AdmissionDenied: "))
	w.Expect(got.Out).To(ContainSubstring("the chief is on holiday"))
	for i := range 40 {
		w.Expect(webhook.CallsFor(fmt.Sprintf("object-%05d", i))).To(BeNumerically(">=", 1), "admission is asked about every object")
	}

	got = w.Run("migrate", w.CRD.Name, "--dry-run", "-o", "yaml")
	w.Expect(got.Out).To(And(ContainSubstring("objects: 40"), ContainSubstring("refused: 1"), ContainSubstring("name: object-00007")))

	w.Expect(w.Writes()).To(BeZero())
	w.Expect(w.Live().Status).To(Equal(before))

	webhook.Allow("object-00007")
	got = w.Run("migrate", w.CRD.Name, "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitDone))
	w.Expect(got.Out).To(Equal(w.CRD.Name + ": 40 objects would be sent a write, 0 would be refused\n"))
}

func TestADryRunNeedsNoLabel(t *testing.T) {
	w := suite.World(t, 3)
	w.Label = "another.example.com/label"
	got := w.Run("migrate", w.CRD.Name, "--dry-run")
	w.Expect(got.Code).To(Equal(cli.ExitDone), got.ErrOut)
	w.Expect(got.Out).To(Equal(w.CRD.Name + ": 3 objects would be sent a write, 0 would be refused\n"))
	w.Expect(w.Writes()).To(BeZero())
}

func TestMigrateNamesTheObjectsThatFailAndTrimsNothing(t *testing.T) {
	w := suite.World(t, 40)
	webhooks.Refusing(t, cp.Config, w.GR.WithVersion("v1"), "the chief is on holiday", "object-00007")
	got := w.Run("migrate", w.CRD.Name, "--settle", "1s")
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	w.Expect(got.ErrOut).To(ContainSubstring("ObjectsFailed: 1 of 40 objects"))
	w.Expect(got.ErrOut).To(MatchRegexp(`run the same command again\n  default/object-00007: AdmissionDenied: .*the chief is on holiday.*\n$`))
	w.Expect(got.ErrOut).NotTo(ContainSubstring("growing pauses"), "nothing tries again by itself")
	w.Expect(w.Stored()).To(Equal(map[string]int{"v1alpha1": 1, "v1": 39}))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))
}
