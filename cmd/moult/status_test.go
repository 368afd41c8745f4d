package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

func TestStatusTellsACRDInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*world)
		want    string // the columns after the name, separated by one blank
		code    int
		hint    string // on standard error
	}{
		"nobody has seen it yet": {
			prepare: func(*world) {},
			want:    "v1 v1 not seen yet; is moult-controller running? - - -",
			code:    exitNotDone,
		},
		"it is being rewritten": {
			prepare: func(w *world) {
				w.says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, "rewriting objects at v1: "+
					v1alpha1.Progress{Done: 400, Total: 1000, Rate: 100}.String(), 0)
			},
			want: "v1 v1 Migrating 400/1000 100/s 6s",
			code: exitNotDone,
		},
		"some objects failed": {
			prepare: func(w *world) {
				w.says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonObjectsFailed, v1alpha1.Progress{Done: 40, Total: 40, Failed: 1}.String()+" and tried again", 0)
			},
			want: "v1 v1 ObjectsFailed 40/40, 1 failed - -",
			code: exitNotDone,
		},
		"it is migrated": {
			prepare: func(w *world) {
				w.says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done: "+v1alpha1.Progress{Done: 7, Total: 7}.String(), 0)
			},
			want: "v1 v1 Migrated 7/7 - -",
			code: exitDone,
		},
		"it was migrated before it changed": {
			prepare: func(w *world) {
				w.says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 1)
			},
			want: "v1 v1 Migrated (before the CRD changed) - - -",
			code: exitNotDone,
		},
		"it is not opted in, whatever its condition says": {
			prepare: func(w *world) {
				w.says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
				w.label = "another.example.com/label"
			},
			want: "v1 v1 not opted in - - -",
			code: exitNotDone,
			hint: `add the label another.example.com/label: "true"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := builders.UniqueGroup(t)
			w := newWorldOf(t, builders.CRD(group, "widgets").Label(group+"/migrate", "true"))
			c.prepare(w)
			got := w.moult("status", w.crd.Name)
			lines := strings.Split(strings.TrimSpace(got.out), "\n")
			w.Expect(lines).To(HaveLen(2), got.out)
			w.Expect(strings.Fields(lines[0])).To(Equal([]string{"CRD", "STORAGE", "STORED", "CONDITION", "DONE/TOTAL", "RATE", "ETA"}))
			w.Expect(strings.Join(strings.Fields(lines[1]), " ")).To(Equal(w.crd.Name + " " + c.want))
			w.Expect(got.code).To(Equal(c.code))
			w.Expect(got.errOut).To(ContainSubstring(c.hint))
			w.Expect(got.errOut == "").To(Equal(c.hint == ""), "the table says it all")
		})
	}
}

func TestStatusListsTheOptedInCRDsWhenNoneIsNamed(t *testing.T) {
	label := builders.UniqueGroup(t) + "/migrate"
	var last *world
	for range crdsPerPage + 2 { // more than one page
		last = newWorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets").Label(label, "true"))
	}
	outsider := newWorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets"))
	last.label = label
	got := last.moult("status")
	last.Expect(strings.Count(got.out, "\n")).To(Equal(1 + crdsPerPage + 2))
	last.Expect(got.out).NotTo(ContainSubstring(outsider.crd.Name))
	last.Expect(got.code).To(Equal(exitNotDone))
}

func TestStatusPrintsDocumentsForMachines(t *testing.T) {
	w := newWorld(t, 0)
	w.says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, v1alpha1.Progress{Done: 400, Total: 1000, Failed: 3, Rate: 100}.String(), 0)
	const want = `{"migrated": false, "crds": [{
		"name": "NAME", "optedIn": true, "storageVersion": "v1", "storedVersions": ["v1alpha1", "v1"], "migrated": false,
		"reason": "Migrating", "message": "generation 2: 400 of 1000 objects, 3 failed, 100/s",
		"progress": {"done": 400, "total": 1000, "failed": 3, "rate": 100, "etaSeconds": 6}
	}]}`
	got := w.moult("status", "-o", "json")
	w.Expect(got.out).To(MatchJSON(strings.ReplaceAll(want, "NAME", w.crd.Name)))
	w.Expect(got.code).To(Equal(exitNotDone))
	got = w.moult("status", "-o", "yaml")
	asJSON, err := yaml.YAMLToJSON([]byte(got.out))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(asJSON).To(MatchJSON(strings.ReplaceAll(want, "NAME", w.crd.Name)))
	w.Expect(w.moult("status", "-o", "wide").out).To(ContainSubstring("3 failed, 100/s\n"))
}

func TestStatusShowsTheOthersWhenACRDIsMissingAndVouchesForNothing(t *testing.T) {
	w := newWorld(t, 0)
	w.says(apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "done", 0)
	got := w.moult("status", w.crd.Name, "widgets", "-o", "json")
	w.Expect(got.out).To(And(ContainSubstring(w.crd.Name), HavePrefix("{\n  \"migrated\": false,")))
	w.Expect(got.errOut).To(ContainSubstring("no such CRD: widgets"))
	w.Expect(got.code).To(Equal(exitError))
}

func TestStatusSaysWhatToDoNext(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"no CRD is opted in":          {[]string{"status"}, "no CRD is opted in; add the label", exitNotDone},
		"the CRD does not exist":      {[]string{"status", "widgets"}, "no such CRD: widgets; a CRD's name is <plural>.<group>", exitError},
		"the output is unknown":       {[]string{"status", "-o", "xml"}, "none of json, yaml, wide", exitError},
		"the flag is unknown":         {[]string{"status", "--all"}, "unknown flag: --all; see moult status --help", exitError},
		"the command is unknown":      {[]string{"stauts"}, "unknown command \"stauts\" for moult; did you mean status; see moult --help", exitError},
		"there is no such check":      {[]string{"check", "flux"}, `unknown command "flux" for moult check; see moult check --help`, exitError},
		"nothing to check is named":   {[]string{"check"}, "moult check what? name one of argocd", exitError},
		"the shell is unknown":        {[]string{"completion", "tcsh"}, `unknown command "tcsh" for moult completion`, exitError},
		"the label key is none":       {[]string{"status", "--label-key=a/b/c"}, `--label-key "a/b/c" cannot be a label's key; write it like moult.dev/migrate`, exitError},
		"the kubeconfig is missing":   {[]string{"status", "--kubeconfig", "/nowhere"}, "stat /nowhere: no such file", exitError},
		"the file is missing":         {[]string{"check", "argocd", "--file", "/nowhere"}, "--file /nowhere cannot be read", exitError},
		"the file holds no argocd-cm": {[]string{"check", "argocd", "--file", "/dev/null"}, "give it the output of `kustomize build`", exitError},
		"a watch cannot print json":   {[]string{"status", "--watch", "-o", "json"}, "leave out -o", exitError},
		"the context does not exist":  {[]string{"status", "--context", "moon"}, `no cluster to talk to; set --kubeconfig, --context or KUBECONFIG: context "moon" does not exist`, exitError},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{WithT: NewWithT(t), t: t, ctx: t.Context(), label: builders.UniqueGroup(t) + "/migrate"}
			got := w.moult(c.args...)
			w.Expect(got.errOut).To(HavePrefix("moult: "))
			w.Expect(got.errOut).To(ContainSubstring(c.want))
			w.Expect(strings.Count(got.errOut, "\n")).To(Equal(1), "errors are one line")
			w.Expect(got.out).To(BeEmpty())
			w.Expect(got.code).To(Equal(c.code))
		})
	}
}

func TestAContextThatIsNoneIsAnsweredWithThoseThatAre(t *testing.T) {
	g := NewWithT(t)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	g.Expect(os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\ncontexts: [{name: staging, context: {}}, {name: production, context: {}}]\n"), 0o600)).To(Succeed())
	for _, command := range [][]string{{"status"}, {"snapshot"}} {
		var out, errOut strings.Builder
		code := run(t.Context(), "moult", append(command, "--kubeconfig", kubeconfig, "--context", "moon"), &out, &errOut)
		g.Expect(code).To(Equal(exitError))
		g.Expect(errOut.String()).To(ContainSubstring(`context "moon" does not exist; the kubeconfig has production, staging`))
	}
}

func TestStatusWatchesUntilAllAreMigrated(t *testing.T) {
	w := newWorld(t, 30)
	ended := make(chan answer)
	go func() { ended <- w.moult("status", "--watch") }()
	w.Expect(w.moult("migrate", w.crd.Name, "--settle", "1s").code).To(Equal(exitDone))
	var got answer
	w.Eventually(ended, 2*time.Minute).Should(Receive(&got))
	w.Expect(got.code).To(Equal(exitDone))
	w.Expect(got.out).To(HaveSuffix("Migrated, 30 of 30 objects\n"))
}

func TestStatusWatchEndsWithTheInterrupt(t *testing.T) {
	w := newWorld(t, 0)
	ctx, interrupt := context.WithTimeout(w.ctx, time.Second)
	defer interrupt()
	got := w.moultUntil(ctx, "status", "--watch", w.crd.Name)
	w.Expect(got.code).To(Equal(exitInterrupted))
	w.Expect(got.errOut).To(ContainSubstring("interrupted before all were migrated"))
}

func TestTheJSONOfNothingIsAnEmptyList(t *testing.T) {
	w := &world{WithT: NewWithT(t), t: t, ctx: t.Context(), label: builders.UniqueGroup(t) + "/migrate"}
	var document map[string]any
	w.Expect(json.Unmarshal([]byte(w.moult("status", "-o", "json").out), &document)).To(Succeed())
	w.Expect(document).To(Equal(map[string]any{"migrated": false, "crds": []any{}}))
}

func TestCRDNamesAreCompletedFromTheCluster(t *testing.T) {
	w := newWorld(t, 0)
	other := newWorldOf(t, builders.CRD(builders.UniqueGroup(t), "widgets"))
	all := w.moult("__complete", "status", "").out
	w.Expect(all).To(And(ContainSubstring(w.crd.Name), ContainSubstring(other.crd.Name)))
}

func TestThePluginCallsItselfAsItsUserDoes(t *testing.T) {
	g := NewWithT(t)
	for program, want := range map[string]string{
		"/usr/local/bin/moult": "moult", "./kubectl-moult": "kubectl moult", "kubectl-moult.exe": "kubectl moult", "moult.test": "moult",
	} {
		g.Expect(nameFrom(program)).To(Equal(want))
	}
	var out, errOut strings.Builder
	run(t.Context(), "kubectl moult", []string{"status", "--help"}, &out, &errOut)
	g.Expect(out.String()).To(And(ContainSubstring("  kubectl moult status [CRD...]"), ContainSubstring("\n  kubectl moult status --watch")))
	out.Reset()
	run(t.Context(), "kubectl moult", []string{"rewrite", "--help"}, &out, &errOut)
	g.Expect(out.String()).To(ContainSubstring("\n  helm template widgets ./chart --include-crds | kubectl moult rewrite apps --crds -\n"))
	out.Reset()
	run(t.Context(), "kubectl moult", []string{"snapshot", "--help"}, &out, &errOut)
	g.Expect(out.String()).To(ContainSubstring("that moult preview looks at"), "a word in a comment stays")
}

// What stands in an example is pasted: a prompt would be a command that is not found.
func TestExamplesCanBePasted(t *testing.T) {
	g := NewWithT(t)
	a := &app{name: "moult"}
	var walk func(c *cobra.Command)
	seen := 0
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			seen++
			g.Expect(line).To(Or(HavePrefix("  "), Equal("\n")), c.CommandPath())
			g.Expect(strings.TrimSpace(line)).NotTo(HavePrefix("$"), c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRoot(a))
	g.Expect(seen).To(BeNumerically(">", 50))
}
