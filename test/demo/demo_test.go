package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/programs"
)

func TestTheStoryEndsWithNothingStoredAtTheOldVersion(t *testing.T) {
	g := NewWithT(t)
	told, code := play(t, t.Context(), options{objects: 50, settle: time.Second, controller: buildController(t)})
	g.Expect(code).To(BeZero(), told)
	rest := told
	for _, line := range []string{ // in this order
		"created 50 objects",
		"gitops owns 45 at v1alpha1, console owns 5 at v1alpha1",
		"50 at v1alpha1, 0 at v1",
		"storedVersions   [v1alpha1 v1]",
		"must remain in spec.versions until a storage migration ensures no data remains persisted in v1alpha1",
		"the gate says no: NotOptedIn",
		`widgets.example.com lacks the label moult.dev/migrate: "true", so its objects may not be rewritten; storedVersions still names v1alpha1`,
		`committed the label moult.dev/migrate: "true"`,
		"with 50 writes in all",
		"found 0 left to rewrite",
		"0 at v1alpha1, 50 at v1",
		"storedVersions   [v1]",
		"the gate says yes: SafeToRemove",
		"every object of widgets.example.com is stored at v1 (proved at generation 2), and no managedFields named v1alpha1",
		"removing v1alpha1 now: accepted",
		"read all 50 objects at v1",
		"gitops owns 45 at v1, console owns 5 at v1: the same owners",
		"stored at v1alpha1: 50 → 0",
	} {
		_, after, found := strings.Cut(rest, line)
		g.Expect(found).To(BeTrue(), "%q is not told, or too early:\n%s", line, told)
		rest = after
	}
	g.Expect(told).To(MatchRegexp(`the gate +[A-Z][A-Za-z]+: .*widgets\.example\.com`))
	g.Expect(told).NotTo(ContainSubstring("\033"), "colours and redrawing are for terminals")
}

func TestAControllerThatDiesFailsTheStoryAndShowsItsLog(t *testing.T) {
	g := NewWithT(t)
	told, code := play(t, t.Context(), options{objects: 1, settle: time.Second, controller: script(t, "echo it rains; exit 3")})
	g.Expect(code).To(Equal(1))
	g.Expect(told).To(ContainSubstring("moult-controller has ended by itself: exit status 3"))
	g.Expect(told).To(HaveSuffix("log:\n  it rains\n"))
}

func TestAnInterruptStopsEverythingThatWasStarted(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	pid := filepath.Join(t.TempDir(), "pid")
	controller := script(t, "echo $KUBECONFIG >"+pid+"; exec sleep 600")
	go func() {
		defer interrupt()
		g.Eventually(func() ([]byte, error) { return os.ReadFile(pid) }, time.Minute).ShouldNot(BeEmpty())
	}()
	told, code := play(t, ctx, options{objects: 1, settle: time.Second, controller: controller})
	g.Expect(code).To(Equal(130), told)
	g.Expect(told).To(HaveSuffix("Everything the demo started is stopped.\n"))

	kubeconfig, err := os.ReadFile(pid)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.Dir(strings.TrimSpace(string(kubeconfig)))).NotTo(BeADirectory())
}

func TestKeepLeavesTheControlPlaneRunningUntilTheInterrupt(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	told, end := io.Pipe()
	code := make(chan int, 1)
	go func() {
		teller := newTeller(end)
		err := run(ctx, teller, options{objects: 5, settle: time.Second, keep: true, controller: buildController(t)})
		code <- exitCode(ctx, teller, err)
		_ = end.Close()
	}()
	kubeconfig := ""
	for lines := bufio.NewScanner(told); lines.Scan(); {
		line := lines.Text()
		if _, path, found := strings.Cut(line, "export KUBECONFIG="); found {
			kubeconfig = path
		}
		if strings.Contains(line, "tail -f") {
			g.Expect(kubeconfig).To(BeAnExistingFile())
			interrupt()
		}
	}
	g.Expect(<-code).To(BeZero(), "an interrupt is how --keep is meant to end")
	g.Expect(kubeconfig).NotTo(BeAnExistingFile())
}

func TestFlagsThatMakeNoStoryAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an argument":    {[]string{"foo"}, `unexpected argument "foo"`},
		"no objects":     {[]string{"--objects", "0"}, "at least 1"},
		"no settle time": {[]string{"--settle", "0s"}, "longer than 0"},
		"no controller":  {[]string{"--controller", "/nowhere"}, "make demo"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.args)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func play(t *testing.T, ctx context.Context, o options) (string, int) {
	t.Helper()
	var told bytes.Buffer
	teller := newTeller(&told)
	code := exitCode(ctx, teller, run(ctx, teller, o))
	return told.String(), code
}

func buildController(t *testing.T) string {
	t.Helper()
	binary, err := programs.Path("moult-controller")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return binary
}

// script is a controller that does something else.
func script(t *testing.T, commands string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "controller")
	NewWithT(t).Expect(os.WriteFile(path, []byte("#!/bin/sh\n"+commands+"\n"), 0o700)).To(Succeed())
	return path
}
