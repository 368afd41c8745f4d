package status

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/builders"
)

func TestStatusPrintsACRDInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*clitest.World)
		want    string // the columns after the name, separated by one blank
		code    int
		hint    string // on standard error
	}{
		"nobody has seen it yet": {
			prepare: func(*clitest.World) {},
			want:    "v1 v1 not seen yet; is moult-controller running? - - -",
			code:    cli.ExitNotDone,
		},
		"it is being rewritten": {
			prepare: func(w *clitest.World) {
				w.Says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, "rewriting objects at v1: "+
					v1alpha1.Progress{Done: 400, Total: 1000, Rate: 100}.String(), 0)
			},
			want: "v1 v1 Migrating 400/1000 100/s 6s",
			code: cli.ExitNotDone,
		},
		"some objects failed": {
			prepare: func(w *clitest.World) {
				w.Says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonObjectsFailed, v1alpha1.Progress{Done: 40, Total: 40, Failed: 1}.String()+" and tried again", 0)
			},
			want: "v1 v1 ObjectsFailed 40/40, 1 failed - -",
			code: cli.ExitNotDone,
		},
		"it is migrated": {
			prepare: func(w *clitest.World) {
				w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done: "+v1alpha1.Progress{Done: 7, Total: 7}.String(), 0)
			},
			want: "v1 v1 Migrated 7/7 - -",
			code: cli.ExitDone,
		},
		"it was migrated before it changed": {
			prepare: func(w *clitest.World) {
				w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 1)
			},
			want: "v1 v1 Migrated (before the CRD changed) - - -",
			code: cli.ExitNotDone,
		},
		"it is not opted in, whatever its condition says": {
			prepare: func(w *clitest.World) {
				w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
				w.Label = "another.example.com/label"
			},
			want: "v1 v1 not opted in - - -",
			code: cli.ExitNotDone,
			hint: `add the label another.example.com/label: "true"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := builders.UniqueGroup(t)
			w := suite.WorldOf(t, builders.CRD(group, "widgets").Label(group+"/migrate", "true"))
			c.prepare(w)
			got := w.Run("status", w.CRD.Name)
			lines := strings.Split(strings.TrimSpace(got.Out), "\n")
			w.Expect(lines).To(HaveLen(2), got.Out)
			w.Expect(strings.Fields(lines[0])).To(Equal([]string{"CRD", "STORAGE", "STORED", "CONDITION", "DONE/TOTAL", "RATE", "ETA"}))
			w.Expect(strings.Join(strings.Fields(lines[1]), " ")).To(Equal(w.CRD.Name + " " + c.want))
			w.Expect(got.Code).To(Equal(c.code))
			w.Expect(got.ErrOut).To(ContainSubstring(c.hint))
			w.Expect(got.ErrOut == "").To(Equal(c.hint == ""), "the table says it all")
		})
	}
}

// onePage is how many CRDs are read at once.
const onePage = 20

func TestStatusListsTheOptedInCRDsWhenNoneIsNamed(t *testing.T) {
	label := builders.UniqueGroup(t) + "/migrate"
	var last *clitest.World
	for range onePage + 2 { // more than one page
		last = suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets").Label(label, "true"))
	}
	outsider := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets"))
	last.Label = label
	got := last.Run("status")
	last.Expect(strings.Count(got.Out, "\n")).To(Equal(1 + onePage + 2))
	last.Expect(got.Out).NotTo(ContainSubstring(outsider.CRD.Name))
	last.Expect(got.Code).To(Equal(cli.ExitNotDone))
}

func TestStatusPrintsDocumentsForMachines(t *testing.T) {
	w := suite.World(t, 0)
	w.Says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, v1alpha1.Progress{Done: 400, Total: 1000, Failed: 3, Rate: 100}.String(), 0)
	const want = `{"migrated": false, "crds": [{
		"name": "NAME", "optedIn": true, "storageVersion": "v1", "storedVersions": ["v1alpha1", "v1"], "migrated": false,
		"reason": "Migrating", "message": "generation 2: 400 of 1000 objects, 3 failed, 100/s",
		"progress": {"done": 400, "total": 1000, "failed": 3, "rate": 100, "etaSeconds": 6}
	}]}`
	got := w.Run("status", "-o", "json")
	w.Expect(got.Out).To(MatchJSON(strings.ReplaceAll(want, "NAME", w.CRD.Name)))
	w.Expect(got.Code).To(Equal(cli.ExitNotDone))
	got = w.Run("status", "-o", "yaml")
	asJSON, err := yaml.YAMLToJSON([]byte(got.Out))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(asJSON).To(MatchJSON(strings.ReplaceAll(want, "NAME", w.CRD.Name)))
	w.Expect(w.Run("status", "-o", "wide").Out).To(ContainSubstring("3 failed, 100/s\n"))
}

func TestStatusShowsTheOthersWhenACRDIsMissingAndVouchesForNothing(t *testing.T) {
	w := suite.World(t, 0)
	w.Says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
	got := w.Run("status", w.CRD.Name, "widgets", "-o", "json")
	w.Expect(got.Out).To(And(ContainSubstring(w.CRD.Name), HavePrefix("{\n  \"migrated\": false,")))
	w.Expect(got.ErrOut).To(ContainSubstring("no such CRD: widgets"))
	w.Expect(got.Code).To(Equal(cli.ExitError))
}

func TestStatusSaysWhatToDoNext(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"no CRD is opted in":         {[]string{"status"}, "no CRD is opted in; add the label", cli.ExitNotDone},
		"the CRD does not exist":     {[]string{"status", "widgets"}, "no such CRD: widgets; a CRD's name is <plural>.<group>", cli.ExitError},
		"the output is unknown":      {[]string{"status", "-o", "xml"}, "none of json, yaml, wide", cli.ExitError},
		"the flag is unknown":        {[]string{"status", "--all"}, "unknown flag: --all; see moult status --help", cli.ExitError},
		"the label key is none":      {[]string{"status", "--label-key=a/b/c"}, `--label-key "a/b/c" cannot be a label's key; write it like moult.dev/migrate`, cli.ExitError},
		"the kubeconfig is missing":  {[]string{"status", "--kubeconfig", "/nowhere"}, "stat /nowhere: no such file", cli.ExitError},
		"a watch cannot print json":  {[]string{"status", "--watch", "-o", "json"}, "leave out -o", cli.ExitError},
		"the context does not exist": {[]string{"status", "--context", "moon"}, `no cluster to talk to; set --kubeconfig, --context or KUBECONFIG: context "moon" does not exist`, cli.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			w := suite.Empty(t)
			got := w.Run(c.args...)
			w.Expect(got.ErrOut).To(HavePrefix("moult: "))
			w.Expect(got.ErrOut).To(ContainSubstring(c.want))
			w.Expect(strings.Count(got.ErrOut, "\n")).To(Equal(1), "errors are one line")
			w.Expect(got.Out).To(BeEmpty())
			w.Expect(got.Code).To(Equal(c.code))
		})
	}
}

func TestStatusWatchesUntilAllAreMigrated(t *testing.T) {
	w := suite.World(t, 30)
	ended := make(chan clitest.Answer)
	go func() { ended <- w.Run("status", "--watch") }()
	w.Expect(w.Run("migrate", w.CRD.Name, "--settle", "1s").Code).To(Equal(cli.ExitDone))
	var got clitest.Answer
	w.Eventually(ended, 2*time.Minute).Should(Receive(&got))
	w.Expect(got.Code).To(Equal(cli.ExitDone))
	w.Expect(got.Out).To(HaveSuffix("Migrated, 30 of 30 objects\n"))
}

func TestStatusWatchEndsWithTheInterrupt(t *testing.T) {
	w := suite.World(t, 0)
	ctx, interrupt := context.WithTimeout(w.T.Context(), time.Second)
	defer interrupt()
	got := w.RunContext(ctx, "status", "--watch", w.CRD.Name)
	w.Expect(got.Code).To(Equal(cli.ExitInterrupted))
	w.Expect(got.ErrOut).To(ContainSubstring("interrupted before all were migrated"))
}

func TestTheJSONOfNothingIsAnEmptyList(t *testing.T) {
	w := suite.Empty(t)
	var document map[string]any
	w.Expect(json.Unmarshal([]byte(w.Run("status", "-o", "json").Out), &document)).To(Succeed())
	w.Expect(document).To(Equal(map[string]any{"migrated": false, "crds": []any{}}))
}

func TestCRDNamesAreCompletedFromTheCluster(t *testing.T) {
	w := suite.World(t, 0)
	other := suite.WorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets"))
	all := w.Run("__complete", "status", "").Out
	w.Expect(all).To(And(ContainSubstring(w.CRD.Name), ContainSubstring(other.CRD.Name)))
}
